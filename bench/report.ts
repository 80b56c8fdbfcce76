import { type Figure, shown } from './figures.ts'
import type { Machine } from './machine.ts'

/** All figures as one JSON document, or as a table for people. */
export function report(figures: Figure[], machine: Machine, form: 'json' | 'table'): string {
  if (form === 'json') return `${JSON.stringify({ figures, machine }, null, 2)}\n`
  const width = Math.max(...figures.map(({ name }) => name.length))
  const lines = figures.flatMap(({ name, value, unit, goal, holds, noise, detail }) => [
    [
      name.padEnd(width),
      `${shown(value)}${unit === 'ms' ? ' ms' : ''}`.padStart(9),
      (noise ? `${shown(noise.low)}–${shown(noise.high)}` : '').padEnd(12),
      goal === null ? 'recorded' : `${holds ? 'holds' : 'misses'} (goal ≤ ${goal}${unit === 'ms' ? ' ms' : ''})`,
    ].join('  '),
    `  ${detail}`,
  ])
  return `${[...lines, '', ...describe(machine)].join('\n')}\n`
}

function describe({ noise, commitMs, load, cores, directory, filesystem, node, sqlite }: Machine): string[] {
  return [
    `machine noise: a bare insert against itself ${shown(noise.value)} (middle half ${shown(noise.low)}–${shown(noise.high)})`,
    `a durable commit of one row takes ${shown(commitMs)} ms on ${directory} (${filesystem})`,
    `${cores} cores, load ${shown(load)}, Node ${node}, SQLite ${sqlite}`,
  ]
}
