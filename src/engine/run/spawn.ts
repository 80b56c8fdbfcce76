import type { InboxItem } from '../../domain/inbox.ts'
import { joinLabels, type Label } from '../../domain/label.ts'
import { newRun, type Run, type RunOrigin, setRunOptions } from '../../domain/run.ts'
import { childRunOptions, type RunOptions } from '../../domain/run-options.ts'
import { type Session, subagentLabel } from '../../domain/session.ts'
import type { CallContext, ToolOutcome } from '../../domain/tools/tool.ts'
import type { ModelClamp } from '../../domain/turn.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { insertItem } from '../../store/rows/inbox.ts'
import { insertRun, lockRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import type { Tx } from '../../store/store.ts'
import { chooseModel } from '../model/choose-model.ts'
import type { Engine, Runtime } from '../runtime.ts'
import { startSession } from '../turns/append.ts'

/** Heading between a task and its brief. */
export const briefHeading = '\n\n## Brief\n'

/** Work for a child run. */
interface SpawnRequest {
  content: string
  /** The tool that asks for it. */
  via: Extract<RunOrigin, 'spawn_agent' | 'sessions_spawn'>
  /** The child's agent; part of its session's label. */
  agent: string
  /** The call that asks for it; null for a task that its plan starts. */
  callId: string | null
  /** The child's own options, besides those of its request. A model overrides the agent's. */
  options?: Omit<RunOptions, 'agent'>
  /** The plan task that the child executes. */
  taskId?: number
  /** Label of the content, in addition to the parent's. */
  label?: Label
}

/** A run that may start children, and its session. */
interface Spawner {
  parent: Run
  parentSession: Session
}

/** Outcome of a spawn call of a run that is being cancelled. */
export const stoppingOutcome: ToolOutcome = {
  status: 'forbidden',
  output: { status: 'forbidden', error: 'this run is being stopped and begins nothing new' },
}

/**
 * Locks the calling run and returns it if it may start children. A run that is being cancelled may not, so that no
 * orphan is left. Callers that need the session's row lock it themselves.
 */
export async function findSpawner(tx: Tx, { runId }: Pick<CallContext, 'runId'>): Promise<Spawner | undefined> {
  const parent = await lockRun(tx, runId)
  const [parentSession] = parent?.sessionId ? await findSessions(tx, { id: parent.sessionId }) : []
  return parent && parentSession && parent.state === 'running' && parent.cancelReason === null
    ? { parent, parentSession: parentSession }
    : undefined
}

/** Queues a child in the transaction of the tool call that asks for it. */
export async function spawnChild(
  tx: Tx,
  engine: Engine,
  call: CallContext,
  work: Omit<SpawnRequest, 'callId'>,
): Promise<ToolOutcome> {
  const spawner = await findSpawner(tx, call)
  if (!spawner) return stoppingOutcome
  const label = joinLabels([...(call.label ? [call.label] : []), ...(work.label ? [work.label] : [])])
  const { runId, session } = await beginChild(tx, engine, spawner, { ...work, label, callId: call.callId })
  const answer = { status: 'accepted', run_id: runId, session_key: session.label }
  return { status: 'ok', output: { ...answer, ...childModel(engine, spawner, work) } }
}

/** The model that the child will have, if the call or its agent's file names one: another if that one is not allowed. */
function childModel(
  engine: Engine,
  { parent, parentSession: { folder } }: Spawner,
  { agent, options }: Pick<SpawnRequest, 'agent' | 'options'>,
): { model?: string; clamped?: ModelClamp } {
  const requested = options?.model ?? engine.agents.find(agent, folder)?.model ?? null
  const { name, clamped } = chooseModel(engine, { requested, allow: parent.ceiling.models })
  if (name === null || (options?.model === undefined && !clamped)) return {}
  return { model: name, ...(clamped && { clamped }) }
}

/** Queues a child run with its own session and input; its result goes to the parent's session. */
export async function beginChild(
  tx: Tx,
  runtime: Runtime,
  { parent, parentSession }: Spawner,
  work: SpawnRequest,
): Promise<{ runId: string; session: Session }> {
  const now = runtime.clock.now()
  const label = joinLabels([parent.label, ...(work.label ? [work.label] : [])])
  const runId = runtime.newId()
  const session = await startSession(tx, {
    sessionId: runtime.newId(),
    segmentId: runtime.newId(),
    folder: parentSession.folder,
    label: subagentLabel(work.agent, runId),
    kind: 'agent',
    ...(parentSession.personaId !== null && { personaId: parentSession.personaId }),
    boundBy: parentSession.boundBy,
    principalId: parent.principal,
    now,
  })
  const run: Run = {
    ...newRun({
      id: runId,
      kind: work.taskId === undefined ? 'spawn' : 'task',
      via: work.via,
      sessionId: session.id,
      now,
      principal: parent.principal,
    }),
    rootRunId: parent.rootRunId,
    parentRunId: parent.id,
    depth: parent.depth + 1,
    toolCallId: work.callId,
    requesterSessionId: parentSession.id,
    agent: work.agent,
    requestedAt: parent.requestedAt,
    label,
    taskId: work.taskId ?? null,
  }
  await insertRun(tx, setRunOptions(run, childRunOptions(parent.options, work.options ?? {})))
  const item: InboxItem = {
    id: runtime.newId(),
    sessionId: session.id,
    kind: 'message',
    content: work.content,
    source: 'agent',
    parts: [],
    label,
    options: {},
    wake: true,
    rootRunId: parent.rootRunId,
    runId: null,
    consumedByTurn: null,
    createdAt: now,
    principal: parent.principal,
  }
  await insertItem(tx, item, null)
  await recordEvent(tx, {
    at: now,
    kind: 'run.queued',
    subject: `run:${runId}`,
    payload: { session: session.label, folder: session.folder, parent: parent.id, agent: work.agent },
    scope: { sessionId: session.id, rootRunId: parent.rootRunId },
  })
  tx.hint('runs')
  return { runId, session }
}
