const maxLines = 20_000
const maxLineLength = 500
const maxShown = 8
const maxShownLength = 200
// Similarity below this is chance.
const minSimilarity = 0.4

/** The lines of a text that are most similar to the wanted ones, with their numbers. */
export function nearestLines(text: string, wanted: string): string | undefined {
  const lines = text.split('\n', maxLines)
  const wantedLines = wanted.split('\n')
  const first = wantedLines.findIndex((line) => line.trim() !== '')
  if (first < 0) return undefined
  const key = wantedLines[first] ?? ''
  let [best, bestSimilarity] = [-1, minSimilarity]
  for (const [at, line] of lines.entries()) {
    // A line may occur in many places: the following lines decide.
    const similarity = similarityOf(line, key) + 0.1 * followers(lines, at, wantedLines, first)
    if (similarity > bestSimilarity) [best, bestSimilarity] = [at, similarity]
  }
  if (best < 0) return undefined
  const from = Math.max(0, best - first)
  return lines
    .slice(from, from + Math.min(wantedLines.length, maxShown))
    .map((line, at) => `${from + at + 1}\t${line.length > maxShownLength ? `${line.slice(0, maxShownLength)}…` : line}`)
    .join('\n')
}

function followers(lines: string[], at: number, wantedLines: string[], first: number): number {
  const next = wantedLines.slice(first + 1, first + maxShown)
  return next.filter((line, step) => line.trim() !== '' && lines[at + 1 + step]?.trim() === line.trim()).length
}

/** Dice coefficient of letter pairs; 1 if equal except for spaces. */
function similarityOf(a: string, b: string): number {
  const [one, other] = [a, b].map((line) => line.slice(0, maxLineLength).replace(/\s+/g, ''))
  if (one === other) return 1
  const [pairs, others] = [pairsOf(one ?? ''), pairsOf(other ?? '')]
  if (pairs.size === 0 || others.size === 0) return 0
  const both = [...pairs].filter((pair) => others.has(pair)).length
  return (2 * both) / (pairs.size + others.size)
}

function pairsOf(line: string): Set<string> {
  return new Set(Array.from({ length: Math.max(0, line.length - 1) }, (_, at) => line.slice(at, at + 2)))
}
