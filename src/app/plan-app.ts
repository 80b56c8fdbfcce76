import type { PlanApp } from '../api/plans.ts'
import { resolveTask, viewPlans, viewResults, viewTasks } from '../engine/plans/plan-views.ts'
import { changeTask } from '../engine/plans/steer-plan.ts'
import type { Engine } from '../engine/runtime.ts'
import type { Caller } from './caller.ts'

export function planApp(engine: Engine, caller: Caller): PlanApp {
  const { store, clock, agents } = engine
  return {
    plans: (filter) => store.read((rows) => viewPlans(rows, { ...filter, ...caller.only('plan.list') })),
    tasks: (filter) =>
      store.read((rows) => viewTasks(rows, { agents, now: clock.now() }, { ...filter, ...caller.only('plan.list') })),
    results: (filter) => store.read((rows) => viewResults(rows, { ...filter, ...caller.only('result.list') })),
    changeTask: async (name, change) => changeTask(engine, await store.read((rows) => resolveTask(rows, name)), change),
  }
}
