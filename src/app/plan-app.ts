import type { PlanApp } from '../api/plans.ts'
import type { SubagentApp } from '../api/subagents.ts'
import { resolveTask, viewPlans, viewResults, viewTasks } from '../engine/plans/plan-views.ts'
import { changeTask } from '../engine/plans/steer-plan.ts'
import type { Engine } from '../engine/runtime.ts'
import { viewSubagent, viewSubagents } from '../engine/views/subagents.ts'
import type { Caller } from './guard/caller.ts'

export function planApp(engine: Engine, caller: Caller): PlanApp & SubagentApp {
  const { store, clock, agents } = engine
  return {
    plans: (filter) => store.read((rows) => viewPlans(rows, { ...filter, ...caller.only('plan.list') })),
    tasks: (filter) =>
      store.read((rows) => viewTasks(rows, { agents, now: clock.now() }, { ...filter, ...caller.only('plan.list') })),
    results: (filter) => store.read((rows) => viewResults(rows, { ...filter, ...caller.only('result.list') })),
    subagents: (filter) => store.read((rows) => viewSubagents(rows, { ...filter, ...caller.only('run.list') })),
    subagent: (reference) => store.read((rows) => viewSubagent(rows, reference)),
    changeTask: async (name, change) => changeTask(engine, await store.read((rows) => resolveTask(rows, name)), change),
  }
}
