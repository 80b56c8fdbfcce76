import { decodeText } from '../files/text-kind.ts'

/** Distinct lines of a text. */
export function distinctLines(bytes: Buffer | undefined): Set<string> {
  return new Set(lineCounts(bytes).keys())
}

/** How often each line is in a text. */
export function lineCounts(bytes: Buffer | undefined): Map<string, number> {
  const counts = new Map<string, number>()
  const lines = (bytes && decodeText(bytes))?.split(/\r?\n/) ?? []
  if (lines.at(-1) === '') lines.pop()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

/** Whether a line says something: many files have "}". */
export function isDistinctive(line: string): boolean {
  return line.trim().length > 3
}

/** Lines that say something and that must be the same: fewer may be so by chance. */
const minLines = 2
/** Share of a text's lines that another one must have to be made of it. */
const minShare = 0.5

/** Whether a text that a command left is made of one that it took away. A single line may be from there as well. */
export function isMadeOf(fresh: ReadonlySet<string>, old: ReadonlySet<string>): boolean {
  const telling = [...old].filter(isDistinctive)
  const shared = telling.filter((line) => fresh.has(line)).length
  return shared >= minLines && shared >= minShare * telling.length
}
