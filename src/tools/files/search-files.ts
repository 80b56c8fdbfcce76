import { z } from 'zod'
import { countNoun } from '../../domain/text/count-noun.ts'
import type { SeenFile, Tool, ToolOutcome } from '../../domain/tools/tool.ts'
import { defineTool } from '../define-tool.ts'
import { type FileThreads, jobTimeout } from './file-threads.ts'
import { type FileMatches, largestFile, readRegex, type SearchScope } from './search.ts'

const maxBytes = 48_000
const maxPaths = 1000

const input = z
  .strictObject({
    pattern: z.string().max(1000).describe('taken literally unless regex is true'),
    path: z.string().optional().describe('a directory or file to search; default: the whole folder'),
    glob: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('only files whose path matches, such as *.ts or src/**/*.{ts,tsx}'),
    regex: z.boolean().default(false),
  })
  .superRefine(({ pattern, regex }, context) => {
    const why = regex ? faultIn(pattern) : undefined
    if (why !== undefined) context.addIssue({ code: 'custom', path: ['pattern'], message: why })
  })

/** Searches lines in files, or files by name. */
export function searchFiles(threads: FileThreads): Tool<z.output<typeof input>> {
  return defineTool(input, {
    name: 'search_files',
    description:
      'Finds lines that contain a text, returned as path:line: text. With regex the pattern is a JavaScript regular ' +
      'expression, matched line by line. An empty pattern finds files by their glob. Files that .gitignore and .ignore ' +
      'hide, and binary files, are not searched.',
    effect: 'pure',
    paths: ['path'],
    async run({ pattern, regex, glob }, call): Promise<ToolOutcome> {
      const found: Found = { files: 0, matches: 0, lines: [], shown: [] }
      const search = { at: call.handle('path').address, pattern, isRegex: regex, ...(glob !== undefined && { glob }) }
      const scope = await threads.perform({ search }, call.signal, (file) => {
        found.files++
        found.matches += file.matches
        const lines = pattern !== '' ? linesOf(file) : found.lines.length < maxPaths ? [file.path] : []
        found.lines.push(...lines)
        if (lines.length > 0) found.shown.push({ path: file.path, sha256: file.sha256 })
      })
      if (scope === 'late' && found.files === 0) return { status: 'error', output: { status: 'error', ...tooLong } }
      const names = found.shown.map(({ path }) => path)
      const shows = { names, ...(pattern !== '' && { parts: found.shown }) }
      return { status: 'ok', output: renderMatches(found, scope, pattern === ''), shows }
    },
  })
}

interface Found {
  files: number
  matches: number
  /** The first matches, rendered. */
  lines: string[]
  /** The files they are in. */
  shown: SeenFile[]
}

const tooLong = {
  error: `the search was stopped after ${jobTimeout / 1000} s`,
  remedy:
    'narrow the path or the glob; a regular expression with repetitions inside repetitions may never end: make it simpler',
}

function renderMatches(found: Found, scope: SearchScope | 'late', isByName: boolean): string {
  const lines = within(maxBytes, found.lines)
  const total = isByName
    ? countNoun(found.files, 'file')
    : `${countNoun(found.matches, 'match')} in ${countNoun(found.files, 'file')}`
  const isCut = lines.length < (isByName ? found.files : found.matches)
  const summary = isCut
    ? `… [cut: ${total}; first ${lines.length} shown; narrow the pattern, the path or the glob to see the others]`
    : `[${total}]`
  if (scope === 'late')
    return [...lines, summary, `[${tooLong.error}, before everything was searched: ${tooLong.remedy}]`].join('\n')
  const none = `[nothing found in ${countNoun(scope.files, 'file')}]`
  return [...lines, found.files === 0 ? none : summary, ...scopeNotes(scope)].join('\n')
}

function scopeNotes({ binary, tooLarge, unreadable }: SearchScope): string[] {
  const left = [
    ...(binary > 0 ? [`${countNoun(binary, 'binary file')}`] : []),
    ...(tooLarge > 0 ? [`${countNoun(tooLarge, 'file')} over ${largestFile / 1_000_000} MB`] : []),
    ...(unreadable > 0 ? [`${unreadable} that could not be read`] : []),
  ]
  return left.length === 0 ? [] : [`[not searched: ${left.join(', ')}]`]
}

function linesOf({ path, lines }: FileMatches): string[] {
  return lines.map(({ number, text }) => `${path}:${number}: ${text}`)
}

/** The first lines that fit into the limit. */
function within(bytes: number, lines: string[]): string[] {
  let left = bytes
  const tooMany = lines.findIndex((line) => {
    left -= Buffer.byteLength(line) + 1
    return left < 0
  })
  return tooMany === -1 ? lines : lines.slice(0, tooMany)
}

/** The error in a regular expression. */
function faultIn(pattern: string): string | undefined {
  try {
    readRegex(pattern)
    return undefined
  } catch (error) {
    return `${(error as Error).message}; leave regex out to search for it literally`
  }
}
