import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { commandNames } from './chat-commands.ts'

/** Completes `@path` with files of the folder, and `/word` with commands. */
export function completionsIn(folder: string): (line: string) => [string[], string] {
  return (line) => {
    const [, path] = /(?:^|[\s("'[])@([^\s"]*)$/.exec(line) ?? []
    if (path !== undefined) return [filesLike(path, folder), path]
    const [word] = /^\/[a-z]*$/.exec(line) ?? []
    if (word === undefined) return [[], line]
    return [commandNames.map((name) => `/${name} `).filter((name) => name.startsWith(word)), word]
  }
}

/** Hidden files are offered only after a dot, as in a shell. */
function filesLike(path: string, folder: string): string[] {
  const directory = path.slice(0, path.lastIndexOf('/') + 1)
  const begun = path.slice(directory.length)
  try {
    return readdirSync(join(folder, directory), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(begun) && (begun !== '' || !name.startsWith('.')) && !/\s/.test(name))
      .map((entry) => `${directory}${entry.name}${entry.isDirectory() ? '/' : ' '}`)
  } catch {
    return []
  }
}
