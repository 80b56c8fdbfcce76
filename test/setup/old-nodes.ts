import { execFileSync } from 'node:child_process'
import { existsSync, realpathSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A way to start a program on a Node that is too old for it. */
export interface OldNode {
  name: string
  command: string[]
}

/**
 * Every Node below 24 on this machine, and one that only says so: a Node 24 whose `process.versions` is replaced
 * before the program starts. It stands in where there is no old one, and needs a directory for that disguise.
 */
export function oldNodes(directory: string): OldNode[] {
  const disguise = join(directory, 'disguise.cjs')
  const versions = '{ ...process.versions, node: "20.0.0" }'
  writeFileSync(disguise, `Object.defineProperty(process, 'versions', { value: ${versions} })`)
  const found = installedNodes().map((path) => ({
    path,
    version: execFileSync(path, ['--version'], { encoding: 'utf8' }),
  }))
  return [
    { name: 'a Node that passes for 20', command: [process.execPath, '--require', disguise] },
    ...found
      .filter(({ version }) => Number.parseInt(version.slice(1), 10) < 24)
      .map(({ path, version }) => ({ name: `Node ${version.trim()}`, command: [path] })),
  ]
}

function installedNodes(): string[] {
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin']
  const programs = directories.map((directory) => join(directory, 'node')).filter((path) => existsSync(path))
  return [...new Set(programs.map((path) => realpathSync(path)))]
}
