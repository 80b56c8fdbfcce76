import type { Lane, Run } from '../../domain/run.ts'
import type { RunningRuns } from '../../store/rows/queue.ts'
import type { Limits } from '../runtime.ts'

type LaneLimits = Pick<Limits, 'maxRunning' | 'lanes'>

/** Free slots of a lane. Background runs take no slot from others. */
export function freeSlots({ maxRunning, lanes }: LaneLimits, running: readonly RunningRuns[], lane: Lane): number {
  const free = lanes[lane] - sum(running.filter((each) => each.lane === lane))
  return lane === 'background' ? free : Math.min(free, maxRunning - foreground(running))
}

/** Running runs of the same request in the same lane. */
export function runningShare(running: readonly RunningRuns[], { lane, rootRunId }: Run): number {
  return sum(running.filter((each) => each.lane === lane && each.rootRunId === rootRunId))
}

function foreground(running: readonly RunningRuns[]): number {
  return sum(running.filter(({ lane }) => lane !== 'background'))
}

function sum(running: readonly RunningRuns[]): number {
  return running.reduce((total, { count }) => total + count, 0)
}
