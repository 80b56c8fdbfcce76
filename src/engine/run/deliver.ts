import type { Millis } from '../../domain/clock.ts'
import { withRemedy } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import type { InboxItem } from '../../domain/inbox.ts'
import { pointersIn } from '../../domain/pointer.ts'
import { type Ending, outcomeWord, type Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import { insertItem } from '../../store/rows/inbox.ts'
import { finishMember, fireJoin, hasJoinedChildren, insertJoin, isWorkingForParent } from '../../store/rows/joins.ts'
import { listPlans } from '../../store/rows/plans.ts'
import { insertResult } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { addDocument, ownerIn } from '../../store/rows/search/documents.ts'
import { firstChildRun } from '../../store/rows/subagents/subagents.ts'
import { scheduleTidy } from '../../store/rows/subagents/tidy.ts'
import type { Reading, Tx } from '../../store/store.ts'
import type { Engine } from '../runtime.ts'
import { preview } from '../turns/history.ts'
import { announce, type StoredResult } from './announce.ts'
import { findCall } from './calls/find-call.ts'
import { newBoundary } from './delimit.ts'
import type { ChildEnd, QueuedRun, WrittenFiles } from './moments.ts'
import { isStillAllowed } from './sender.ts'
import type { Settlement } from './settlement.ts'
import { briefHeading } from './spawn.ts'
import { nextRun } from './submit.ts'

/** Max characters of an agent's last text in a result's summary. */
const maxQuotation = 200

/** Max characters of a task's text in the result line. */
const maxName = 80

/** The end of a child whose result is stored, and delivered if its requester is still there. */
interface StoredEnd extends Omit<ChildEnd<Engine>, 'requester'> {
  /** The child's own. */
  session: Session
  requester: Session | undefined
  /** Undefined if the process that ends the run does not execute it. */
  written?: WrittenFiles
  /** Whether it is known that the session is done, and when to tidy it up is stored. */
  isDone?: boolean
}

type Delivery = StoredEnd & { requester: Session }

/** A session in which a run was queued, and the run if it is known. */
export type QueuedSession = Pick<QueuedRun, 'session'> & Partial<QueuedRun>

/**
 * Stores a child's result and delivers it to the requester, exactly once. No requester is told of an isolated sub-agent's, and of
 * one whose requester is gone: they are read on demand. Returns the runs that this result queued.
 */
export async function deliverResult(end: StoredEnd): Promise<QueuedSession[]> {
  const { tx, run, requester, now } = end
  const isIsolated = run.subagent?.shareMode === 'isolated'
  const result = await storeResult(end, isIsolated)
  const started = requester && !isIsolated ? await deliver({ ...end, requester }, result) : []
  if (run.subagent && !end.isDone) await scheduleTidy(tx, run, now, end.engine.limits.archiveAfterMs)
  return started
}

/** Under a join the result wakes no session: the join does, when the last child is done. */
async function deliver(end: Delivery, result: StoredResult): Promise<QueuedSession[]> {
  const { tx, engine, run, requester, ending, now } = end
  const effects = await engine.moments.onResult(end, result.id)
  const join = run.sessionId === null ? undefined : await finishMember(tx, run.sessionId, now)
  const wakes = !join && (effects.wakes ?? (await isParentOver(tx, run))) && (await mayWake(end, requester))
  const who = effects.name ?? `run:${shortId(run.id)} @${run.agent} "${await taskText(end)}"`
  const remarks = [...effects.remarks, ...(end.written?.remarks ?? [])]
  const firstRunId = await firstRunOf(end)
  const what = announce({ run, ending, result, who, remarks, firstRunId, boundary: newBoundary(engine) })
  const item: InboxItem = {
    ...noticeItem(end, requester, { ...what, wake: wakes }),
    resultId: result.id,
    ...(run.toolCallId !== null && { toolCallId: run.toolCallId }),
  }
  await insertItem(tx, item, `result:${run.id}`)
  const isFired = join?.isMet === true && (await fireIfMet(end, join.joinId, requester))
  const newsWake = effects.news !== undefined && (await mayWake(end, requester))
  if (effects.news !== undefined)
    await insertItem(
      tx,
      noticeItem(end, requester, { kind: 'join', content: effects.news, wake: newsWake }),
      `plan:${run.id}`,
    )
  if (wakes || newsWake) await wakeSession(end, requester)
  return [...effects.started, ...(isFired || wakes || newsWake ? [{ session: requester }] : [])]
}

async function storeResult(
  { tx, engine, run, session, ending, written, now }: StoredEnd,
  processed: boolean,
): Promise<StoredResult> {
  const stored = await insertResult(tx, {
    runId: run.id,
    taskId: run.taskId,
    skillUsed: run.agent,
    status: ending.state,
    ...describeEnding(ending),
    artifacts: written?.artifacts ?? (await engine.moments.filesOf(tx, run)),
    processed,
    createdAt: now,
  })
  const document = { kind: 'result' as const, ref: String(stored.id), runId: run.id, at: now }
  const owner = ownerIn(session)
  if (owner) await addDocument(tx, { ...owner, ...document })
  return { ...stored, status: ending.state }
}

/** The run that the requester was told of when it started the child; the child may have gone on since in others. */
async function firstRunOf({ tx, run, items }: Delivery): Promise<string> {
  const isFirst = !run.subagent || items.some(({ kind }) => kind === 'message')
  return isFirst || run.sessionId === null ? run.id : ((await firstChildRun(tx, run.sessionId)) ?? run.id)
}

/**
 * The child's task in the requester's own words, to tell several children of one agent apart. Never contains text that
 * replaced a pointer: the requester sees summaries only.
 */
async function taskText({ tx, run: { parentRunId, toolCallId }, items }: Delivery): Promise<string> {
  const [task = ''] = items.find(({ kind }) => kind === 'message')?.content.split(briefHeading) ?? []
  if (task !== '' && pointersIn(task).length === 0) return preview(task, maxName)
  const call = parentRunId && toolCallId ? await findCall(tx, parentRunId, toolCallId) : undefined
  return preview((call?.input as { task?: string } | undefined)?.task ?? '', maxName)
}

/**
 * Output and summary of a result. Those of an incomplete run begin with status and reason; the agent's last text follows as
 * a quotation, since it may claim success.
 */
function describeEnding({ state, text, error, said = '' }: Ending): { output: string; summary?: string } {
  if (state === 'completed') return { output: text }
  const why = `${outcomeWord[state]}: ${error?.message ?? 'the reason is unknown'}`
  const whole = error ? withRemedy({ message: why, remedy: error.remedy }) : why
  if (said === '') return { output: whole, summary: why }
  const quotation = said.replace(/^/gm, '> ')
  return {
    output: `${whole}\n\nIts output before that:\n${quotation}`,
    summary: `${why}. It last said: "${preview(said, maxQuotation)}"`,
  }
}

/**
 * Opens one join over the children that this run started, or some of them; if all are done already, it fires at once. Returns
 * whether that queued a run.
 */
export async function joinChildren(end: Settlement, only?: readonly string[]): Promise<boolean> {
  const { tx, engine, run, session, now } = end
  if (only?.length === 0) return false
  if (only === undefined && (end.journal.spawns.started === 0 || !(await hasJoinedChildren(tx, run.id)))) return false
  const join = { id: engine.newId(), sessionId: session.id, rootRunId: run.rootRunId, createdAt: now }
  await insertJoin(tx, join, run.id, only)
  return fireIfMet(end, join.id, session)
}

/** Whether the parent has ended uncancelled: it opens no join any more, so the result itself must wake its session. */
async function isParentOver(rows: Reading, { parentRunId }: Run): Promise<boolean> {
  const parent = parentRunId === null ? undefined : await findRun(rows, parentRunId)
  return parent !== undefined && parent.finishedAt !== null && parent.cancelReason === null
}

/** Whether a session waits for no child and has no unfinished run for a requester. */
export async function isDone(rows: Reading, sessionId: string): Promise<boolean> {
  return !(await isWorkingForParent(rows, sessionId))
}

/** The ending run and its transaction, for notices to other sessions. */
interface Notifier {
  tx: Tx
  engine: Engine
  run: Run
  now: Millis
}

/** Fires a join if all its members are done; returns whether that queued a run. */
async function fireIfMet(end: Notifier, joinId: string, session: Session): Promise<boolean> {
  const { tx, now } = end
  if (!(await fireJoin(tx, joinId, now))) return false
  const running = (await listPlans(tx, { sessionId: session.id, status: 'running' })).map(({ id }) => `plan:${id}`)
  const rest = running.length === 0 ? '' : `; ${running.join(', ')} still ${running.length === 1 ? 'runs' : 'run'}`
  const content = `all started agents have ended; their results are above${rest}`
  const wake = await mayWake(end, session)
  await insertItem(tx, noticeItem(end, session, { kind: 'join', content, wake }), `join:${joinId}`)
  if (wake) await wakeSession(end, session)
  return wake
}

/**
 * Whether the run's principal may start a run in this session. In a session of another one it may have lost that right
 * since: the news then waits for the next message.
 */
async function mayWake({ tx, run }: Notifier, { principalId }: Session): Promise<boolean> {
  return run.principal === principalId || isStillAllowed(tx, run.principal, 'run.wake', { principal: principalId })
}

async function wakeSession({ tx, engine, now }: Notifier, session: Session): Promise<void> {
  await nextRun(tx, { session, runId: engine.newId(), now })
}

function noticeItem(
  { engine, run, now }: Notifier,
  session: Session,
  what: Pick<InboxItem, 'content' | 'wake' | 'kind'> & Partial<Pick<InboxItem, 'source'>>,
): InboxItem {
  return {
    id: engine.newId(),
    sessionId: session.id,
    source: 'agent',
    ...what,
    parts: [],
    label: run.label,
    options: {},
    rootRunId: run.rootRunId,
    runId: null,
    consumedByTurn: null,
    createdAt: now,
    principal: run.principal,
  }
}
