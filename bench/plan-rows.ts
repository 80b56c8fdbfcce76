import { homePaths } from '../src/home/home.ts'
import { openStore } from '../src/store/open.ts'
import { insertPlan } from '../src/store/rows/plans.ts'
import { findRun } from '../src/store/rows/runs.ts'
import { insertTask, setEdges } from '../src/store/rows/tasks.ts'
import { systemClock as clock, systemRandom as random } from '../src/system.ts'
import { briefOf, type ScriptedTask } from './plans-script.ts'

/** Puts a plan into the rows by the same statements as the planner's tool, which refuses one as large as this. */
export async function insertPlanRows(home: string, runId: string, tasks: ScriptedTask[]): Promise<number> {
  const file = homePaths(home).database
  const store = await openStore({ kind: 'sqlite', file, durability: 'full' }, { clock, random, crash: () => undefined })
  const createdAt = clock.now()
  const planId = await store.write('step', async (tx) => {
    const run = await findRun(tx, runId)
    if (!run?.sessionId) throw new Error(`no run ${runId}`)
    const planId = await insertPlan(tx, {
      title: 'Large',
      goal: null,
      sessionId: run.sessionId,
      rootRunId: run.rootRunId,
      plannedBy: runId,
      createdAt,
    })
    const ids = new Map<string, number>()
    for (const { key, title, needs } of tasks) {
      const task = {
        planId,
        key,
        title,
        context: briefOf(title),
        skill: 'researcher',
        priority: 0,
        revision: 1,
        createdAt,
      }
      const id = await insertTask(tx, task)
      ids.set(key, id)
      if (needs.length > 0)
        await setEdges(
          tx,
          id,
          needs.flatMap((needed) => ids.get(needed) ?? []),
        )
    }
    return planId
  })
  await store.close()
  return planId
}
