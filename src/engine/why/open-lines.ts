import type { Millis } from '../../domain/clock.ts'
import { type LineMap, type LineSpan, spansOf, splitSpans } from '../files/line-map.ts'
import { anyEqualLine, newLine } from '../files/possible-origins.ts'
import { type LineAuthor, mergeTracedLines, type TracedLine, unknownAuthor } from './traced-line.ts'

export const equalAfterChange = 'equal lines leave open which of them was there before'

/** A line with several possible origins: lines of the version before, or none of them. */
interface Choice {
  slot: number
  /** Slots of the lines of the version before. */
  options: number[]
  /** Its origin if it is new here, or was moved here from another file. */
  newOrMoved?: TracedLine
  doubt: { since: Millis; why: string }
}

/** Lines that are followed back through the versions of a file until their authors are found. */
export class OpenLines {
  readonly #count: number
  readonly #traced: (TracedLine | undefined)[]
  /** Lines without an author so far, by their numbers in the current version. */
  #spans: LineSpan[]
  /** The last split: a map is asked several times. */
  #split: ({ map: LineMap; spans: LineSpan[] } & ReturnType<typeof splitSpans>) | undefined
  /** Newest version first. */
  readonly #choices: Choice[] = []

  constructor(lines: readonly number[]) {
    this.#count = lines.length
    this.#traced = new Array<TracedLine | undefined>(lines.length).fill(undefined)
    this.#spans = spansOf(lines)
  }

  get isEmpty(): boolean {
    return this.#spans.length === 0
  }

  /** Lines without an author so far. */
  lines(): { line: number; slot: number }[] {
    return linesOfSpans(this.#spans)
  }

  resolveLine(slot: number, traced: TracedLine): void {
    this.#traced[slot] = traced
  }

  resolveSpans(author: LineAuthor, spans: readonly LineSpan[] = this.#spans): void {
    for (const { slot, count } of spans) this.#traced.fill({ author, transfers: [] }, slot, slot + count)
    if (spans === this.#spans) this.#spans = []
  }

  /** Goes to the version before by a recorded map; returns the lines that are new since. */
  follow(map: LineMap): LineSpan[] {
    const { oldSpans, newSpans } = this.#splitBy(map)
    this.#spans = oldSpans
    return newSpans
  }

  /** Whether any open line is missing in a map. */
  hasUnmapped(map: LineMap): boolean {
    return this.#splitBy(map).newSpans.length > 0
  }

  #splitBy(map: LineMap): ReturnType<typeof splitSpans> {
    if (this.#split?.map !== map || this.#split.spans !== this.#spans)
      this.#split = { map, spans: this.#spans, ...splitSpans(map, this.#spans) }
    return this.#split
  }

  /**
   * Goes to the version before by possible origins, found by comparing contents. `author`: of new lines. `moved`: lines that may come
   * from another file.
   */
  followPossible(
    origins: readonly number[][],
    { author, moved }: { author: LineAuthor; moved: ReadonlyMap<number, TracedLine> },
    doubt: Choice['doubt'],
  ): void {
    /** Slot of each line of the version before: it is followed once, even if several lines may come from it. */
    const slots = new Map<number, number>()
    for (const { line, slot } of this.lines()) {
      const from = origins[line] ?? []
      const [only] = from
      const newOrMoved = moved.get(line) ?? (from.includes(newLine) ? { author, transfers: [] } : undefined)
      if (from.includes(anyEqualLine))
        this.resolveLine(slot, { author: unknownAuthor(doubt.since, doubt.why), transfers: [] })
      else if (from.length === 1 && only === newLine && newOrMoved) this.resolveLine(slot, newOrMoved)
      else if (from.length === 1 && only !== undefined && !newOrMoved && !slots.has(only)) slots.set(only, slot)
      else {
        const options = from.filter((each) => each !== newLine).map((each) => this.#slotOf(each, slots))
        this.#choices.push({ slot, options, doubt, ...(newOrMoved && { newOrMoved }) })
      }
    }
    this.#spans = spansBySlot(slots)
  }

  #slotOf(line: number, slots: Map<number, number>): number {
    const known = slots.get(line)
    if (known !== undefined) return known
    const slot = this.#traced.push(undefined) - 1
    slots.set(line, slot)
    return slot
  }

  /** Origin of each requested line; undefined for a line that is still open. */
  result(): (TracedLine | undefined)[] {
    for (const { slot, options, newOrMoved, doubt } of this.#choices.toReversed()) {
      const all = options.flatMap((option) => this.#traced[option] ?? [])
      this.#traced[slot] = mergeTracedLines(newOrMoved ? [...all, newOrMoved] : all, doubt)
    }
    return this.#traced.slice(0, this.#count)
  }
}

export function linesOfSpans(spans: readonly LineSpan[]): { line: number; slot: number }[] {
  return spans.flatMap(({ line, slot, count }) =>
    Array.from({ length: count }, (_, at) => ({ line: line + at, slot: slot + at })),
  )
}

function spansBySlot(slots: ReadonlyMap<number, number>): LineSpan[] {
  const spans: LineSpan[] = []
  for (const [line, slot] of [...slots].sort(([a], [b]) => a - b)) {
    const last = spans.at(-1)
    if (last && last.line + last.count === line && last.slot + last.count === slot) last.count++
    else spans.push({ line, slot, count: 1 })
  }
  return spans
}
