import { createHash } from 'node:crypto'
import type { Plan, Task } from '../../domain/plan.ts'
import type { Run } from '../../domain/run.ts'
import { escapeInvisible } from '../../domain/text/visible.ts'
import type { Preview } from '../../domain/tools/tool.ts'
import { approvalsOf, openApprovals, reviseApproval } from '../../store/rows/approvals.ts'
import { findRun, lockRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { tasksOf } from '../../store/rows/tasks.ts'
import { spendingBy } from '../../store/rows/usage.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { chooseModel } from '../model/choose-model.ts'
import { tokensOfText } from '../model/weight.ts'
import { recordAnswer } from '../run/approvals/decide.ts'
import { hashOfCall } from '../run/approvals/frozen-call.ts'
import type { Engine } from '../runtime.ts'
import { targetWarnings } from './shared-targets.ts'

export const gateTool = 'run_project'

/** When a plan needs approval before it starts: `ask` if a user watches, `always`, or never (`auto`). */
export interface GateSettings {
  plans: 'ask' | 'auto' | 'always'
}

/** Min prompt tokens of an agent besides its brief. */
const minPromptTokens = 400

/** Why this run needs approval to start a plan; undefined if it needs none. */
export async function gateReason(engine: Engine, { plans }: GateSettings, runId: string): Promise<string | undefined> {
  if (plans === 'auto') return undefined
  if (plans === 'always') return 'every plan asks first (plans: always)'
  const run = await engine.store.read((rows) => findRun(rows, runId))
  return run?.options.attended ? 'a plan made in a chat asks first (plans: ask)' : undefined
}

/** Preview of a plan for its approval, with a fingerprint of everything in it. */
export async function planPreview(rows: Reading, engine: Engine, plan: Plan, rootRunId: string): Promise<Preview> {
  const tasks = await tasksOf(rows, plan.id)
  const [home] = await findSessions(rows, { id: plan.sessionId })
  const folder = home?.folder ?? ''
  const numbers = new Map(tasks.map(({ id }, at) => [id, at + 1]))
  const spent = await spendingBy(rows, { rootRunId })
  const { usd } = engine.limits.perRequest
  const listed = tasks.map((task) => taskLine(engine, task, numbers, folder))
  const warnings = targetWarnings(tasks, engine.agents, folder)
  const facts = [
    { name: 'plan', value: `${plan.id}, ${tasks.length} tasks, at most ${engine.limits.lanes.agents} at a time` },
    { name: 'costs', value: costLine(engine, tasks, folder) },
    {
      name: 'spent',
      value: `$${(spent.costUsd + spent.estimatedUsd).toFixed(2)} of at most $${usd.toFixed(2)} for this request`,
    },
    ...warnings.map((value) => ({ name: 'files', value })),
  ]
  return { facts, change: escapeInvisible([plan.title, ...listed].join('\n')), frozen: frozenPlan(plan, tasks, listed) }
}

/** Whether a plan is unchanged since the call that starts it was approved. The plan's session must be locked. */
export async function matchesApproval(
  rows: Reading,
  engine: Engine,
  plan: Plan,
  { run, callId, folder }: { run: Run; callId: string; folder: string },
): Promise<boolean> {
  const approval = (await approvalsOf(rows, run.id)).find((each) => each.callId === callId)
  if (!approval) return true
  const { frozen } = await planPreview(rows, engine, plan, run.rootRunId)
  const call = { name: gateTool, input: approval.input }
  return hashOfCall(call, folder, frozen, approval) === approval.hash
}

/** Updates a plan's open approval after the plan changed: the answer must be about what is shown. */
export async function refreshQuestion(tx: Tx, engine: Engine, plan: Plan): Promise<void> {
  for (const approval of await openApprovals(tx)) {
    const { project_id } = (approval.input ?? {}) as { project_id?: unknown }
    if (approval.tool !== gateTool || project_id !== plan.id) continue
    const run = await findRun(tx, approval.runId)
    const [session] = await findSessions(tx, { id: run?.sessionId ?? '' })
    const { facts, change, frozen } = await planPreview(tx, engine, plan, run?.rootRunId ?? plan.rootRunId)
    const call = { name: gateTool, input: approval.input }
    const hash = hashOfCall(call, session?.folder ?? '', frozen, approval)
    await reviseApproval(tx, approval.id, { facts, change, hash })
  }
}

/** Answers a cancelled plan's open approval with no. The plan's session must be locked. */
export async function withdrawQuestion(tx: Tx, engine: Engine, planId: number, reason: string): Promise<void> {
  for (const { id, tool, input, runId } of await openApprovals(tx)) {
    const { project_id } = (input ?? {}) as { project_id?: unknown }
    if (tool !== gateTool || project_id !== planId) continue
    const run = await lockRun(tx, runId)
    if (run?.finishedAt === null)
      await recordAnswer(tx, engine, { id, run, by: run.principal }, { answer: 'no', reason })
    tx.hint('runs')
  }
}

function taskLine({ agents }: Engine, task: Task, numbers: Map<number, number>, folder: string): string {
  const agent = agents.find(task.skill, folder)
  const writeTools = (agent?.tools ?? []).filter((tool) => ['write_file', 'edit_file', 'exec'].includes(tool))
  const after = task.dependsOn.map((id) => numbers.get(id)).join(', ')
  const state = task.status === 'pending' ? '' : `  [${task.status}]`
  return [
    `  ${numbers.get(task.id)}  ${task.title}  @${task.skill}`,
    agent?.model ? ` on ${agent.model}` : '',
    writeTools.length > 0 ? `  can ${writeTools.join(', ')}` : '',
    after === '' ? '' : `  after ${after}`,
    state,
  ].join('')
}

/** Lower bound of the cost: each agent reads its prompt once. Their work comes on top. */
function costLine(engine: Engine, tasks: Task[], folder: string): string {
  let [tokens, usd] = [0, 0]
  for (const { skill, context, status } of tasks) {
    if (status === 'completed' || status === 'skipped') continue
    const agent = engine.agents.find(skill, folder)
    const promptTokens = minPromptTokens + (agent?.promptTokens ?? 0) + tokensOfText(context)
    tokens += promptTokens
    usd += (promptTokens * priceOf(engine, agent?.model ?? null)) / 1_000_000
  }
  return `at least ${Math.ceil(tokens / 1000)}k tokens to read, from $${usd.toFixed(2)}`
}

function priceOf(engine: Engine, model: string | null): number {
  try {
    const { name } = chooseModel(engine, { requested: model, allow: { owner: engine.policy.models } })
    return name === null ? 0 : engine.model(name).price.input
  } catch {
    return 0
  }
}

/** Fingerprint of a plan, including what each agent can do: an approval does not hold if an agent's file changes. */
function frozenPlan(plan: Plan, tasks: Task[], listed: string[]): string {
  const everything = tasks.map(({ id, title, context, skill, dependsOn, status }) => [
    ...[id, title, context, skill],
    ...[dependsOn, status],
  ])
  return createHash('sha256')
    .update(JSON.stringify([plan.id, plan.revision, everything, listed]))
    .digest('hex')
}
