/** The candidate that a mistyped word most likely meant; undefined when none is close enough. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const typed = word.toLowerCase()
  // A guess that changes more than a third of a word is noise.
  const limit = Math.max(1, Math.floor(typed.length / 3))
  let best: string | undefined
  let bestEdits = limit + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - typed.length) >= bestEdits) continue
    const edits = editDistance(typed, candidate.toLowerCase())
    if (edits < bestEdits) {
      best = candidate
      bestEdits = edits
    }
  }
  return best
}

/** Damerau-Levenshtein distance: letters to add, drop, change or swap with their neighbour. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      let edits = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (swapped) edits = Math.min(edits, at(beforeLast, column - 2) + 1)
      current.push(edits)
    }
    beforeLast = last
    last = current
  }
  return at(last, to.length)
}

function at(row: number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
