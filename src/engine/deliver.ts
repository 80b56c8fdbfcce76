import type { Artifact } from '../domain/app.ts'
import { tail } from '../domain/id.ts'
import type { InboxItem } from '../domain/inbox.ts'
import { type Ending, outcomeWord, type Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import { insertItem } from '../store/inbox.ts'
import { finishMember, fireJoin, insertJoin, isAtWork, joinOver } from '../store/joins.ts'
import { listPlans } from '../store/plans.ts'
import { insertResult } from '../store/results.ts'
import { countChildren, findRun } from '../store/runs.ts'
import type { Reading, Tx } from '../store/store.ts'
import { tasksOf } from '../store/tasks.ts'
import { unseenArtifacts } from './artifacts.ts'
import { callNamed } from './call-named.ts'
import { finishTask } from './dispatch.ts'
import { preview } from './history.ts'
import { pointersIn } from './pointers.ts'
import { beforeBrief } from './spawn.ts'
import { nextRun } from './submit.ts'
import type { Engine, World } from './world.ts'

/** Characters of what an agent said last, in a summary. */
const longestQuotation = 200

/** Characters of a task that name it. */
const longestName = 80

/** Ids for one ending. It may wake two sessions, the requester's and its own, and each wake has ids of its own. */
export interface EndIds {
  turnId: string
  nextRunId: string
  resultItemId: string
  joinId: string
  planItemId: string
  requesterWake: Wake
  ownWake: Wake
}

interface Wake {
  itemId: string
  runId: string
}

/** Made under the locks of the sessions: items are read in the order of their ids, which is then that of delivery. */
export function newIds({ newId }: Pick<World, 'newId'>): EndIds {
  return {
    turnId: newId(),
    nextRunId: newId(),
    resultItemId: newId(),
    joinId: newId(),
    planItemId: newId(),
    requesterWake: { itemId: newId(), runId: newId() },
    ownWake: { itemId: newId(), runId: newId() },
  }
}

/** What a child was asked in its last turn, and the files that it wrote, if somebody has looked at them. */
interface Delivered {
  items: InboxItem[]
  artifacts: Artifact[] | undefined
}

/**
 * Tells the requester of a child's end: the result is a row before anyone hears of it, and it reaches the requester
 * once. Under a join it wakes nobody by itself: the join does, when the last of the children is done. Answers the
 * sessions of the tasks that this end began.
 */
export async function deliverResult(
  tx: Tx,
  engine: Engine,
  run: Run,
  requester: Session | undefined,
  ending: Ending,
  ids: EndIds,
  now: number,
  { items, artifacts }: Delivered,
): Promise<Session[]> {
  if (!requester) return []
  const { id, summary } = await insertResult(tx, {
    runId: run.id,
    taskId: run.taskId,
    skillUsed: run.agent,
    status: ending.state,
    ...toldOfEnd(ending),
    artifacts: artifacts ?? (await unseenArtifacts(tx, run)),
    createdAt: now,
  })
  const done = await finishTask(tx, engine, run, requester, { state: ending.state, resultId: id })
  const whose = done
    ? `task:${done.task.id} "${done.task.title}"`
    : `run:${tail(run.id)} @${run.agent} "${await workOf(tx, run, items)}"`
  const told = ending.state === 'completed' ? summary : summary.replace(/^[\w ]+: /, '')
  const content = `[agent_result:${id}] ${whose} ${ending.state}: ${told}${await planned(tx, run, requester)}`
  const join = run.sessionId === null ? undefined : await joinOver(tx, run.sessionId)
  // Tasks wake nobody by themselves: their plan does, when something must be decided.
  const wakes = !join && (done ? engine.scheduling === 'coordinator' : await isParentOver(tx, run))
  const result = { ...notice(ids.resultItemId, requester, 'result', content, run, wakes, now), resultId: id }
  await insertItem(tx, result, `result:${run.id}`)
  if (join) {
    await finishMember(tx, run.sessionId ?? '', now)
    await fireIfMet(tx, join.id, requester, run, ids.requesterWake, now)
  }
  if (done?.news)
    await insertItem(tx, notice(ids.planItemId, requester, 'join', done.news, run, true, now), `plan:${run.id}`)
  if (wakes || done?.news) await nextRun(tx, { session: requester, runId: ids.requesterWake.runId, now })
  return done?.begun ?? []
}

/**
 * What a child was started for, in the requester's own few words: it may have started several of one kind. Never what
 * stands in the place of a pointer: whoever points is told summaries only.
 */
async function workOf(rows: Reading, { parentRunId, toolCallId }: Run, items: InboxItem[]): Promise<string> {
  const [task = ''] = items.find(({ kind }) => kind === 'message')?.content.split(beforeBrief) ?? []
  if (task !== '' && pointersIn(task).length === 0) return preview(task, longestName)
  const call = parentRunId && toolCallId ? await callNamed(rows, parentRunId, toolCallId) : undefined
  return preview((call?.input as { task?: string } | undefined)?.task ?? '', longestName)
}

/**
 * A result as others are told of it. One that is no answer begins with how it ended and why; what the agent said last is a
 * quotation: it may have said that all is well.
 */
function toldOfEnd({ state, text, error, said = '' }: Ending): { output: string; summary?: string } {
  if (state === 'completed') return { output: text }
  const why = `${outcomeWord[state]}: ${error?.message ?? 'nobody knows why'}`
  if (said === '') return { output: error ? `${why}. ${error.remedy}` : why, summary: why }
  const quotation = said.replace(/^/gm, '> ')
  return {
    output: `${why}${error ? `. ${error.remedy}` : ''}\n\nWhat it had said:\n${quotation}`,
    summary: `${why}. It last said: "${preview(said, longestQuotation)}"`,
  }
}

/** A planner's end names the plan that it made. */
async function planned(rows: Reading, run: Run, requester: Session): Promise<string> {
  if (!run.effectiveTools.includes('plan_tasks')) return ''
  const plan = (await listPlans(rows, { sessionId: requester.id })).find(({ plannedBy }) => plannedBy === run.id)
  return plan ? ` [plan:${plan.id}, ${(await tasksOf(rows, plan.id)).length} tasks]` : ''
}

/** Opens one join over the children that this run began, or over some of them; if all are done already, it is met at once. */
export async function joinChildren(
  tx: Tx,
  run: Run,
  session: Session,
  ids: EndIds,
  now: number,
  only?: readonly string[],
): Promise<void> {
  if (only?.length === 0 || (only === undefined && (await countChildren(tx, run.id)) === 0)) return
  const join = { id: ids.joinId, sessionId: session.id, rootRunId: run.rootRunId, createdAt: now }
  await insertJoin(tx, join, run.id, only)
  await fireIfMet(tx, join.id, session, run, ids.ownWake, now)
}

/** A parent that is still at it opens its join at its end; one that had its wake before, as with a retry, needs another. */
async function isParentOver(rows: Reading, { parentRunId }: Run): Promise<boolean> {
  const parent = parentRunId === null ? undefined : await findRun(rows, parentRunId)
  return parent !== undefined && parent.finishedAt !== null && parent.cancelReason === null
}

/** A session is done when it waits for nobody, and nothing that others asked of it runs or will run. */
export async function isDone(rows: Reading, sessionId: string): Promise<boolean> {
  return !(await isAtWork(rows, sessionId))
}

async function fireIfMet(tx: Tx, joinId: string, session: Session, run: Run, wake: Wake, now: number): Promise<void> {
  if (!(await fireJoin(tx, joinId, now))) return
  const running = (await listPlans(tx, { sessionId: session.id, status: 'running' })).map(({ id }) => `plan:${id}`)
  const rest = running.length === 0 ? '' : `; ${running.join(', ')} still ${running.length === 1 ? 'runs' : 'run'}`
  const content = `every agent that was started has ended; their results are above${rest}`
  await insertItem(tx, notice(wake.itemId, session, 'join', content, run, true, now), `join:${joinId}`)
  await nextRun(tx, { session, runId: wake.runId, now })
}

function notice(
  id: string,
  session: Session,
  kind: 'result' | 'join',
  content: string,
  run: Run,
  wake: boolean,
  now: number,
): InboxItem {
  return {
    id,
    sessionId: session.id,
    kind,
    content,
    source: 'agent',
    parts: [],
    label: run.label,
    wishes: {},
    wake,
    rootRunId: run.rootRunId,
    runId: null,
    consumedByTurn: null,
    createdAt: now,
  }
}
