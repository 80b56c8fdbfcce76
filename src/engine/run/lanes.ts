import { type Lane, lanes, type Run } from '../../domain/run.ts'
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

/**
 * How many claims are worth a try at once, given the lanes of the first queued runs. At least one unless all lanes are
 * full: runs further down the queue may be of another lane.
 */
export function countClaimable(limits: LaneLimits, running: readonly RunningRuns[], queued: readonly Lane[]): number {
  const claimable = (lane: Lane) =>
    Math.max(0, Math.min(freeSlots(limits, running, lane), queued.filter((each) => each === lane).length))
  const front = lanes.filter((lane) => lane !== 'background').reduce((count, lane) => count + claimable(lane), 0)
  const count = Math.max(0, Math.min(front, limits.maxRunning - foreground(running))) + claimable('background')
  const isFull = lanes.every((lane) => freeSlots(limits, running, lane) <= 0)
  return isFull ? 0 : Math.max(1, count)
}

function foreground(running: readonly RunningRuns[]): number {
  return sum(running.filter(({ lane }) => lane !== 'background'))
}

function sum(running: readonly RunningRuns[]): number {
  return running.reduce((total, { count }) => total + count, 0)
}
