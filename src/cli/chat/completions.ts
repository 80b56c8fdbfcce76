import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { registry } from '../../commands/registry.ts'

/** Completes `@name` with agents and with files of the folder, in a command with agents only, and `/word` with commands. */
export function completionsIn(folder: string, agents: () => readonly string[]): (line: string) => [string[], string] {
  return (line) => {
    const [, path] = /(?:^|[\s("'[])@([^\s"]*)$/.exec(line) ?? []
    if (path !== undefined) {
      const named = agents().flatMap((name) => (name.startsWith(path) ? [`${name} `] : []))
      return [line.startsWith('/') ? named : [...named, ...filesLike(path, folder)], path]
    }
    const [typed] = /^\/[a-z]*(?: [a-z]*)?$/.exec(line) ?? []
    if (typed === undefined) return [[], line]
    const depth = typed.split(' ').length
    const names = registry.map(({ name }) => name.split(' ').slice(0, depth).join(' '))
    return [[...new Set(names)].map((name) => `/${name} `).filter((name) => name.startsWith(typed)), typed]
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
