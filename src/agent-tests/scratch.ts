import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Fixture } from './fixture.ts'

/** A home and a folder that exist for one test only. */
export interface Scratch {
  home: string
  folder: string
  remove(): void
}

/** Makes a folder with a test's files, beside a place for a home. The end of the process removes it at the latest. */
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

/** Puts an agent's file where it comes before every other agent of its name, called as it was. */
export function settleAgent(home: string, path: string, content: Buffer, name: string): string {
  const isSkill = /^skill\.md$/i.test(basename(path))
  const copy = join(home, 'skills', isSkill ? `${name}/SKILL.md` : `${name}.md`)
  write(copy, content, 0o600)
  return copy
}

function write(path: string, content: Buffer, mode: number): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content, { mode })
}

/** Commands of an agent may have closed directories to everybody: what is ours to remove is ours to open. */
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
