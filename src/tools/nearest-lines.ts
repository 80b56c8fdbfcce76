const mostLines = 20_000
const longestLine = 500
const mostShown = 8
const longestShown = 200
// Fewer common pairs of letters than this are chance.
const leastAlike = 0.4

/** The lines of a text that are most like the ones that were looked for, with their numbers. */
export function nearestLines(text: string, wanted: string): string | undefined {
  const lines = text.split('\n', mostLines)
  const asked = wanted.split('\n')
  const first = asked.findIndex((line) => line.trim() !== '')
  if (first < 0) return undefined
  const key = asked[first] ?? ''
  let [best, likeness] = [-1, leastAlike]
  for (const [at, line] of lines.entries()) {
    // A line that only differs in its spaces may stand in many places: those that follow decide.
    const alike = alikeness(line, key) + 0.1 * followers(lines, at, asked, first)
    if (alike > likeness) [best, likeness] = [at, alike]
  }
  if (best < 0) return undefined
  const from = Math.max(0, best - first)
  return lines
    .slice(from, from + Math.min(asked.length, mostShown))
    .map((line, at) => `${from + at + 1}\t${line.length > longestShown ? `${line.slice(0, longestShown)}…` : line}`)
    .join('\n')
}

function followers(lines: string[], at: number, asked: string[], first: number): number {
  const next = asked.slice(first + 1, first + mostShown)
  return next.filter((line, step) => line.trim() !== '' && lines[at + 1 + step]?.trim() === line.trim()).length
}

/** 1 for the same letters, spaces aside; else the share of pairs of letters that both have. */
function alikeness(a: string, b: string): number {
  const [one, other] = [a, b].map((line) => line.slice(0, longestLine).replace(/\s+/g, ''))
  if (one === other) return 1
  const [pairs, others] = [pairsOf(one ?? ''), pairsOf(other ?? '')]
  if (pairs.size === 0 || others.size === 0) return 0
  const both = [...pairs].filter((pair) => others.has(pair)).length
  return (2 * both) / (pairs.size + others.size)
}

function pairsOf(line: string): Set<string> {
  return new Set(Array.from({ length: Math.max(0, line.length - 1) }, (_, at) => line.slice(at, at + 2)))
}
