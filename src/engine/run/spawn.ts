import type { InboxItem } from '../../domain/inbox.ts'
import { joinLabels, type Label } from '../../domain/label.ts'
import type { ProfileValue } from '../../domain/profiles/profile.ts'
import { type ModelClamp, newRun, type Run, type RunOrigin, setRunOptions } from '../../domain/run.ts'
import { childRunOptions, type RunOptions } from '../../domain/run-options.ts'
import { type Session, subagentLabel } from '../../domain/session.ts'
import type { Subagent } from '../../domain/subagent.ts'
import type { CallContext, ToolOutcome } from '../../domain/tools/tool.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { insertFirstItems } from '../../store/rows/inbox.ts'
import { findPersona } from '../../store/rows/personas.ts'
import { insertRuns, lockRun } from '../../store/rows/runs.ts'
import { findSessions, insertNewSessions } from '../../store/rows/sessions.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { chooseModel } from '../model/choose-model.ts'
import { modelOfProfile } from '../policies/run-profile.ts'
import type { Engine, Runtime } from '../runtime.ts'
import { newSession } from '../turns/append.ts'
import { callingRunOf, type NewChild, once } from './calls/calling-run.ts'
import type { QueuedRun } from './moments.ts'

/** Heading between a task and its brief. */
export const briefHeading = '\n\n## Brief\n'

/** Work for a child run. */
interface SpawnRequest {
  content: string
  /** The tool that asks for it. */
  via: Extract<RunOrigin, 'spawn_agent' | 'sessions_spawn' | 'delegate'>
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
  /** For a child of `sessions_spawn`. */
  subagent?: Subagent
  /** The child's session starts at this turn; by default at the root, with no history. */
  parentTurnId?: string
}

/** A run that may start children, and its session. */
interface Spawner {
  parent: Run
  parentSession: Session
}

/** Outcome of a spawn call of a run that is being cancelled. */
export const stoppingOutcome: ToolOutcome = {
  status: 'forbidden',
  output: { status: 'forbidden', error: 'this run is being stopped and starts nothing new' },
}

/** Answer to a call of `sessions_spawn` by an agent that does not have it because another one started it. */
export function nestedSpawnRefusal({ depth }: Pick<Run, 'depth'>, tool: string): ToolOutcome | undefined {
  if (tool !== 'sessions_spawn' || depth === 0) return undefined
  const error = 'sessions_spawn is not allowed from sub-agent sessions'
  return { status: 'forbidden', output: { status: 'forbidden', error } }
}

/**
 * Locks the calling run and returns it if it may start children. A run that is being cancelled may not, so that no
 * orphan is left. Callers that need the session's row lock it themselves.
 */
export async function findSpawner(tx: Tx, call: Pick<CallContext, 'runId' | 'caller'>): Promise<Spawner | undefined> {
  const parent = callingRunOf(call)?.run ?? (await lockRun(tx, call.runId))
  const id = parent?.sessionId ?? undefined
  const [parentSession] = id === undefined ? [] : await once(call, 'session', () => findSessions(tx, { id }))
  return parent && parentSession && parent.state === 'running' && parent.cancelReason === null
    ? { parent, parentSession }
    : undefined
}

/** Queues a child in the transaction of the `spawn_agent` call that asks for it. */
export async function spawnChild(
  tx: Tx,
  engine: Engine,
  call: CallContext,
  { profile, ...work }: Omit<SpawnRequest, 'callId'> & { profile?: ProfileValue | undefined },
): Promise<ToolOutcome> {
  const spawner = await findSpawner(tx, call)
  if (!spawner) return stoppingOutcome
  const { runId, session } = await beginCalledChild(tx, engine, spawner, { ...work, call })
  const requested = work.options?.model ?? null
  const wish = { agent: work.agent, requested, allow: spawner.parent.ceiling.models, profile }
  const model = await childModel(tx, engine, session, wish)
  return { status: 'ok', output: { status: 'accepted', run_id: runId, session_key: session.label, ...model } }
}

