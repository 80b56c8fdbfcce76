import { performance } from 'node:perf_hooks'

/** Which side of a number is good; without one the number is only recorded. */
export type Goal = { atMost: number } | { atLeast: number } | null

/** One measured number, or none where it could not be measured here: the detail then says why. */
export interface Figure {
  name: string
  value: number | null
  unit: 'ratio' | 'ms' | 'MB' | 'tokens' | 'fps'
  goal: Goal
  holds: boolean | null
  /** The middle half of the single measurements lies between these. */
  noise: { low: number; high: number } | null
  /** What was compared, with the medians of both sides. */
  detail: string
}

/** The times of two things measured alternately, in milliseconds. */
export interface Pairs {
  ours: number[]
  floor: number[]
}

type Timed = (round: number) => unknown

/**
 * Measures two things alternately, so that whatever else the machine does hits both, and each goes first every other
 * time. Each starts from a fresh turn of the event loop, as a request would.
 */
export async function measurePairs(
  { ours, floor }: { ours: Timed; floor: Timed },
  { pairs, warmUp }: { pairs: number; warmUp: number },
): Promise<Pairs> {
  const found: Pairs = { ours: [], floor: [] }
  for (let round = 0; round < warmUp + pairs; round++) {
    const order = round % 2 === 0 ? (['ours', 'floor'] as const) : (['floor', 'ours'] as const)
    for (const side of order) {
      const time = await measure(side === 'ours' ? ours : floor, round)
      if (round >= warmUp) found[side].push(time)
    }
  }
  return found
}

/** The time of one call, from a fresh turn of the event loop. */
export async function measure(call: Timed, round = 0): Promise<number> {
  await new Promise(setImmediate)
  const started = performance.now()
  await call(round)
  return performance.now() - started
}

/** The median of the pairs' ratios. */
export function ratio(name: string, goal: Goal, pairs: Pairs, sides: [ours: string, floor: string], more = ''): Figure {
  const ratios = pairs.ours.map((time, pair) => time / (pairs.floor[pair] ?? Number.NaN))
  const [ours, floor] = [shown(median(pairs.ours)), shown(median(pairs.floor))]
  const detail = `${sides[0]} ${ours} ms / ${sides[1]} ${floor} ms, ${ratios.length} pairs${more && `; ${more}`}`
  return figure(name, 'ratio', goal, ratios, detail)
}

/** The median of single measurements. */
export function figure(name: string, unit: Figure['unit'], goal: Goal, measured: number[], detail: string): Figure {
  const value = rounded(median(measured))
  const noise =
    measured.length > 1 ? { low: rounded(quantile(measured, 0.25)), high: rounded(quantile(measured, 0.75)) } : null
  return { name, value, unit, goal, holds: holds(value, goal), noise, detail }
}

/** What so many of the single measurements stay below. */
export function quantileFigure(
  name: string,
  unit: Figure['unit'],
  goal: Goal,
  measured: number[],
  part: number,
  detail: string,
): Figure {
  const value = rounded(quantile(measured, part))
  return {
    ...figure(name, unit, goal, measured, `${detail}; median ${shown(median(measured))} ${unit}`),
    value,
    holds: holds(value, goal),
  }
}

/** A figure that could not be measured here. */
export function missing(name: string, unit: Figure['unit'], goal: Goal, why: string): Figure {
  return { name, value: null, unit, goal, holds: null, noise: null, detail: why }
}

function holds(value: number, goal: Goal): boolean | null {
  if (goal === null) return null
  return 'atMost' in goal ? value <= goal.atMost : value >= goal.atLeast
}

export function median(values: number[]): number {
  return quantile(values, 0.5)
}

export function quantile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * part
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}

/** Without digits that only noise has written. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4))
}

/** A number as people read it: three digits that matter. */
export function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(value < 1 ? 3 : 2)
}
