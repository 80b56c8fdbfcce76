import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Fixture } from './fixture.ts'

/** A temporary home and folder for one test. */
export interface Scratch {
  home: string
  folder: string
  remove(): void
}

/** Creates a folder with a test's files, and a path for a home beside it. Removed at process exit at the latest. */
export function makeScratch({ files }: Pick<Fixture, 'files'>): Scratch {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-agents-test-')))
  const remove = () => {
    process.off('exit', remove)
    removeAll(root)
  }
  process.once('exit', remove)
  const [home, folder] = [join(root, 'home'), join(root, 'folder')]
  mkdirSync(folder)
  for (const { path, content, isProgram } of files) write(join(folder, path), content, isProgram ? 0o755 : 0o644)
  return { home, folder, remove }
}

/** Copies an agent's file to the home, where it takes precedence over every other agent of its name. */
export function installAgent(home: string, path: string, content: Buffer, name: string): string {
  const isSkill = /^skill\.md$/i.test(basename(path))
  const copy = join(home, 'skills', isSkill ? `${name}/SKILL.md` : `${name}.md`)
  write(copy, content, 0o600)
  return copy
}

function write(path: string, content: Buffer, mode: number): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content, { mode })
}

/** An agent's commands may have removed permissions of directories, which are restored before removal. */
function removeAll(path: string): void {
  const options = { recursive: true, force: true, maxRetries: 3 }
  try {
    rmSync(path, options)
  } catch {
    openAll(path)
    rmSync(path, options)
  }
}

function openAll(path: string): void {
  chmodSync(path, 0o700)
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) openAll(join(path, entry.name))
}
