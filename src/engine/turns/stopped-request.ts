import type { Run } from '../../domain/run.ts'
import { runsOf } from '../../store/rows/runs.ts'
import type { Reading } from '../../store/store.ts'

/** A request that a user stopped after its own run had ended: why, and the runs that did not finish. */
interface StoppedRequest {
  reason: string
  unfinished: Run[]
}

/** Why a request was stopped, by its first run; undefined if it was not, or if there was nothing left to stop. */
export async function stoppedRequest(
  rows: Reading,
  { id, cancelReason }: Pick<Run, 'id' | 'cancelReason'>,
): Promise<StoppedRequest | undefined> {
  if (cancelReason === null) return undefined
  const others = (await runsOf(rows, { rootRunId: id })).filter((run) => run.id !== id)
  // A cancel that came too late: the run completed, and there was nothing else to stop.
  if (others.length === 0) return undefined
  return { reason: cancelReason, unfinished: others.filter(({ state }) => state === 'cancelled') }
}
