import type { Millis } from '../../../domain/clock.ts'
import type { Ending, Run } from '../../../domain/run.ts'
import { lateRuns, nextDeadline, nextWake, runsToWake } from '../../../store/rows/queue.ts'
import { requeueRun } from '../../../store/rows/released-runs.ts'
import type { Engine } from '../../runtime.ts'
import { maxPause } from '../think.ts'
import type { DueSource } from './due.ts'
import { batches, endUnowned, lockRunWithSessions } from './recover.ts'

/** What waits for a moment among the runs: deadlines of unclaimed runs, and parked runs that go on by themselves. */
export function timedRuns(engine: Engine): DueSource[] {
  const { store } = engine
  return [
    {
      next: (rows) => nextDeadline(rows),
      async handle(now) {
        const late = await store.read((rows) => lateRuns(rows, now))
        for (const batch of batches(late)) await Promise.all(batch.map((run) => endLate(engine, run, now)))
      },
    },
    {
      next: (rows, now) => nextWake(rows, now, maxPause),
      async handle(now) {
        const parked = await store.read((rows) => runsToWake(rows, now, maxPause))
        for (const batch of batches(parked)) await Promise.all(batch.map((run) => wake(engine, run)))
      },
    },
  ]
}

function wake(engine: Engine, parked: Run): Promise<void> {
  return engine.store.write('recover', async (tx) => {
    const found = await lockRunWithSessions(tx, parked)
    // Answered or put off meanwhile: then its moment is another.
    if (found?.run.state !== 'waiting' || found.run.wakeAt !== parked.wakeAt) return
    await requeueRun(tx, parked.id)
    tx.hint('runs')
  })
}

function endLate(engine: Engine, late: Run, now: Millis): Promise<void> {
  return engine.store.write('recover', async (tx) => {
    const found = await lockRunWithSessions(tx, late)
    if (!found || found.run.workerId !== null || found.run.finishedAt !== null) return
    if ((found.run.options.deadline ?? Number.POSITIVE_INFINITY) > now) return
    await endUnowned(tx, engine, found, lateEnding(found.run))
  })
}

function lateEnding(run: Run): Ending {
  const error = {
    code: 'timeout',
    message: 'its deadline passed before it could finish',
    remedy: `try again: heddle retry run:${run.id}`,
  }
  return { state: 'timeout', text: `Timed out: ${error.message}`, error }
}
