import type { InboxItem } from '../domain/inbox.ts'
import { joinLabels, type Label } from '../domain/label.ts'
import { newRun, type Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import type { CallContext, ToolOutcome } from '../domain/tool.ts'
import { recordEvent } from '../store/events.ts'
import { insertItem } from '../store/inbox.ts'
import { insertRun, lockRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { startSession } from './append.ts'
import type { World } from './world.ts'

/** Between a task and what its agent needs to know for it. */
export const beforeBrief = '\n\n## Brief\n'

/** Work that a run hands to another. */
export interface Work {
  content: string
  /** Who does it; names the child's session. */
  agent: string
  /** Another than the agent's own. */
  model?: string | null
  /** The task of a plan that this does. */
  taskId?: number
  /** Of what it is made of, besides what began it. */
  label?: Label
}

/** A run that may begin others now, and its session. */
export interface Beginner {
  parent: Run
  home: Session
}

/** Says that nothing new is begun: told to the model. */
export const stopping: ToolOutcome = {
  status: 'forbidden',
  output: { status: 'forbidden', error: 'this run is being stopped and begins nothing new' },
}

/**
 * The run of a call, locked, if it may begin others: one that is being cancelled begins nobody, so that no orphan is
 * left. Its session's row is locked by whoever needs that.
 */
export async function beginnerOf(tx: Tx, { runId }: Pick<CallContext, 'runId'>): Promise<Beginner | undefined> {
  const parent = await lockRun(tx, runId)
  const [home] = parent?.sessionId ? await findSessions(tx, { id: parent.sessionId }) : []
  return parent && home && parent.state === 'running' && parent.cancelReason === null ? { parent, home } : undefined
}

/** Begins a child in the transaction of the call that asks for it: a run with a fresh session of its own. */
export async function spawnChild(tx: Tx, world: World, call: CallContext, work: Work): Promise<ToolOutcome> {
  const beginner = await beginnerOf(tx, call)
  if (!beginner) return stopping
  const label = joinLabels([...(call.label ? [call.label] : []), ...(work.label ? [work.label] : [])])
  const { runId, session } = await beginChild(tx, world, beginner, { ...work, label }, call.callId)
  return {
    status: 'ok',
    output: { status: 'accepted', run_id: runId, session_key: session.label, ...(work.model && { model: work.model }) },
  }
}

/** A queued run with a session and an input of its own, for the session that hears of its end. */
export async function beginChild(
  tx: Tx,
  world: World,
  { parent, home }: Beginner,
  work: Work,
  callId: string | null,
): Promise<{ runId: string; session: Session }> {
  const now = world.clock.now()
  const label = joinLabels([parent.label, ...(work.label ? [work.label] : [])])
  const runId = world.newId()
  const session = await startSession(tx, {
    sessionId: world.newId(),
    segmentId: world.newId(),
    folder: home.folder,
    label: `agent:${work.agent}:subagent:${runId}`,
    ...(home.personaId !== null && { personaId: home.personaId }),
    now,
  })
  await insertRun(tx, {
    ...newRun({
      id: runId,
      kind: work.taskId === undefined ? 'spawn' : 'task',
      via: 'spawn_agent',
      sessionId: session.id,
      now,
    }),
    rootRunId: parent.rootRunId,
    parentRunId: parent.id,
    depth: parent.depth + 1,
    toolCallId: callId,
    requesterSessionId: home.id,
    agent: work.agent,
    modelRequested: work.model ?? null,
    priority: parent.priority,
    requestedAt: parent.requestedAt,
    label,
    taskId: work.taskId ?? null,
  })
  const item: InboxItem = {
    id: world.newId(),
    sessionId: session.id,
    kind: 'message',
    content: work.content,
    source: 'agent',
    parts: [],
    label,
    wishes: {},
    wake: true,
    rootRunId: parent.rootRunId,
    runId: null,
    consumedByTurn: null,
    createdAt: now,
  }
  await insertItem(tx, item, null)
  await recordEvent(tx, {
    at: now,
    kind: 'run.queued',
    subject: `run:${runId}`,
    payload: { session: session.label, folder: session.folder, parent: parent.id, agent: work.agent },
  })
  tx.hint('runs')
  return { runId, session }
}
