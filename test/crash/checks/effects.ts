import type { Evidence } from '../evidence.ts'
import { callSteps, type Expect, eventsOf, json, requestsIn } from '../facts.ts'

/** I9: effects happen as their class promises, and what nobody knows is told. */
export function checkEffects(evidence: Evidence, expect: Expect): void {
  const { tools } = evidence
  const begun = callSteps(evidence, 'begun')
  const ended = callSteps(evidence, 'ended')
  for (const { runId, id, name, effect } of begun) {
    const call = `${name} ${runId}/${id}`
    const { status, output } = ended.find((end) => end.runId === runId && end.id === id) ?? {}
    const times = tools.filter((line) => line.runId === runId && line.callId === id).length
    if (effect === 'unsafe') {
      expect(times <= 1, 'I9', `${call} happened ${times} times`)
      if (status === 'unknown') checkUnknownIsTold(evidence, runId, id, expect)
    }
    if (isLogged(name) && status === 'ok') expect(times > 0, 'I9', `${call} ended well and never happened`)
    // Waiting writes nothing: it ends a turn. What a decision about a task wrote is judged with its plan.
    if (effect === 'transactional' && name !== 'wait' && name !== 'task_update') {
      const written = rowsWrittenBy(evidence, name, runId, id, output)
      expect(written === (status === 'ok' ? 1 : 0), 'I9', `${call} is ${status} and wrote ${written} rows`)
    }
  }
  for (const { run_id, call_id, answer, answered_at } of evidence.rows.approvals) {
    const asked = evidence.rows.approvals.filter((row) => row['run_id'] === run_id && row['call_id'] === call_id)
    expect(asked.length === 1, 'I9', `call ${run_id}/${call_id} was asked for ${asked.length} times`)
    const isMade = begun.some((step) => step.runId === run_id && step.id === call_id)
    expect(
      !isMade || (answer === 'once' && answered_at !== null),
      'I9',
      `call ${run_id}/${call_id} was made without a yes`,
    )
  }
  for (const { name, runId, callId } of tools) {
    const isBegun = begun.some((step) => step.runId === runId && step.id === callId)
    expect(isBegun, 'I9', `${name} ${runId}/${callId} happened before it was journalled`)
  }
}

/** Whether a tool is one of those that note what they did outside the database. */
function isLogged(tool: string): boolean {
  return ['look', 'put', 'push', 'stall'].includes(tool)
}

/** What a call left: each tool of the runtime's own has rows that nobody else writes. */
function rowsWrittenBy(evidence: Evidence, tool: string, run: string, call: string, output: unknown): number {
  const { projects } = evidence.rows
  if (tool === 'plan_tasks') return projects.filter(({ planned_by }) => planned_by === run).length
  if (tool === 'run_project') {
    // Whoever has a task tried again goes on with the plan in its own name.
    const { project_id } = (output ?? {}) as { project_id?: number }
    return projects.filter(
      ({ id, started_by, status }) => started_by === run || (id === project_id && status !== 'proposed'),
    ).length
  }
  if (tool !== 'sessions_spawn' && tool !== 'spawn_agent')
    return eventsOf(evidence, run).filter((event) => json(event, 'payload_json').note === call).length
  const begun = evidence.rows.runs.filter((each) => each['parent_run_id'] === run && each['tool_call_id'] === call)
  return new Set(begun.map(({ session_id }) => session_id)).size
}

function checkUnknownIsTold(evidence: Evidence, run: string, call: string, expect: Expect): void {
  const answers = requestsIn(evidence)
    .filter(({ runId }) => runId === run)
    .flatMap(({ body }) => body?.messages.filter((message) => message.tool_call_id === call) ?? [])
  const isCompleted = evidence.rows.runs.some(({ id, state }) => id === run && state === 'completed')
  expect(!isCompleted || answers.length > 0, 'I9', `call ${run}/${call}: nobody was told that it is unknown`)
  const areHonest = answers.every(({ content }) => JSON.stringify(content).includes('unknown'))
  expect(areHonest, 'I9', `call ${run}/${call} is unknown, and the model was told otherwise`)
}
