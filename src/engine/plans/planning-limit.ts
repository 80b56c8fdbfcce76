import { countPlannings } from '../../store/rows/plans.ts'
import type { Reading } from '../../store/store.ts'

/** Max plans of a request, with versions of them that were tried and replaced: models must not fail and replan without end. */
const maxPlannings = 10

/** Why a request cannot be planned again, and what to do instead; undefined if it can. */
export async function planningLimit(
  rows: Reading,
  rootRunId: string,
): Promise<{ error: string; remedy: string } | undefined> {
  const count = await countPlannings(rows, rootRunId)
  if (count < maxPlannings) return undefined
  return {
    error: `this request was planned ${count} times, which is the limit`,
    remedy: 'do not plan again: tell the user what was tried and what failed',
  }
}
