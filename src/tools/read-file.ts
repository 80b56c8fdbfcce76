import { z } from 'zod'
import type { Label } from '../domain/label.ts'
import type { OpenFile } from '../domain/path-handle.ts'
import type { SeenFile, Tool } from '../domain/tool.ts'
import { hashOf, pathOf } from './change-file.ts'
import { type Page, readPage } from './line-page.ts'
import { noteOn } from './text-kind.ts'
import { parsedBy } from './tool-input.ts'

const mostLines = 2000
const mostBytes = 48_000
const mostLineBytes = 2000
// Files that are read whole, so that a later change of them is noticed.
const mostHashed = 5 * 1024 * 1024

const input = z.strictObject({
  path: z.string(),
  offset: z.int().min(1).default(1),
  limit: z.int().min(1).default(mostLines),
})

/** Shows a text file, line by line with numbers, a page at a time. */
export const readFile: Tool<z.output<typeof input>> = {
  name: 'read_file',
  description:
    'Reads a text file. Each line is answered as its number, a tab and its text, so that you can quote path:line; the ' +
    'number and the tab are not part of the file. Long files come in pages: read on with the offset that the end names.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'from the folder on, such as src/main.ts' },
      offset: { type: 'integer', minimum: 1, description: 'first line, from 1' },
      limit: { type: 'integer', minimum: 1, description: `lines; ${mostLines} if left out, and at most` },
    },
    required: ['path'],
    additionalProperties: false,
  },
  effect: 'pure',
  paths: ['path'],
  parse: parsedBy(input),
  async run({ offset, limit }, call) {
    const handle = call.handle('path')
    const wanted = { offset, lines: Math.min(limit, mostLines), bytes: mostBytes, lineBytes: mostLineBytes }
    return handle.openFile(async (opened) => {
      const { file, seen } = await held(opened)
      const page = await readPage(file, wanted, call.signal)
      const output =
        'binary' in page ? tellBinary(handle.shown, file, page.binary) : tellPage(handle.shown, page, offset)
      const label: Label = { integrity: 'trusted', sources: [`file:${handle.shown}`] }
      return { status: 'ok', output, seen: [seen], label }
    })
  },
}

/** Reads a file that is not too large at once: what is shown and what is remembered of it are the same. */
async function held(file: OpenFile): Promise<{ file: OpenFile; seen: SeenFile }> {
  const path = pathOf(file)
  if (file.bytes > mostHashed) return { file, seen: { path, sha256: null } }
  // One more than it has: a file that grew since is not held, and one that gives all it has is not asked for more.
  const into = Buffer.allocUnsafe(file.bytes + 1)
  let filled = 0
  for (let count = -1; count !== 0 && (filled < file.bytes || count === -1); filled += count)
    count = await file.read(into.subarray(filled), filled)
  if (filled > file.bytes) return { file, seen: { path, sha256: null } }
  const bytes = into.subarray(0, filled)
  return {
    file: { ...file, bytes: filled, read: async (to, at) => bytes.copy(to, 0, at) },
    seen: { path, sha256: hashOf(bytes) },
  }
}

function tellBinary(shown: string, { bytes }: OpenFile, looks: string): string {
  const look = looks === '' ? '' : `, looks like ${looks}`
  return `[${shown} is binary (${bytes} bytes${look}): it cannot be shown as text]`
}

function tellPage(shown: string, page: Page, offset: number): string {
  if (page.total === 0) return `[${shown} is empty]`
  if (page.lines.length === 0)
    return `[${shown} has ${page.total} lines: there is no line ${offset}; read with an offset of at most ${page.total}]`
  const more = `${page.atLeast ? 'over ' : ''}${page.more} more lines`
  return [
    ...notesOn(page).map((note) => `[${note}]`),
    ...page.lines.map((line, at) => `${offset + at}\t${line}`),
    ...(page.more > 0 || page.atLeast ? [`… [cut: ${more}; read on with offset=${offset + page.lines.length}]`] : []),
  ].join('\n')
}

function notesOn({ kind, isDamaged, hasCarriageReturns }: Page): string[] {
  return [
    noteOn(kind),
    isDamaged ? 'some bytes are not text and are shown as \ufffd' : undefined,
    hasCarriageReturns ? 'lines end with CR LF; the CR is left out here' : undefined,
  ].filter((note) => note !== undefined)
}
