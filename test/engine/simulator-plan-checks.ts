import type { Selectable } from 'kysely'
import type { Tables } from '../../src/store/tables.ts'

type Row<T extends keyof Tables> = Selectable<Tables[T]>

interface PlanRows {
  projects: Row<'projects'>[]
  tasks: Row<'tasks'>[]
  task_edges: Row<'task_edges'>[]
  runs: Row<'runs'>[]
  agent_results: Row<'agent_results'>[]
}

/** Once all is quiet no plan waits for anybody, and what it says of its tasks is what came of their runs. */
export function plans(rows: PlanRows): string[] {
  return [
    ...rows.projects.filter(({ status }) => status === 'running').map(({ id }) => `plan ${id} is left running`),
    ...rows.projects.filter((plan) => isUntrue(plan, rows)).map(({ id, status }) => `plan ${id} is not ${status}`),
    ...rows.tasks.flatMap((task) => taskProblems(task, rows)),
  ]
}

/** A plan is completed when all of it was done or skipped, and failed when something failed or is held up by what did. */
function isUntrue({ id, status }: Row<'projects'>, { tasks }: PlanRows): boolean {
  const own = tasks.filter(({ project_id, dropped_in }) => project_id === id && dropped_in === null)
  const isUndone = own.some((task) => task.status === 'failed' || task.status === 'blocked')
  const isWhole = own.every((task) => task.status === 'completed' || task.status === 'skipped')
  return (status === 'completed' && !isWhole) || (status === 'failed' && !isUndone)
}

function taskProblems(task: Row<'tasks'>, rows: PlanRows): string[] {
  // Whoever tries a run again, and not its task, changes nothing of the plan.
  const runs = rows.runs.filter(({ task_id, via }) => task_id === task.id && via !== 'retry')
  const own = runs.find(({ id }) => id === task.run_id)
  const isEnded = task.status === 'completed' || task.status === 'failed'
  const state = own?.state === 'timeout' ? 'failed' : own?.state
  const result = rows.agent_results.find(({ id }) => id === task.agent_result_id)
  const needed = rows.task_edges.filter(({ task_id }) => task_id === task.id).map(({ needs_id }) => needs_id)
  const areJobsHeld = rows.tasks.some(
    ({ id, status }) => needed.includes(id) && !['completed', 'skipped'].includes(status),
  )
  return [
    ...(task.status === 'running' ? [`task ${task.id} is left running`] : []),
    ...(runs.length === task.attempts
      ? []
      : [`task ${task.id} was begun ${task.attempts} times by ${runs.length} runs`]),
    ...(isEnded && state !== task.status ? [`task ${task.id} is ${task.status}, and its run ${own?.state}`] : []),
    ...(isEnded && result?.run_id !== task.run_id ? [`task ${task.id} names a result of another run`] : []),
    ...(task.status === 'blocked' && !areJobsHeld ? [`task ${task.id} is blocked by nothing`] : []),
  ]
}
