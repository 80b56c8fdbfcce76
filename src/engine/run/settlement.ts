import type { InboxItem } from '../../domain/inbox.ts'
import { joinLabels, type Label } from '../../domain/label.ts'
import { labelOf } from '../../domain/message.ts'
import type { ModelSettings, Permissions } from '../../domain/persona.ts'
import type { Ending, ModelClamp, Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import type { Usage } from '../../domain/turn.ts'
import { itemsOfRun } from '../../store/rows/inbox.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions, lockSessions } from '../../store/rows/sessions.ts'
import type { Reading, Tx } from '../../store/store.ts'
import type { Engine } from '../runtime.ts'
import type { ActiveRun } from './active-run.ts'
import { messageOf } from './context/context.ts'
import type { Journal } from './context/journal.ts'
import type { RunEnd, WrittenFiles } from './moments.ts'

/** The sessions that a run's end touches: its own, and its requester's. */
export interface RunSessions {
  session: Session
  requester: Session | undefined
}

/** State of the transaction that ends a run. Its ids are made under its locks, so that they follow the order of the locks. */
export interface Settlement extends RunEnd<Engine> {
  journal: Journal
  /** The system prompt; null if no model was asked in this claim. */
  prompt: string | null
  /** The model that answered, as its provider names it. */
  model: string | null
  /** Settings of the last model call; undefined if none was made in this claim. */
  settings?: ModelSettings
  /** Permissions that held; undefined if the process that ends the run does not execute it. */
  permissions?: readonly Permissions[]
  /** Why another model than the chosen one was asked. */
  clamped?: ModelClamp | undefined
  /** Stores which notes the model was shown, unless that was done with a reply. Undefined if the process that ends the run does not execute it. */
  recordNotes?(tx: Tx): Promise<void>
  /** Undefined if the process that ends the run does not execute it. */
  written?: WrittenFiles
  /** Head of the session, as the run read it. */
  head?: ActiveRun['head']
  /** Inputs that wait in its session, if they are known. */
  waiting?: InboxItem[]
  /** Cost of the run, if it is known without reading it. */
  spent?: Usage | undefined
  turnId: string
  /**
   * Whether it is known that its session waits for no child and has no other run: it is the session's first run, started
   * none, and no input waits. Undefined if that must be read.
   */
  isDone?: boolean
}

/** Locks the sessions that a run's end touches, and others. Sessions are locked before runs. */
export async function lockRunSessions(
  tx: Tx,
  run: Pick<Run, 'id' | 'sessionId' | 'requesterSessionId' | 'rootRunId' | 'depth'>,
  others: readonly string[] = [],
): Promise<RunSessions> {
  // Asked only if it must be, so that what follows is sent together with the lock.
  const receiver = run.depth < 2 ? run.requesterSessionId : await receiverOf(tx, run)
  const ids = [run.sessionId, receiver, ...others].filter((id) => id !== null)
  const locked = await lockSessions(tx, ids)
  const session = locked.get(run.sessionId ?? '')
  if (!session) throw new Error(`run ${run.id} has no session`)
  const requester = locked.get(receiver ?? '')
  return { session, requester: requester?.removedAt === null ? requester : undefined }
}

/**
 * The session that is told of a run's end: its requester's, or its request's if that was removed. Only sessions of
 * sub-agents are removed, so only what they started is looked up.
 */
async function receiverOf(
  rows: Reading,
  { requesterSessionId: id, rootRunId }: Pick<Run, 'requesterSessionId' | 'rootRunId'>,
): Promise<string | null> {
  if (id === null) return id
  const [requester] = await findSessions(rows, { id })
  return requester?.removedAt === null ? id : ((await findRun(rows, rootRunId))?.sessionId ?? null)
}

/** An end that is about to be written. */
type SettlementStart = RunSessions &
  Omit<Settlement, 'tx' | 'engine' | 'items' | 'turnLabel' | 'turnId' | 'isDone'> & {
    /** Of everything that the run has seen. */
    label: Label
    /** Its inputs, if they are known. */
    items?: InboxItem[]
  }

/** Begins to settle a run. Its sessions and the run itself must be locked. */
export async function beginSettlement(tx: Tx, engine: Engine, end: SettlementStart): Promise<Settlement> {
  const { label, run, items: known, ...rest } = end
  const items = known ?? (await itemsOfRun(tx, run.id))
  const turnLabel = joinLabels([labelOf(items.map(messageOf)), label])
  const done = knownDone(end)
  return { tx, engine, ...rest, run: { ...run, label }, items, turnLabel, turnId: engine.newId(), ...done }
}

/** `isDone` if no rows need to be read for it: a session without a head has had no other run, so it has no joins. */
function knownDone({ session, journal, waiting }: SettlementStart): Pick<Settlement, 'isDone'> {
  const isFirst = session.headTurnId === null && session.removedAt === null
  const isAlone = waiting?.length === 0 && journal.spawns.started === 0 && !journal.turnEnd
  return isFirst && isAlone ? { isDone: true } : {}
}

/** Ends a run as cancelled. */
export function cancelledEnding({ id }: Run, reason: string): Ending {
  const error = { code: 'cancelled', message: reason, remedy: `try again: heddle retry run:${id}` }
  return { state: 'cancelled', text: `Cancelled: ${reason}`, error }
}
