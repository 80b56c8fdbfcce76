import { availableParallelism, loadavg } from 'node:os'
import { measurePairs, median, quantile, rounded } from './figures.ts'
import { openFloor } from './floor.ts'
import type { Scratch } from './scratch.ts'

/** What the figures were measured on, and how far it disagrees with itself. */
export interface Machine {
  /** The ratio of one thing to itself, measured like every figure: 1 and narrow on a quiet machine. */
  noise: { value: number; low: number; high: number }
  commitMs: number
  cores: number
  load: number
  directory: string
  filesystem: string
  node: string
  sqlite: string
}

const json = JSON.stringify('x'.repeat(3400))

export async function measureMachine(scratch: Scratch): Promise<Machine> {
  scratch.say('the machine against itself')
  const floors = [openFloor(scratch, 'noise-a'), openFloor(scratch, 'noise-b')] as const
  const { ours, floor } = await measurePairs(
    {
      ours: (round) => floors[0].insert(`key-${round}`, null, json),
      floor: (round) => floors[1].insert(`key-${round}`, null, json),
    },
    { pairs: 600, warmUp: 400 },
  )
  for (const each of floors) each.close()
  const ratios = ours.map((time, pair) => time / (floor[pair] ?? Number.NaN))
  return {
    noise: {
      value: rounded(median(ratios)),
      low: rounded(quantile(ratios, 0.25)),
      high: rounded(quantile(ratios, 0.75)),
    },
    commitMs: rounded(median([...ours, ...floor])),
    cores: availableParallelism(),
    load: rounded(loadavg()[0] ?? 0),
    directory: scratch.directory,
    filesystem: scratch.filesystem,
    node: process.versions.node,
    sqlite: process.versions['sqlite'] ?? 'unknown',
  }
}
