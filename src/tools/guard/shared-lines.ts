import { decodeText } from '../files/text-kind.ts'

/** Distinct lines of a text, without blank ones. */
export function distinctLines(bytes: Buffer | undefined): Set<string> {
  return new Set(lineCounts(bytes).keys())
}

/** How often each line is in a text, without blank ones. */
export function lineCounts(bytes: Buffer | undefined): Map<string, number> {
  const counts = new Map<string, number>()
  const text = bytes && decodeText(bytes)
  for (const line of text?.split(/\r?\n/) ?? []) if (line.trim() !== '') counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

/** Whether a line says something: many files have "}". */
export function isTelling(line: string): boolean {
  return line.trim().length > 3
}

/** Lines that say something and that must be the same: fewer may be so by chance. */
const minLines = 2
/** Share of a text's lines that another one must have to be made of it. */
const shareOfMuch = 0.5

/**
 * How much of a text is in another one that was made by a command while this one was lost: much if the other one has been made
 * of it; some if that comes into question, as it does for a single line.
 */
export function likenessOf(old: ReadonlySet<string>, fresh: ReadonlySet<string>): 'much' | 'some' | 'none' {
  const shared = [...old].filter((line) => fresh.has(line))
  if (shared.length === 0) return 'none'
  const telling = shared.filter(isTelling).length
  return telling >= minLines && telling >= shareOfMuch * [...old].filter(isTelling).length ? 'much' : 'some'
}
