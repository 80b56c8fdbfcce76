import type { Evidence, Row } from '../evidence.ts'
import { callSteps, type Expect, isTerminal, json } from '../facts.ts'

/**
 * I3: a task's status, its result, what it releases and its plan's end commit together. Each task is begun once, and once
 * more for each time that somebody had it tried again, after everything it needs. What a plan says of itself and of its
 * tasks is what came of their runs, and its end is told once.
 */
export function checkPlans(evidence: Evidence, expect: Expect): void {
  const { rows } = evidence
  for (const task of rows.tasks) checkTask(evidence, task, expect)
  for (const plan of rows.projects) {
    const name = `plan ${plan['id']}`
    const tasks = rows.tasks.filter(({ project_id }) => project_id === plan['id'])
    const isDone = tasks.every(({ status }) => status === 'completed')
    expect(plan['status'] === (isDone ? 'completed' : 'failed'), 'I3', `${name} is ${plan['status']}`)
    expect(tasks.length > 0, 'I3', `${name} has no tasks`)
    const ends = rows.inbox.filter(({ payload_json }) => String(payload_json).includes(`"plan:${plan['id']} `))
    const ended = endingsOf(rows, plan)
    expect(ends.length === ended, 'I4', `${name} ended ${ended} times, and was told to ${ends.length} times`)
    for (const { consumed_by_turn, session_id } of ends) {
      expect(consumed_by_turn !== null, 'I4', `the end of ${name} was never heard`)
      expect(session_id === plan['session_id'], 'I4', `the end of ${name} was told somebody else`)
    }
  }
}

/** A plan that had stopped goes on when a task is tried again, and ends again. */
function endingsOf({ events }: Evidence['rows'], { id }: Row): number {
  const told = events.filter(({ kind, subject }) => kind === 'plan.changed' && subject === `plan:${id}`)
  return told.filter((event) => ['completed', 'failed'].includes(json(event, 'payload_json').status)).length
}

function checkTask(evidence: Evidence, task: Row, expect: Expect): void {
  const { rows } = evidence
  const name = `task ${task['id']}`
  const runs = rows.runs.filter(({ task_id }) => task_id === task['id'])
  expect(
    runs.length === task['attempts'],
    'I3',
    `${name} was begun ${task['attempts']} times, with ${runs.length} runs`,
  )
  const needed = rows.task_edges.filter(({ task_id }) => task_id === task['id']).map(({ needs_id }) => needs_id)
  const run = runs.at(-1)
  if (!run) {
    const areJobsHeld = rows.tasks.some(({ id, status }) => needed.includes(id ?? null) && status !== 'completed')
    expect(task['status'] === 'blocked' && areJobsHeld, 'I3', `${name} is ${task['status']}, and was never begun`)
    return
  }
  const tries = 1 + retriesOf(evidence, task)
  expect(runs.length === tries, 'I3', `${name} was begun ${runs.length} times, and wanted ${tries} times`)
  for (const { id, state } of runs)
    expect(isTerminal({ state: state ?? null }), 'I6', `run ${id} of ${name} is left ${state}`)
  const status = run['state'] === 'timeout' ? 'failed' : run['state']
  expect(task['status'] === status, 'I3', `${name} is ${task['status']}, and its run ${run['state']}`)
  const result = rows.agent_results.find(({ id }) => id === task['agent_result_id'])
  const isOwn = result?.['run_id'] === run['id'] && result?.['task_id'] === task['id']
  expect(isOwn, 'I3', `${name} names a result that is not its own`)
  for (const needs of needed) {
    const before = rows.runs.findLast(({ task_id }) => task_id === needs)
    const isAfter = Number(before?.['finished_at'] ?? Number.NaN) <= Number(runs[0]?.['created_at'])
    expect(isAfter, 'I3', `${name} began before task ${needs}, which it needs, had ended`)
  }
}

/** How often a coordinator had it tried again, and was told that it is. */
function retriesOf(evidence: Evidence, { id }: Row): number {
  const asked = callSteps(evidence, 'begun').filter(({ name }) => name === 'task_update')
  const wanted = asked.filter(({ input }) => input.id === id && input.action === 'retry')
  const ended = callSteps(evidence, 'ended')
  return wanted.filter((call) =>
    ended.some((end) => end.runId === call.runId && end.id === call.id && end.status === 'ok'),
  ).length
}
