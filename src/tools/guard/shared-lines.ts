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

/** Whether a line has more than three characters: many files have "}". */
export function isSignificantLine(line: string): boolean {
  return line.trim().length > 3
}

/** Min significant lines in common: fewer may be equal by chance. */
const minLines = 2
/** Share of a text's lines that another one must have to be made of it. */
const minShare = 0.5

/** Whether a text that a command left is mainly made of one that it removed. */
export function isMadeOf(newLines: ReadonlySet<string>, oldLines: ReadonlySet<string>): boolean {
  const significant = [...oldLines].filter(isSignificantLine)
  const shared = significant.filter((line) => newLines.has(line)).length
  return shared >= minLines && shared >= minShare * significant.length
}
