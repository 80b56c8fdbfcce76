const extensionsByName: Readonly<Record<string, readonly string[]>> = {
  typescript: ['ts', 'tsx', 'mts', 'cts'],
  javascript: ['js', 'jsx', 'mjs', 'cjs'],
  markdown: ['md', 'markdown'],
  python: ['py'],
  rust: ['rs'],
  go: ['go'],
  java: ['java'],
  ruby: ['rb'],
  json: ['json'],
  yaml: ['yaml', 'yml'],
  text: ['txt'],
  html: ['html', 'htm'],
  css: ['css'],
  shell: ['sh', 'bash'],
}

const knownExtensions = new Set(Object.values(extensionsByName).flat())

/** Files of one kind: how to name them, and the glob that matches them. */
export interface FileKind {
  noun: string
  glob: string
}

/** The kind in `.ts files`, `*.ts files`, `ts files` or `TypeScript files`; undefined for any other words. */
export function fileKindIn(words: string): FileKind | undefined {
  const [, dot, name = ''] = /^(\*?\.)?([\w+-]+)\s+files?$/i.exec(words) ?? []
  const noun = `${dot === undefined ? '' : '.'}${name} file`
  const extensions = Object.hasOwn(extensionsByName, name.toLowerCase())
    ? extensionsByName[name.toLowerCase()]
    : undefined
  if (dot === undefined && extensions)
    return { noun, glob: extensions.length === 1 ? `*.${extensions[0]}` : `*.{${extensions.join(',')}}` }
  if (name === '' || (dot === undefined && !knownExtensions.has(name))) return undefined
  return { noun, glob: `*.${name}` }
}
