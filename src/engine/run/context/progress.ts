import { readSteps } from '../../../store/rows/steps.ts'
import { callSumsOfRun } from '../../../store/rows/usage.ts'
import type { Engine } from '../../runtime.ts'
import type { ClaimedRun } from '../claimed-run.ts'

/** The steps that earlier claims of a run have journalled, and the number of its last model call. */
export async function readProgress({ store }: Engine, { run, reserved = 0 }: ClaimedRun) {
  // The first claim finds nothing but what it has reserved.
  if (run.epoch === 1) return { steps: [], calls: reserved, costs: [] }
  return store.read(async (rows) => {
    const [steps, { last, sums }] = await Promise.all([readSteps(rows, run.id), callSumsOfRun(rows, run.id)])
    return { steps, calls: last, costs: sums }
  })
}
