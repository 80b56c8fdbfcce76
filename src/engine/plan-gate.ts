import { createHash } from 'node:crypto'
import type { Plan, Task } from '../domain/plan.ts'
import type { Run } from '../domain/run.ts'
import type { Preview } from '../domain/tool.ts'
import { visible } from '../domain/visible.ts'
import { approvalsOf, openApprovals, reviseApproval } from '../store/approvals.ts'
import { itemsOfRun } from '../store/inbox.ts'
import { findRun, lockRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import type { Reading, Tx } from '../store/store.ts'
import { tasksOf } from '../store/tasks.ts'
import { spentBy } from '../store/usage.ts'
import { noteAnswer } from './approve.ts'
import { hashOfCall } from './frozen-call.ts'
import { tokensIn } from './weight.ts'
import type { Engine } from './world.ts'

export const gateTool = 'run_project'

/** When a person has a say before a plan is carried out: `ask` where one watches, `always`, or never (`auto`). */
export interface GateSettings {
  plans: 'ask' | 'auto' | 'always'
}

/** What an agent is told besides its brief, at least. */
const leastPrompt = 400

/** Why somebody is asked before this run starts a plan. */
export async function gateReason(engine: Engine, { plans }: GateSettings, runId: string): Promise<string | undefined> {
  if (plans === 'auto') return undefined
  if (plans === 'always') return 'every plan asks first (plans: always)'
  const isWatched = await engine.store.read(async (rows) => {
    const run = await findRun(rows, runId)
    return (await itemsOfRun(rows, run?.rootRunId ?? runId)).some(({ wishes }) => wishes.attended)
  })
  return isWatched ? 'a plan asks first while somebody watches (plans: ask)' : undefined
}

/** A plan as a person is asked about it, and a mark of everything in it. */
export async function planPage(rows: Reading, engine: Engine, plan: Plan, rootRunId: string): Promise<Preview> {
  const tasks = await tasksOf(rows, plan.id)
  const [home] = await findSessions(rows, { id: plan.sessionId })
  const folder = home?.folder ?? ''
  const numbers = new Map(tasks.map(({ id }, at) => [id, at + 1]))
  const spent = await spentBy(rows, { rootRunId })
  const { usd } = engine.limits.perRequest
  const listed = tasks.map((task) => taskLine(engine, task, numbers, folder))
  const facts = [
    { name: 'plan', value: `${plan.id}, ${tasks.length} tasks, at most ${engine.limits.maxChildren} at a time` },
    { name: 'costs', value: costLine(engine, tasks, folder) },
    {
      name: 'spent',
      value: `$${(spent.costUsd + spent.estimatedUsd).toFixed(2)} of at most $${usd.toFixed(2)} for this request`,
    },
  ]
  return { facts, change: visible([plan.title, ...listed].join('\n')), frozen: frozenPlan(plan, tasks, listed) }
}

/** Whether a plan is still what the call that starts it was approved with; the plan's session must be locked. */
export async function isAsApproved(
  rows: Reading,
  engine: Engine,
  plan: Plan,
  { run, callId, folder }: { run: Run; callId: string; folder: string },
): Promise<boolean> {
  const approval = (await approvalsOf(rows, run.id)).find((each) => each.callId === callId)
  if (!approval) return true
  const { frozen } = await planPage(rows, engine, plan, run.rootRunId)
  const call = { name: gateTool, input: approval.input }
  return hashOfCall(call, folder, frozen, approval.isAskedAgain) === approval.hash
}

/** Brings the question about a plan up to date after somebody changed the plan: the answer is about what is shown. */
export async function refreshQuestion(tx: Tx, engine: Engine, plan: Plan): Promise<void> {
  for (const approval of await openApprovals(tx)) {
    const { project_id } = (approval.input ?? {}) as { project_id?: unknown }
    if (approval.tool !== gateTool || project_id !== plan.id) continue
    const run = await findRun(tx, approval.runId)
    const [session] = await findSessions(tx, { id: run?.sessionId ?? '' })
    const { facts, change, frozen } = await planPage(tx, engine, plan, run?.rootRunId ?? plan.rootRunId)
    const call = { name: gateTool, input: approval.input }
    const hash = hashOfCall(call, session?.folder ?? '', frozen, approval.isAskedAgain)
    await reviseApproval(tx, approval.id, { facts, change, hash })
  }
}

/** Nobody needs to say anything any more to a plan that somebody gave up. The plan's session must be locked. */
export async function withdrawQuestion(tx: Tx, engine: Engine, planId: number, reason: string): Promise<void> {
  for (const { id, tool, input, runId } of await openApprovals(tx)) {
    const { project_id } = (input ?? {}) as { project_id?: unknown }
    if (tool !== gateTool || project_id !== planId) continue
    const run = await lockRun(tx, runId)
    if (run?.finishedAt === null) await noteAnswer(tx, engine, { id, run }, { answer: 'no', reason })
  }
}

function taskLine({ agents }: Engine, task: Task, numbers: Map<number, number>, folder: string): string {
  const agent = agents.find(task.skill, folder)
  const hands = (agent?.tools ?? []).filter((tool) => ['write_file', 'edit_file', 'exec'].includes(tool))
  const after = task.dependsOn.map((id) => numbers.get(id)).join(', ')
  const state = task.status === 'pending' ? '' : `  [${task.status}]`
  return [
    `  ${numbers.get(task.id)}  ${task.title}  @${task.skill}`,
    agent?.model ? ` on ${agent.model}` : '',
    hands.length > 0 ? `  can ${hands.join(', ')}` : '',
    after === '' ? '' : `  after ${after}`,
    state,
  ].join('')
}

/** At least what the agents must read once; what they read and write on the way comes on top. */
function costLine(engine: Engine, tasks: Task[], folder: string): string {
  let [tokens, usd] = [0, 0]
  for (const { skill, context, status } of tasks) {
    if (status === 'completed' || status === 'skipped') continue
    const agent = engine.agents.find(skill, folder)
    const least = leastPrompt + (agent?.promptTokens ?? 0) + tokensIn(context)
    tokens += least
    usd += (least * priceOf(engine, agent?.model ?? null)) / 1_000_000
  }
  return `at least ${Math.ceil(tokens / 1000)}k tokens to read, from $${usd.toFixed(2)}`
}

function priceOf(engine: Engine, model: string | null): number {
  try {
    return engine.model(model).price.input
  } catch {
    return 0
  }
}

/** What can be done by whom is part of what was shown: an agent whose file changes meanwhile is another one. */
function frozenPlan(plan: Plan, tasks: Task[], listed: string[]): string {
  const everything = tasks.map(({ id, title, context, skill, dependsOn, status }) => [
    ...[id, title, context, skill],
    ...[dependsOn, status],
  ])
  return createHash('sha256')
    .update(JSON.stringify([plan.id, plan.revision, everything, listed]))
    .digest('hex')
}
