import type { Evidence, Row } from '../evidence.ts'
import { type Expect, isTerminal } from '../facts.ts'

/**
 * I3: a task's status, its result, what it releases and its plan's end commit together. Each task that was planned is
 * begun once, after everything it needs, and the end of its plan is told once.
 */
export function checkPlans({ rows }: Evidence, expect: Expect): void {
  for (const task of rows.tasks) checkTask(rows, task, expect)
  for (const plan of rows.projects) {
    const name = `plan ${plan['id']}`
    const tasks = rows.tasks.filter(({ project_id }) => project_id === plan['id'])
    expect(plan['status'] === 'completed', 'I3', `${name} is ${plan['status']}`)
    expect(tasks.length > 0, 'I3', `${name} has no tasks`)
    const ends = rows.inbox.filter(({ payload_json }) => String(payload_json).includes(`"plan:${plan['id']} `))
    expect(ends.length === 1, 'I4', `the end of ${name} was told ${ends.length} times`)
    for (const { consumed_by_turn, session_id } of ends) {
      expect(consumed_by_turn !== null, 'I4', `the end of ${name} was never heard`)
      expect(session_id === plan['session_id'], 'I4', `the end of ${name} was told somebody else`)
    }
  }
}

function checkTask(rows: Evidence['rows'], task: Row, expect: Expect): void {
  const name = `task ${task['id']}`
  const runs = rows.runs.filter(({ task_id }) => task_id === task['id'])
  expect(runs.length === 1, 'I3', `${name} has ${runs.length} runs`)
  expect(task['status'] === 'completed' && task['attempts'] === 1, 'I3', `${name} is ${task['status']}`)
  const [run] = runs
  if (!run) return
  expect(isTerminal(run), 'I6', `the run of ${name} is left ${run['state']}`)
  const result = rows.agent_results.find(({ id }) => id === task['agent_result_id'])
  const isOwn = result?.['run_id'] === run['id'] && result?.['task_id'] === task['id']
  expect(isOwn, 'I3', `${name} names a result that is not its own`)
  for (const { needs_id } of rows.task_edges.filter(({ task_id }) => task_id === task['id'])) {
    const before = rows.runs.find(({ task_id }) => task_id === needs_id)
    const isAfter = Number(before?.['finished_at'] ?? Number.NaN) <= Number(run['created_at'])
    expect(isAfter, 'I3', `${name} began before task ${needs_id}, which it needs, had ended`)
  }
}
