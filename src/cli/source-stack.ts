import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * The stack of an error with the files and lines of the sources, where the build has left maps of them. Read only now: to
 * have Node do it costs every start a quarter more time.
 */
export function sourceStack({ stack }: Error): string | undefined {
  const maps = new Map<string, SourceMap | undefined>()
  return stack?.replace(/((?:file:\/\/)?\/[^():\n]+\.js):(\d+):(\d+)/g, (place, file: string, line, column) => {
    if (!maps.has(file)) maps.set(file, mapOf(file))
    const entry = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1)
    if (!entry || !('originalSource' in entry)) return place
    const source = entry.originalSource.replace(/^(\.\.\/)+/, '')
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  })
}

function mapOf(file: string): SourceMap | undefined {
  try {
    const path = file.startsWith('file:') ? fileURLToPath(file) : file
    return new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')))
  } catch {
    return undefined
  }
}
