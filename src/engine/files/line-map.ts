import type { RequestedCall } from '../../domain/model.ts'
import { type EditedText, editedPlaces } from '../../tools/files/edit-text.ts'
import { decodeText } from '../../tools/files/text-kind.ts'
import { linesIn, matchLines, uniqueLines } from './match-lines.ts'

/** Lines that a version has from the version before it: where they begin in each, and how many. */
export type LineMap = { at: number; from: number; count: number }[]

/** Larger texts have no map: a line of theirs is explained by the last change alone. */
const maxMapped = 2_000_000

/** Which lines of a new content are of the old one; null if one of them is no text. */
export function mapContents(before: Buffer, after: Buffer, edit?: EditedText): LineMap | null {
  const lines = linesOfBoth(before, after)
  if (!lines) return null
  const { old, fresh } = lines
  return (edit && mapEdit(decodeText(before) ?? '', old, fresh, edit)) ?? mapOf(matchLines(old, fresh))
}

/**
 * The same for a command, which may have put lines in another order: a long line that is once in both contents is the same, wherever
 * it stands.
 */
export function mapReordered(before: Buffer, after: Buffer): LineMap | null {
  const lines = linesOfBoth(before, after)
  if (!lines) return null
  const { old, fresh } = lines
  const matched = matchLines(old, fresh)
  if (!matched.includes(-1)) return mapOf(matched)
  const [inOld, inFresh] = [uniqueLines(old, 0, old.length), uniqueLines(fresh, 0, fresh.length)]
  const shared = [...inFresh.keys()].filter((text) => inOld.has(text)).length
  // A rewritten file may begin as the one before it did.
  if (shared < minKept * Math.max(inOld.size, inFresh.size)) return mapOf(matched)
  const isMoved = (text: string) => text.trim().length >= minMoved && (inFresh.get(text) ?? -1) >= 0
  return mapOf(
    matched.map((from, at) => (from === -1 && isMoved(fresh[at] ?? '') ? (inOld.get(fresh[at] ?? '') ?? -1) : from)),
  )
}

/** Share of the lines of both contents that must be the same where lines were put in another order. */
const minKept = 2 / 3
/** Letters of a line that is followed to another place of its file: a shorter one may be new. */
const minMoved = 16

/** Lines of two contents that can be compared; undefined if one of them is no text or they are too large. */
export function linesOfBoth(before: Buffer, after: Buffer): { old: string[]; fresh: string[] } | undefined {
  if (before.length + after.length > maxMapped) return undefined
  const [old, fresh] = [decodeText(before), decodeText(after)]
  return old === undefined || fresh === undefined ? undefined : { old: linesIn(old), fresh: linesIn(fresh) }
}

/** What a call of edit_file replaces; undefined for other calls. */
export function editOfCall({ name, input }: Pick<RequestedCall, 'name' | 'input'>): EditedText | undefined {
  const { old_text, new_text, all } = (input ?? {}) as Record<string, unknown>
  if (name !== 'edit_file' || typeof old_text !== 'string' || typeof new_text !== 'string') return undefined
  return { old: old_text, new: new_text, all: all === true }
}

/** Lines around an edit are those that were there, whatever else looks like them. */
function mapEdit(text: string, old: string[], fresh: string[], edit: EditedText): LineMap | undefined {
  const places = editedPlaces(text, edit)
  if (!places || places.length === 0) return undefined
  const added = edit.new.split('\n').length - edit.old.split('\n').length
  const from: number[] = []
  let next = 0
  for (const { first, last } of mergePlaces(places)) {
    while (next < first) from.push(next++)
    const grown = added * places.filter((place) => place.first >= first && place.last <= last).length
    const inside = fresh.slice(from.length, from.length + (last - first + 1) + grown)
    const base = first
    from.push(...matchLines(old.slice(first, last + 1), inside).map((at) => (at === -1 ? -1 : base + at)))
    next = last + 1
  }
  while (next < old.length) from.push(next++)
  // The ends of lines differ in a way that this does not know.
  if (from.length !== fresh.length || from.some((at, to) => at !== -1 && old[at] !== fresh[to])) return undefined
  return mapOf(from)
}

/** Edits that share a line belong together. */
function mergePlaces(places: readonly { first: number; last: number }[]): { first: number; last: number }[] {
  const merged: { first: number; last: number }[] = []
  for (const place of places) {
    const before = merged.at(-1)
    if (before && place.first <= before.last) before.last = Math.max(before.last, place.last)
    else merged.push({ ...place })
  }
  return merged
}

function mapOf(from: readonly number[]): LineMap {
  const map: LineMap = []
  for (const [at, old] of from.entries()) {
    if (old === -1) continue
    const last = map.at(-1)
    if (last && last.at + last.count === at && last.from + last.count === old) last.count++
    else map.push({ at, from: old, count: 1 })
  }
  return map
}

/** As text: `at,from,count` for each, separated by spaces. */
export function writeLineMap(map: LineMap): string {
  return map.map(({ at, from, count }) => `${at},${from},${count}`).join(' ')
}

export function readLineMap(text: string): LineMap {
  if (text === '') return []
  return text.split(' ').map((each) => {
    const [at = 0, from = 0, count = 0] = each.split(',').map(Number)
    return { at, from, count }
  })
}

/** The old line that a new one is; undefined for a new one. */
export function lineBefore(map: LineMap, line: number): number | undefined {
  let [low, high] = [0, map.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((map[middle]?.at ?? 0) <= line) low = middle + 1
    else high = middle
  }
  const span = map[low - 1]
  return span && line < span.at + span.count ? span.from + line - span.at : undefined
}

/** Lines that follow each other in a version, and in the list of those that are asked about. */
export interface LineSpan {
  line: number
  asked: number
  count: number
}

/** Parts spans into the lines of the version before, by their numbers there, and the new ones. Both are sorted by line. */
export function partSpans(map: LineMap, spans: readonly LineSpan[]): { old: LineSpan[]; fresh: LineSpan[] } {
  const [old, fresh]: [LineSpan[], LineSpan[]] = [[], []]
  let next = 0
  let isReordered = false
  for (const span of spans) {
    const end = span.line + span.count
    const part = (line: number, to: number) => ({ asked: span.asked + line - span.line, count: to - line })
    let line = span.line
    while (next < map.length && (map[next]?.at ?? 0) + (map[next]?.count ?? 0) <= line) next++
    for (let at = next; line < end; at++) {
      const known = map[at]
      const start = Math.min(end, Math.max(line, known?.at ?? end))
      if (start > line) fresh.push({ line, ...part(line, start) })
      const stop = known ? Math.min(end, known.at + known.count) : start
      if (known && stop > start) {
        const from = known.from + start - known.at
        isReordered ||= from < (old.at(-1)?.line ?? 0)
        old.push({ line: from, ...part(start, stop) })
      }
      line = Math.max(start, stop)
    }
  }
  return { old: isReordered ? old.sort((a, b) => a.line - b.line) : old, fresh }
}

/** Spans of these lines, which are asked about in this order. */
export function spansOf(lines: readonly number[]): LineSpan[] {
  const spans: LineSpan[] = []
  for (const [asked, line] of lines.entries()) {
    const last = spans.at(-1)
    if (last && last.line + last.count === line) last.count++
    else spans.push({ line, asked, count: 1 })
  }
  return spans.sort((a, b) => a.line - b.line)
}
