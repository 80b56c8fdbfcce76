import { decodeText } from '../../tools/files/text-kind.ts'
import { isSignificantLine } from '../../tools/guard/shared-lines.ts'
import type { LineMap } from './line-map.ts'
import { linesIn } from './match-lines.ts'

/** Larger texts are not compared with others, so their lines need no hashes. */
const maxHashedBytes = 2_000_000

/** What a change did to a file. */
interface HashedChange {
  before: Buffer | undefined
  after: Buffer | undefined
  /** The lines of `before` have been recorded. */
  isRecorded: boolean
  /** From `after` to `before`, if it is known: lines need not be compared then. */
  map?: LineMap | undefined
}

/**
 * Hashes of the significant lines that a change brings, packed as text for a row; and of those before it, if they have not been recorded.
 * Together the rows of a file have every line that it is known to have had, so that a file whose rows lack a line never had it.
 */
export function packLineHashes({ before, after, isRecorded, map }: HashedChange): string {
  const lines = linesOf(after)
  const oldLines = new Set(isRecorded && map ? [] : linesOf(before))
  const added = map ? unmappedLines(lines, map) : lines.filter((line) => !oldLines.has(line))
  const hashes = new Set([...added, ...(isRecorded ? [] : oldLines)].filter(isSignificantLine).map(hashLine))
  return Buffer.from(Int32Array.from(hashes).buffer).toString('base64')
}

function linesOf(bytes: Buffer | undefined): string[] {
  return linesIn((bytes && bytes.length <= maxHashedBytes ? decodeText(bytes) : undefined) ?? '')
}

/** Those of these hashes that a row has; all of them if it is from before line hashes were recorded. */
export function hashesInRow(packed: string | null, wanted: ReadonlySet<number>): readonly number[] {
  if (packed === null) return [...wanted]
  if (packed === '' || wanted.size === 0) return none
  const bytes = Buffer.from(packed, 'base64')
  let found = none
  for (let at = 0; at < bytes.length; at += Int32Array.BYTES_PER_ELEMENT) {
    const hash = bytes.readInt32LE(at)
    if (!wanted.has(hash)) continue
    if (found === none) found = []
    found.push(hash)
  }
  return found
}

// Most rows have none of them.
const none: number[] = []

/** Number of hashes that these rows have. */
export function hashCount(rows: readonly string[]): number {
  return rows.reduce((sum, packed) => sum + Buffer.byteLength(packed, 'base64') / Int32Array.BYTES_PER_ELEMENT, 0)
}

/** 32 bits: two lines with the same hash cost a needless comparison, and nothing else. */
export function hashLine(line: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < line.length; at++) hash = Math.imul(hash ^ line.charCodeAt(at), 0x01000193)
  return hash | 0
}

function unmappedLines(lines: readonly string[], map: LineMap): string[] {
  const unmapped: string[] = []
  let next = 0
  for (const { at, count } of map) {
    unmapped.push(...lines.slice(next, at))
    next = at + count
  }
  return [...unmapped, ...lines.slice(next)]
}
