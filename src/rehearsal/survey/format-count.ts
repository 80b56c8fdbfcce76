import { countNoun, pluralOf } from '../../domain/text/count-noun.ts'

/** Marker of open work, counted in every survey. */
export const todoMarker = 'TODO'

/** A count with its noun, or that it was not counted. */
export function formatCount(value: number | undefined, noun: string): string {
  if (noun === todoMarker) return value === undefined ? `${noun} not counted` : `${value} ${noun}`
  return value === undefined ? `${pluralOf(noun)} not counted` : countNoun(value, noun)
}
