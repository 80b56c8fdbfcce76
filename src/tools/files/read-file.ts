import { z } from 'zod'
import type { Label } from '../../domain/label.ts'
import type { OpenFile } from '../../domain/tools/path-handle.ts'
import type { SeenFile, Tool } from '../../domain/tools/tool.ts'
import { defineTool } from '../define-tool.ts'
import { pathOf } from './change-file.ts'
import { hashOf } from './content-hash.ts'
import { type Page, readPage } from './line-page.ts'
import { noteOn } from './text-kind.ts'

const maxLines = 2000
const maxBytes = 48_000
const maxLineBytes = 2000
// Files up to this size are hashed, so that a later change is detected.
const maxHashed = 5 * 1024 * 1024

const input = () =>
  z.strictObject({
    path: z.string().describe('relative to the folder, such as src/main.ts'),
    offset: z.int().min(1).default(1).describe('first line, from 1'),
    limit: z.int().min(1).default(maxLines).describe(`number of lines; default and max ${maxLines}`),
  })

/** Reads a text file with line numbers, a page at a time. */
export const readFile: Tool<z.output<ReturnType<typeof input>>> = defineTool(input, {
  name: 'read_file',
  description:
    'Reads a text file. Each line is returned as its number, a tab and its text, so that you can quote path:line; the ' +
    'number and the tab are not part of the file. Long files come in pages: continue with the offset given at the end.',
  effect: 'pure',
  paths: ['path'],
  async run({ offset, limit }, call) {
    const handle = call.handle('path')
    const request = { offset, lines: Math.min(limit, maxLines), bytes: maxBytes, lineBytes: maxLineBytes }
    return handle.openFile(async (opened) => {
      const { file, seen } = await readWhole(opened)
      const page = await readPage(file, request, call.signal)
      const output =
        'binary' in page ? renderBinary(handle.shown, file, page.binary) : renderPageLines(handle.shown, page, offset)
      const label: Label = { integrity: 'trusted', sources: [`file:${handle.shown}`] }
      return { status: 'ok', output, seen: [seen], label }
    })
  },
})

/** Reads a file at once unless it is too large, so that the hash belongs to the shown text. */
async function readWhole(file: OpenFile): Promise<{ file: OpenFile; seen: SeenFile }> {
  const path = pathOf(file)
  if (file.bytes > maxHashed) return { file, seen: { path, sha256: null } }
  // One byte more than its size, to detect a file that grew since.
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

function renderBinary(shown: string, { bytes }: OpenFile, looks: string): string {
  const look = looks === '' ? '' : `, looks like ${looks}`
  return `[${shown} is binary (${bytes} bytes${look}): it cannot be shown as text]`
}

function renderPageLines(shown: string, page: Page, offset: number): string {
  if (page.total === 0) return `[${shown} is empty]`
  if (page.lines.length === 0)
    return `[${shown} has ${page.total} lines: there is no line ${offset}; read with an offset of at most ${page.total}]`
  const more = `${page.atLeast ? 'over ' : ''}${page.more} more lines`
  return [
    ...pageNotes(page).map((note) => `[${note}]`),
    ...page.lines.map((line, at) => `${offset + at}\t${line}`),
    ...(page.more > 0 || page.atLeast ? [`… [cut: ${more}; continue with offset=${offset + page.lines.length}]`] : []),
  ].join('\n')
}

function pageNotes({ kind, isDamaged, hasCarriageReturns }: Page): string[] {
  return [
    noteOn(kind),
    isDamaged ? 'some bytes are not text and are shown as \ufffd' : undefined,
    hasCarriageReturns ? 'lines end with CR LF; the CR is left out here' : undefined,
  ].filter((note) => note !== undefined)
}
