import type { InboxItem } from '../domain/inbox.ts'
import { joinLabels } from '../domain/label.ts'
import { newRun } from '../domain/run.ts'
import type { CallContext, ToolOutcome } from '../domain/tool.ts'
import { recordEvent } from '../store/events.ts'
import { insertItem } from '../store/inbox.ts'
import { insertRun, lockRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { startSession } from './append.ts'
import type { World } from './world.ts'

/** Work that a run hands to another. */
export interface Task {
  content: string
  /** Who does it; names the child's session. */
  agent: string
  model?: string
}

/**
 * Begins a child in the transaction of the call that asks for it: a run with a fresh session of its own. Checked again
 * under the parent's lock: a parent that is being cancelled begins nobody, so that no orphan is left.
 */
export async function spawnChild(tx: Tx, world: World, call: CallContext, task: Task): Promise<ToolOutcome> {
  const parent = await lockRun(tx, call.runId)
  const [home] = parent?.sessionId ? await findSessions(tx, { id: parent.sessionId }) : []
  if (!parent || !home || parent.state !== 'running' || parent.cancelReason !== null)
    return {
      status: 'forbidden',
      output: { status: 'forbidden', error: 'this run is being stopped and begins nothing new' },
    }
  const now = world.clock.now()
  const label = joinLabels([parent.label, ...(call.label ? [call.label] : [])])
  const runId = world.newId()
  const session = await startSession(tx, {
    sessionId: world.newId(),
    segmentId: world.newId(),
    folder: home.folder,
    label: `agent:${task.agent}:subagent:${runId}`,
    ...(home.personaId !== null && { personaId: home.personaId }),
    now,
  })
  await insertRun(tx, {
    ...newRun({ id: runId, kind: 'spawn', via: 'spawn_agent', sessionId: session.id, now }),
    rootRunId: parent.rootRunId,
    parentRunId: parent.id,
    depth: parent.depth + 1,
    toolCallId: call.callId,
    requesterSessionId: home.id,
    agent: task.agent,
    modelRequested: task.model ?? null,
    priority: parent.priority,
    requestedAt: parent.requestedAt,
    label,
  })
  const item: InboxItem = {
    id: world.newId(),
    sessionId: session.id,
    kind: 'message',
    content: task.content,
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
    payload: { session: session.label, folder: session.folder, parent: parent.id, agent: task.agent },
  })
  tx.hint('runs')
  return { status: 'ok', output: { status: 'accepted', run_id: runId, session_key: session.label } }
}
