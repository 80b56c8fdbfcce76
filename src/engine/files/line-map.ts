import type { RequestedCall } from '../../domain/model.ts'
import { type EditedText, editedPlaces } from '../../tools/files/edit-text.ts'
import { decodeText } from '../../tools/files/text-kind.ts'
import { type Alignment, alignLines } from './align-lines.ts'
import { alignReordered } from './align-reordered.ts'
import { choicesOf, type LineChoice, readLineChoices, writeLineChoices } from './line-choices.ts'
import { linesIn } from './match-lines.ts'

/** Blocks of lines that a version kept from the one before it: where each begins in both, and its number of lines. */
export type LineMap = { at: number; from: number; count: number }[]

/** Larger texts have no map: their lines are explained by the last change alone. */
const maxMappedBytes = 2_000_000

/** Lines of a new content in the old one: the likeliest, and all that come into question where contents leave it open. */
interface MappedLines {
  map: LineMap
  choices: LineChoice[]
}

/** Maps the lines of a new content to those of the old one; null if one of them is no text. */
export function mapContents(before: Buffer, after: Buffer, edit?: EditedText): MappedLines | null {
  const lines = linesOfBoth(before, after)
  if (!lines) return null
  const { oldLines, newLines } = lines
  const edited = edit && alignEdit(decodeText(before) ?? '', oldLines, newLines, edit)
  return mappedLines(edited ?? alignLines(oldLines, newLines))
}

/** Maps contents around a command, which may have reordered lines. */
export function mapReordered(before: Buffer, after: Buffer): MappedLines | null {
  const lines = linesOfBoth(before, after)
  return lines ? mappedLines(alignReordered(lines.oldLines, lines.newLines)) : null
}

function mappedLines({ from, open }: Alignment): MappedLines {
  return { map: toLineMap(from), choices: choicesOf(open) }
}

/** Lines of two contents that can be compared; undefined if one of them is no text or they are too large. */
export function linesOfBoth(before: Buffer, after: Buffer): { oldLines: string[]; newLines: string[] } | undefined {
  if (before.length + after.length > maxMappedBytes) return undefined
  const [oldText, newText] = [decodeText(before), decodeText(after)]
  if (oldText === undefined || newText === undefined) return undefined
  return { oldLines: linesIn(oldText), newLines: linesIn(newText) }
}

/** What a call of edit_file replaces; undefined for other calls. */
export function editOfCall({ name, input }: Pick<RequestedCall, 'name' | 'input'>): EditedText | undefined {
  const { old_text, new_text, all } = (input ?? {}) as Record<string, unknown>
  if (name !== 'edit_file' || typeof old_text !== 'string' || typeof new_text !== 'string') return undefined
  return { old: old_text, new: new_text, all: all === true }
}

/** Aligns by the places of an edit: lines around it are unchanged, even if they equal other lines. */
function alignEdit(text: string, oldLines: string[], newLines: string[], edit: EditedText): Alignment | undefined {
  const places = editedPlaces(text, edit)
  if (!places || places.length === 0) return undefined
  const added = edit.new.split('\n').length - edit.old.split('\n').length
  const from: number[] = []
  const open = new Map<number, number[]>()
  let next = 0
  for (const { first, last } of mergePlaces(places)) {
    while (next < first) from.push(next++)
    const grown = added * places.filter((place) => place.first >= first && place.last <= last).length
    const inside = newLines.slice(from.length, from.length + (last - first + 1) + grown)
    const inOld = (line: number) => (line < 0 ? line : first + line)
    const aligned = alignLines(oldLines.slice(first, last + 1), inside)
    for (const [line, options] of aligned.open) open.set(from.length + line, options.map(inOld))
    from.push(...aligned.from.map(inOld))
    next = last + 1
  }
  while (next < oldLines.length) from.push(next++)
  // Unexpected line endings: fall back to comparing the contents.
  if (from.length !== newLines.length || from.some((at, to) => at !== -1 && oldLines[at] !== newLines[to]))
    return undefined
  return { from, open }
}

/** Merges edits that share a line. */
function mergePlaces(places: readonly { first: number; last: number }[]): { first: number; last: number }[] {
  const merged: { first: number; last: number }[] = []
  for (const place of places) {
    const before = merged.at(-1)
    if (before && place.first <= before.last) before.last = Math.max(before.last, place.last)
    else merged.push({ ...place })
  }
  return merged
}

function toLineMap(from: readonly number[]): LineMap {
  const map: LineMap = []
  for (const [at, oldLine] of from.entries()) {
    if (oldLine === -1) continue
    const last = map.at(-1)
    if (last && last.at + last.count === at && last.from + last.count === oldLine) last.count++
    else map.push({ at, from: oldLine, count: 1 })
  }
  return map
}

/** Formats a map as `at,from,count` of each block, separated by spaces; behind a semicolon the choices. */
export function writeLineMap({ map, choices }: MappedLines): string {
  return `${map.map(({ at, from, count }) => `${at},${from},${count}`).join(' ')};${writeLineChoices(choices)}`
}

/** `choices` is undefined in older records: they have the likeliest origins only. */
export function readLineMap(text: string): { map: LineMap; choices?: LineChoice[] } {
  const [blocks = '', choices] = text.split(';')
  return { map: readBlocks(blocks), ...(choices !== undefined && { choices: readLineChoices(choices) }) }
}

function readBlocks(text: string): LineMap {
  if (text === '') return []
  return text.split(' ').map((each) => {
    const [at = 0, from = 0, count = 0] = each.split(',').map(Number)
    return { at, from, count }
  })
}

/** The line of the version before that a line was; undefined if it is new. */
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

/** Consecutive lines of a version, which are also consecutive in the list of requested lines. */
export interface LineSpan {
  line: number
  /** Index of the first one in the list of requested lines. */
  slot: number
  count: number
}

/** Splits spans into lines of the version before, with their numbers there, and new lines. Both are sorted by line. */
export function splitSpans(map: LineMap, spans: readonly LineSpan[]): { oldSpans: LineSpan[]; newSpans: LineSpan[] } {
  const [oldSpans, newSpans]: [LineSpan[], LineSpan[]] = [[], []]
  let next = 0
  let isReordered = false
  for (const span of spans) {
    const end = span.line + span.count
    const part = (line: number, to: number) => ({ slot: span.slot + line - span.line, count: to - line })
    let line = span.line
    while (next < map.length && (map[next]?.at ?? 0) + (map[next]?.count ?? 0) <= line) next++
    for (let at = next; line < end; at++) {
      const known = map[at]
      const start = Math.min(end, Math.max(line, known?.at ?? end))
      if (start > line) newSpans.push({ line, ...part(line, start) })
      const stop = known ? Math.min(end, known.at + known.count) : start
      if (known && stop > start) {
        const from = known.from + start - known.at
        isReordered ||= from < (oldSpans.at(-1)?.line ?? 0)
        oldSpans.push({ line: from, ...part(start, stop) })
      }
      line = Math.max(start, stop)
    }
  }
  return { oldSpans: isReordered ? oldSpans.sort((a, b) => a.line - b.line) : oldSpans, newSpans }
}

/** Spans of a list of requested lines. */
export function spansOf(lines: readonly number[]): LineSpan[] {
  const spans: LineSpan[] = []
  for (const [slot, line] of lines.entries()) {
    const last = spans.at(-1)
    if (last && last.line + last.count === line) last.count++
    else spans.push({ line, slot, count: 1 })
  }
  return spans.sort((a, b) => a.line - b.line)
}
