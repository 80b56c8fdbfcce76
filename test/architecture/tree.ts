import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** A file of the project: its path from the root, with forward slashes, and what it says. */
export interface SourceFile {
  path: string
  text: string
}

const folders = ['src', 'bin', 'test', 'scripts', 'bench', 'web']
const notWrittenByHand = new Set(['node_modules', 'dist', 'captures'])

/** Every file of the project that the rules speak of. */
export function readTree(root: string): SourceFile[] {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => filesBelow(join(root, folder)))
    .map((path) => ({ path: relative(root, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') }))
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return notWrittenByHand.has(entry.name) ? [] : filesBelow(path)
    return entry.isFile() ? [path] : []
  })
}
