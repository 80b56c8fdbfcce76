import type { Millis } from '../../domain/clock.ts'
import { type LineMap, type LineSpan, partSpans, spansOf } from '../files/line-map.ts'
import { isAny, isNew } from './possible-origins.ts'
import { agreedLine, type LineAuthor, type TracedLine, unknown } from './traced-line.ts'

/** A line that may be one of several of the version before, or new. */
interface Choice {
  asked: number
  options: number[]
  fresh?: TracedLine
  doubt: { since: Millis; why: string }
}

/** Lines that are followed back through the versions of a file until their authors are found. */
export class OpenLines {
  readonly #count: number
  readonly #found: (TracedLine | undefined)[]
  /** Those that are not found yet, by their numbers in the version that was reached. */
  #spans: LineSpan[]
  /** Newest version first. */
  readonly #choices: Choice[] = []

  constructor(lines: readonly number[]) {
    this.#count = lines.length
    this.#found = new Array<TracedLine | undefined>(lines.length).fill(undefined)
    this.#spans = spansOf(lines)
  }

  get isEmpty(): boolean {
    return this.#spans.length === 0
  }

  /** Each line that is not found yet. */
  lines(): { line: number; asked: number }[] {
    return this.#spans.flatMap(({ line, asked, count }) =>
      Array.from({ length: count }, (_, at) => ({ line: line + at, asked: asked + at })),
    )
  }

  find(asked: number, traced: TracedLine): void {
    this.#found[asked] = traced
  }

  close(author: LineAuthor, spans: readonly LineSpan[] = this.#spans): void {
    for (const { asked, count } of spans) this.#found.fill({ author, passages: [] }, asked, asked + count)
    if (spans === this.#spans) this.#spans = []
  }

  /** Goes to the version before by a map that was recorded; returns the lines that it has not. */
  follow(map: LineMap): LineSpan[] {
    const { old, fresh } = partSpans(map, this.#spans)
    this.#spans = old
    return fresh
  }

  /** Whether a map follows none of these lines further. */
  isCut(map: LineMap): boolean {
    return partSpans(map, this.#spans).fresh.length > 0
  }

  /**
   * Goes to the version before where contents alone tell what a line may be. `author` is that of new lines; those that may be from
   * another file were `brought`.
   */
  choose(
    origins: readonly number[][],
    { author, brought }: { author: LineAuthor; brought: ReadonlyMap<number, TracedLine> },
    doubt: Choice['doubt'],
  ): void {
    /** Each line of the version before is followed once, however many may be it. */
    const slots = new Map<number, number>()
    for (const { line, asked } of this.lines()) {
      const from = origins[line] ?? []
      const [only] = from
      const fresh = brought.get(line) ?? (from.includes(isNew) ? { author, passages: [] } : undefined)
      if (from.includes(isAny)) this.find(asked, { author: unknown(doubt.since, doubt.why), passages: [] })
      else if (from.length === 1 && only === isNew && fresh) this.find(asked, fresh)
      else if (from.length === 1 && only !== undefined && !fresh && !slots.has(only)) slots.set(only, asked)
      else {
        const options = from.filter((each) => each !== isNew).map((each) => this.#slotOf(each, slots))
        this.#choices.push({ asked, options, doubt, ...(fresh && { fresh }) })
      }
    }
    this.#spans = spansBySlot(slots)
  }

  #slotOf(line: number, slots: Map<number, number>): number {
    const known = slots.get(line)
    if (known !== undefined) return known
    const slot = this.#found.push(undefined) - 1
    slots.set(line, slot)
    return slot
  }

  /** What was found for each line that was asked about; undefined where the versions ended before. */
  result(): (TracedLine | undefined)[] {
    for (const { asked, options, fresh, doubt } of this.#choices.toReversed()) {
      const all = options.flatMap((slot) => this.#found[slot] ?? [])
      this.#found[asked] = agreedLine(fresh ? [...all, fresh] : all, doubt)
    }
    return this.#found.slice(0, this.#count)
  }
}

function spansBySlot(slots: ReadonlyMap<number, number>): LineSpan[] {
  const spans: LineSpan[] = []
  for (const [line, asked] of [...slots].sort(([a], [b]) => a - b)) {
    const last = spans.at(-1)
    if (last && last.line + last.count === line && last.asked + last.count === asked) last.count++
    else spans.push({ line, asked, count: 1 })
  }
  return spans
}
