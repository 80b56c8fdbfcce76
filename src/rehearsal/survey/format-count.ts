/** Marker of open work, counted in every survey. */
export const todoMarker = 'TODO'

/** A count with its noun, or that it was not counted. */
export function formatCount(value: number | undefined, noun: string): string {
  if (value === undefined) return `${plural(noun)} not counted`
  return `${value} ${value === 1 ? noun : plural(noun)}`
}

function plural(noun: string): string {
  if (noun === todoMarker) return noun
  return noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`
}
