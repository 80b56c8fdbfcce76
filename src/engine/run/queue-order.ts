import { lanes, type Run } from '../../domain/run.ts'
import { type QueueFilter, queuedRuns, type RunningRuns } from '../../store/rows/queue.ts'
import type { Reading } from '../../store/store.ts'
import type { Limits } from '../runtime.ts'
import { freeSlots, runningShare } from './lanes.ts'

/** Input of the choice of the next runs, besides the queue. */
interface QueueView {
  limits: Limits
  /** Runs that are running; the claim lock keeps them from becoming more. */
  running: readonly RunningRuns[]
  /** Only work of this session. */
  sessionId?: string | undefined
  /** Max number of runs. */
  max: number
}

/**
 * Chooses the next runs, as if one were claimed after the other; the only place for order and limits. Lanes that are full are
 * skipped. Then the highest priority counts, then the request with the fewest running runs in its lane, then the one that
 * has waited longest. Whoever claims them must hold the claim lock: without it the answer may be out of date.
 */
export async function nextRuns(rows: Reading, view: QueueView): Promise<Run[]> {
  const { limits, sessionId, max } = view
  const chosen: Run[] = []
  let running = view.running
  let page: QueuePage = { runs: [], isWhole: false }
  while (chosen.length < max) {
    const full = lanes.filter((lane) => freeSlots(limits, running, lane) <= 0)
    if (full.length === lanes.length) break
    const filter: QueueFilter = {
      ...(sessionId !== undefined && { sessionId }),
      skipLanes: full,
      // A run that crashed its process may do so again: such runs execute one at a time.
      skipSuspects: running.some(({ suspects }) => suspects > 0),
      skipRuns: chosen,
    }
    if (!page.isWhole && !page.runs.some((run) => fits(run, filter)))
      page = await readQueuePage(rows, filter, max - chosen.length)
    const best = await bestOf(rows, page, filter, running)
    if (!best) break
    chosen.push(best)
    running = withRunning(running, best)
  }
  return chosen
}

/** The first queued runs in their order. */
interface QueuePage {
  runs: Run[]
  /** Whether there are no others. */
  isWhole: boolean
}

async function readQueuePage(rows: Reading, filter: QueueFilter, max: number): Promise<QueuePage> {
  const limit = max + 1
  const runs = await queuedRuns(rows, filter, limit)
  return { runs, isWhole: runs.length < limit }
}

/** Whether a run of a page that was read with a wider filter passes this one. */
function fits({ id, lane, crashes }: Run, { skipLanes, skipSuspects, skipRuns }: QueueFilter): boolean {
  return !skipLanes.includes(lane) && !(skipSuspects && crashes > 0) && !skipRuns.some((chosen) => chosen.id === id)
}

/** Of the runs with the priority of the first one, that of the request with the fewest running runs in its lane. */
async function bestOf(
  rows: Reading,
  { runs, isWhole }: QueuePage,
  filter: QueueFilter,
  running: readonly RunningRuns[],
): Promise<Run | undefined> {
  const fitting = runs.filter((run) => fits(run, filter))
  const [first, ...others] = fitting
  if (!first || runningShare(running, first) === 0) return first
  if (!isWhole) return fairest(rows, first, filter, running)
  return others
    .filter((run) => priorityOf(run) === priorityOf(first))
    .reduce((best, run) => (runningShare(running, run) < runningShare(running, best) ? run : best), first)
}

/** The same, where runs that are not read may be better. */
async function fairest(rows: Reading, first: Run, filter: QueueFilter, running: readonly RunningRuns[]): Promise<Run> {
  const share = runningShare(running, first)
  if (share === 0) return first
  const skipRequests = running.filter(({ count }) => count >= share)
  const [other] = await queuedRuns(rows, { ...filter, priority: priorityOf(first), skipRequests }, 1)
  return other ? fairest(rows, other, filter, running) : first
}

function priorityOf({ options }: Run): number {
  return options.priority ?? 0
}

/** Counts a run that is about to be claimed. */
function withRunning(running: readonly RunningRuns[], { lane, rootRunId, crashes }: Run): RunningRuns[] {
  const isSame = (each: RunningRuns) => each.lane === lane && each.rootRunId === rootRunId
  const { count, suspects } = running.find(isSame) ?? { count: 0, suspects: 0 }
  const counted = { lane, rootRunId, count: count + 1, suspects: suspects + (crashes > 0 ? 1 : 0) }
  return [...running.filter((each) => !isSame(each)), counted]
}