/**
 * Starts a child that a tool call asks for, with the label of everything that led to the call. Its rows are stored with
 * those of the other calls of the transaction.
 */
export async function beginCalledChild(
  tx: Tx,
  runtime: Runtime,
  spawner: Spawner,
  { call, ...work }: Omit<SpawnRequest, 'callId'> & { call: CallContext },
): Promise<{ runId: string; session: Session }> {
  const label = joinLabels([...(call.label ? [call.label] : []), ...(work.label ? [work.label] : [])])
  const child = await newChild(tx, runtime, spawner, { ...work, label, callId: call.callId })
  const caller = callingRunOf(call)
  if (caller) caller.children.push(child)
  else storeChildren(tx, [child])
  return { runId: child.run.id, session: child.session }
}

/** The agent of a child, the model that is asked for, and what limits it. */
interface ChildModelWish {
  agent: string
  requested: string | null
  /** Models that its parent may hand on. */
  allow: readonly string[] | undefined
  /** Profile of its agent, if that is registered. */
  profile: ProfileValue | undefined
}

/** The model that a child in this session will have, and why it is another than the one that was asked for. */
export async function childModel(
  rows: Reading,
  engine: Engine,
  { folder, personaId }: Pick<Session, 'folder' | 'personaId'>,
  { agent, requested, allow, profile }: ChildModelWish,
): Promise<{ model: string | null; clamped?: ModelClamp }> {
  const persona = personaId === null ? null : ((await findPersona(rows, personaId)) ?? null)
  const wish = { requested: requested ?? engine.agents.find(agent, folder)?.model ?? null, persona }
  const { name, clamped } = chooseModel(engine, { ...wish, ...modelOfProfile(engine, profile, allow) })
  return { model: name, ...(clamped && { clamped }) }
}

/** Queues a child run with its own session and input; its result goes to the parent's session. */
export async function beginChild(tx: Tx, runtime: Runtime, spawner: Spawner, work: SpawnRequest): Promise<QueuedRun> {
  const { run, session, ...child } = await newChild(tx, runtime, spawner, work)
  storeChildren(tx, [{ run, session, ...child }])
  return { run, session }
}

/** Stores children, and tells of those that wait in the queue. */
export function storeChildren(tx: Tx, children: readonly NewChild[]): void {
  if (children.length === 0) return
  insertNewSessions(tx, children)
  insertRuns(
    tx,
    children.map(({ run }) => run),
  )
  insertFirstItems(
    tx,
    children.map(({ item }) => item),
  )
  const queued = children.filter(({ run }) => run.state === 'queued')
  for (const { run, session } of queued)
    recordEvent(tx, {
      at: run.createdAt,
      kind: 'run.queued',
      subject: `run:${run.id}`,
      payload: { session: session.label, folder: session.folder, parent: run.parentRunId, agent: run.agent },
      scope: run,
    })
  if (queued.length > 0) tx.hint('runs')
}

async function newChild(
  tx: Tx,
  runtime: Runtime,
  { parent, parentSession }: Spawner,
  work: SpawnRequest,
): Promise<NewChild> {
  const now = runtime.clock.now()
  const label = joinLabels([parent.label, ...(work.label ? [work.label] : [])])
  const runId = runtime.newId()
  const { session, below } = await newSession(tx, {
    sessionId: runtime.newId(),
    segmentId: runtime.newId(),
    folder: parentSession.folder,
    label: subagentLabel(work.agent, runId),
    kind: 'agent',
    ...(work.parentTurnId !== undefined && { parentTurnId: work.parentTurnId }),
    ...(parentSession.personaId !== null && { personaId: parentSession.personaId }),
    boundBy: parentSession.boundBy,
    principalId: parent.principal,
    now,
  })
  const run: Run = {
    ...newRun({
      id: runId,
      kind: work.taskId !== undefined ? 'task' : work.via === 'delegate' ? 'delegate' : 'spawn',
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
    subagent: work.subagent ?? null,
  }
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
  const asked = setRunOptions(run, childRunOptions(parent.options, work.options ?? {}))
  return { run: asked, session, below, item, requester: parentSession.label }
}
