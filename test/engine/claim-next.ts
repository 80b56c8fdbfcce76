import { claimRuns } from '../../src/engine/run/claim.ts'
import type { Claimant, ClaimedRun } from '../../src/engine/run/claimed-run.ts'
import type { Engine } from '../../src/engine/runtime.ts'

/** Claims one run, the next; undefined if none is claimable. */
export async function claimNext(engine: Engine, claimant: Claimant): Promise<ClaimedRun | undefined> {
  const [claimed] = await claimRuns(engine, claimant, 1)
  return claimed
}
