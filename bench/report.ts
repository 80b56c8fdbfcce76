import { type Figure, type Goal, shown } from './figures.ts'
import type { Machine } from './machine.ts'

/** All figures as one JSON document, or as a table for people. */
export function report(figures: Figure[], machine: Machine, form: 'json' | 'table'): string {
  if (form === 'json') return `${JSON.stringify({ figures, machine }, null, 2)}\n`
  const width = Math.max(...figures.map(({ name }) => name.length))
  const lines = figures.flatMap((figure) => [
    [
      figure.name.padEnd(width),
      (figure.value === null ? '–' : `${shown(figure.value)}${suffix(figure)}`).padStart(9),
      (figure.noise ? `${shown(figure.noise.low)}–${shown(figure.noise.high)}` : '').padEnd(12),
      judged(figure),
    ].join('  '),
    `  ${figure.detail}`,
  ])
  return `${[...lines, '', ...describe(machine)].join('\n')}\n`
}

function judged(figure: Figure): string {
  const wanted = figure.goal && ` (goal ${asked(figure.goal)}${suffix(figure)})`
  if (figure.value === null) return `missing${wanted ?? ''}`
  return wanted === null ? 'recorded' : `${figure.holds ? 'holds' : 'misses'}${wanted}`
}

function asked(goal: NonNullable<Goal>): string {
  return 'atMost' in goal ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`
}

function suffix({ unit }: Figure): string {
  return unit === 'ratio' ? '' : ` ${unit}`
}

function describe({ noise, commitMs, load, cores, directory, filesystem, node, sqlite }: Machine): string[] {
  return [
    `machine noise: a bare insert against itself ${shown(noise.value)} (middle half ${shown(noise.low)}–${shown(noise.high)})`,
    `a durable commit of one row takes ${shown(commitMs)} ms on ${directory} (${filesystem})`,
    `${cores} cores, load ${shown(load)}, Node ${node}, SQLite ${sqlite}`,
  ]
}
