import type { Passes } from './said.ts'

/** `any#n`: the n-th place that is passed, whichever it is. What a process does by the clock alone is none. */
export const anyPlace = 'any'

/** Every place that was passed, as `point#n`. */
export function placesOf(passes: Passes): string[] {
  return Object.entries(passes).flatMap(([point, count]) =>
    Array.from({ length: count }, (_, at) => `${point}#${at + 1}`),
  )
}

/** So many of a list, evenly from its beginning to its end. */
export function spread<T>(all: T[], most: number): T[] {
  if (all.length <= most) return all
  return Array.from({ length: most }, (_, at) => all[Math.floor((at * all.length) / most)] as T)
}

/** The same list, with the first of each kind before all others: however few are taken, no kind is left out. */
export function oneOfEachFirst<T>(all: T[], kindOf: (one: T) => string): T[] {
  const firsts = new Map(all.toReversed().map((one) => [kindOf(one), one]))
  const isFirst = (one: T) => firsts.get(kindOf(one)) === one
  return [...all.filter(isFirst), ...all.filter((one) => !isFirst(one))]
}

/** The same list in an order that has little to do with its own, and is always the same: slow ones do not come together. */
export function mixed<T>(all: T[]): T[] {
  const steps = Math.max(1, Math.round(all.length * 0.618))
  const coprime = Array.from({ length: all.length }, (_, more) => steps + more).find(
    (step) => gcd(step, all.length) === 1,
  )
  return all.map((_, at) => all[(at * (coprime ?? 1)) % all.length] as T)
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}
