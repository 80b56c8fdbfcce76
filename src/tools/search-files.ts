import { z } from 'zod'
import type { Tool, ToolOutcome } from '../domain/tool.ts'
import { type FileThreads, patience } from './file-threads.ts'
import { type FoundFile, largestFile, readRegex, type Searched } from './search.ts'
import { parsedBy } from './tool-input.ts'

const mostBytes = 48_000
const mostPaths = 1000

const input = z
  .strictObject({
    pattern: z.string().max(1000),
    path: z.string().optional(),
    glob: z.string().min(1).max(1000).optional(),
    regex: z.boolean().default(false),
  })
  .superRefine(({ pattern, regex }, context) => {
    const why = regex ? faultIn(pattern) : undefined
    if (why !== undefined) context.addIssue({ code: 'custom', path: ['pattern'], message: why })
  })

/** Finds lines in files, or files by their names. */
export function searchFiles(threads: FileThreads): Tool<z.output<typeof input>> {
  return {
    name: 'search_files',
    description:
      'Finds lines that hold a text, answered as path:line: text. With regex the pattern is a JavaScript regular ' +
      'expression, matched line by line. An empty pattern finds files by their glob. What .gitignore and .ignore hide, ' +
      'and binary files, are not searched.',
    inputSchema: {
      type: 'object',
      properties: {
        pattern: { type: 'string', description: 'taken literally unless regex is true' },
        path: { type: 'string', description: 'a directory or file to search; the whole folder if left out' },
        glob: { type: 'string', description: 'only files whose path fits, such as *.ts or src/**/*.{ts,tsx}' },
        regex: { type: 'boolean' },
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    effect: 'pure',
    paths: ['path'],
    parse: parsedBy(input),
    async run({ pattern, regex, glob }, call): Promise<ToolOutcome> {
      const found: Found = { files: 0, matches: 0, lines: [] }
      const wanted = { at: call.handle('path').address, pattern, isRegex: regex, ...(glob !== undefined && { glob }) }
      const searched = await threads.perform({ search: wanted }, call.signal, (file) => {
        found.files++
        found.matches += file.matches
        if (pattern !== '') found.lines.push(...linesOf(file))
        else if (found.lines.length < mostPaths) found.lines.push(file.path)
      })
      if (searched === 'late' && found.files === 0) return { status: 'error', output: { status: 'error', ...tooLong } }
      return { status: 'ok', output: told(found, searched, pattern === '') }
    },
  }
}

interface Found {
  files: number
  matches: number
  /** The first of them, as they are told. */
  lines: string[]
}

const tooLong = {
  error: `the search was stopped after ${patience / 1000} s`,
  remedy:
    'narrow the path or the glob; a regular expression with repetitions inside repetitions may never end: make it simpler',
}

function told(found: Found, searched: Searched | 'late', isByName: boolean): string {
  const lines = within(mostBytes, found.lines)
  const total = isByName
    ? counted(found.files, 'file')
    : `${counted(found.matches, 'match')} in ${counted(found.files, 'file')}`
  const isCut = lines.length < (isByName ? found.files : found.matches)
  const summary = isCut
    ? `… [cut: ${total}; first ${lines.length} shown; narrow the pattern, the path or the glob to see the others]`
    : `[${total}]`
  if (searched === 'late')
    return [...lines, summary, `[${tooLong.error}, before everything was searched: ${tooLong.remedy}]`].join('\n')
  const none = `[nothing found in ${counted(searched.files, 'file')}]`
  return [...lines, found.files === 0 ? none : summary, ...notesOn(searched)].join('\n')
}

function notesOn({ binary, tooLarge, unreadable }: Searched): string[] {
  const left = [
    ...(binary > 0 ? [`${counted(binary, 'binary file')}`] : []),
    ...(tooLarge > 0 ? [`${counted(tooLarge, 'file')} over ${largestFile / 1_000_000} MB`] : []),
    ...(unreadable > 0 ? [`${unreadable} that could not be read`] : []),
  ]
  return left.length === 0 ? [] : [`[not searched: ${left.join(', ')}]`]
}

function linesOf({ path, lines }: FoundFile): string[] {
  return lines.map(({ number, text }) => `${path}:${number}: ${text}`)
}

/** The first lines that fit. */
function within(bytes: number, lines: string[]): string[] {
  let left = bytes
  const tooMany = lines.findIndex((line) => {
    left -= Buffer.byteLength(line) + 1
    return left < 0
  })
  return tooMany === -1 ? lines : lines.slice(0, tooMany)
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : noun.endsWith('h') ? 'es' : 's'}`
}

/** What is wrong with a regular expression. */
function faultIn(pattern: string): string | undefined {
  try {
    readRegex(pattern)
    return undefined
  } catch (error) {
    return `${(error as Error).message}; leave regex out to search for it literally`
  }
}
