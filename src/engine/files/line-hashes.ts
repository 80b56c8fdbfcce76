import { decodeText } from '../../tools/files/text-kind.ts'
import { isSignificantLine } from '../../tools/guard/shared-lines.ts'
import type { LineMap } from './line-map.ts'
import { linesIn } from './match-lines.ts'

/** Larger texts are not compared with others, so their lines need no hashes. */
const maxHashedBytes = 2_000_000

/**
 * Hashes of significant lines, packed as text for a row. Together the rows of a file have every line that it is known to have had, so
 * that a file whose rows lack a line never had it. `map`: of the last content to the one before, whose lines have been recorded.
 */
export function packLineHashes(contents: readonly (Buffer | undefined)[], map?: LineMap): string {
  const hashes = new Set<number>()
  for (const bytes of contents) {
    const text = bytes && bytes.length <= maxHashedBytes ? decodeText(bytes) : undefined
    const lines = linesIn(text ?? '')
    for (const line of map && bytes === contents.at(-1) ? unmappedLines(lines, map) : lines)
      if (isSignificantLine(line)) hashes.add(hashLine(line))
  }
  return Buffer.from(Int32Array.from(hashes).buffer).toString('base64')
}

export function unpackLineHashes(packed: string): Int32Array {
  const bytes = Buffer.from(packed, 'base64')
  return new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
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
