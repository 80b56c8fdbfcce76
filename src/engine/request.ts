import type { Run } from '../domain/run.ts'
import type { PlacedTurn, Usage } from '../domain/turn.ts'
import { findItem, turnsOfRequest, unansweredOf } from '../store/inbox.ts'
import { findRun, runsOf } from '../store/runs.ts'
import type { Reading } from '../store/store.ts'
import { findTurn } from '../store/threads.ts'
import { spentBy } from '../store/usage.ts'
import type { World } from './world.ts'

const sweepEvery = 1000

/** An input and everything it caused, once nothing of it is left to do. */
export interface Request {
  run: Run
  /** The last turn: the answer. */
  answer: PlacedTurn
  /** All turns, oldest first. */
  turnIds: string[]
  usage: Usage
}

/** Resolves when the request of an input is quiet: each of its runs has ended. Undefined when the signal comes first. */
export async function whenQuiet(world: World, itemId: string, signal: AbortSignal): Promise<Request | undefined> {
  while (!signal.aborted) {
    const changed = new AbortController()
    // Listening begins before the look, so that no change falls between them.
    const stop = world.store.onHint(() => changed.abort())
    try {
      const quiet = await world.store.read((rows) => lookUp(rows, itemId))
      if (quiet) return quiet
      await world.clock.sleep(sweepEvery, AbortSignal.any([changed.signal, signal]))
    } finally {
      stop()
    }
  }
  return undefined
}

async function lookUp(rows: Reading, itemId: string): Promise<Request | undefined> {
  const item = await findItem(rows, itemId)
  if (!item?.consumedByTurn || item.runId === null) return undefined
  const run = await findRun(rows, item.runId)
  if (!run) return undefined
  const runs = await runsOf(rows, { rootRunId: run.rootRunId })
  if (runs.some(({ finishedAt }) => finishedAt === null)) return undefined
  if ((await unansweredOf(rows, run.rootRunId)).length > 0) return undefined
  const turnIds = await turnsOfRequest(rows, run)
  const answer = await findTurn(rows, turnIds.at(-1) ?? item.consumedByTurn)
  return answer && { run, answer, turnIds, usage: await spentBy(rows, { rootRunId: run.rootRunId }) }
}
