import type { Resource } from '../../domain/access/authorize.ts'
import { ownerText } from '../../domain/access/principal.ts'
import { HeddleError } from '../../domain/errors.ts'
import { parseReference, type ReferenceKind } from '../../domain/reference.ts'
import type { Run } from '../../domain/run.ts'
import { labelFor, type Session } from '../../domain/session.ts'
import { findApproval } from '../../store/rows/approvals.ts'
import { findItem } from '../../store/rows/inbox.ts'
import { findPlan } from '../../store/rows/plans.ts'
import { findResult } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { findTurn } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'
import { resolvePlan, resolveTask } from '../plans/plan-views.ts'
import { resolveSession, routeToThread } from '../turns/route.ts'
import { approvalId } from './questions.ts'
import { findRunByReference, resolveRun } from './runs.ts'

/** A thing that a caller named: how others name it, and whose it is. */
interface Named extends Resource {
  reference: string
}

/** How a caller names things: in a folder, by labels of the caller's own; `bare` is the kind of a word without one. */
interface Naming {
  folder: string
  /** Text form of the caller's principal. */
  caller: string
  bare?: ReferenceKind
}

/**
 * Finds what a reference names and whose it is: the principal of its session. Undefined for what does not exist, or is
 * not named clearly; memories, narratives, personas and files are the owner's.
 */
export async function findResource(rows: Reading, text: string, naming: Naming): Promise<Named | undefined> {
  const { kind, id } = parseReference(text)
  const of = kind ?? naming.bare
  try {
    if (of === undefined) return await bareWord(rows, id, naming)
    const reference = of === 'session' ? `session:${labelFor(naming.caller, id)}` : text
    const resource = await resourceOf(rows, of, of === 'session' ? reference : id, naming.folder)
    return resource && { reference, ...resource }
  } catch (error) {
    if (error instanceof HeddleError) return undefined
    throw error
  }
}

/** Whose an input is. */
export async function resourceOfInput(rows: Reading, itemId: string): Promise<Resource | undefined> {
  return ofSession(rows, (await findItem(rows, itemId))?.sessionId)
}

async function resourceOf(
  rows: Reading,
  kind: ReferenceKind,
  id: string,
  folder: string,
): Promise<Resource | undefined> {
  switch (kind) {
    case 'session':
      return sessionResource(await resolveSession(rows, id, folder))
    case 'turn':
      return ofTurn(rows, (await routeToThread(rows, `turn:${id}`, folder)).turnId)
    case 'run':
      return ofRun(rows, await resolveRun(rows, id))
    case 'approval':
      return ofRunId(rows, (await findApproval(rows, approvalId(id)))?.runId)
    case 'result':
      return ofRunId(rows, (/^\d{1,15}$/.test(id) ? await findResult(rows, Number(id)) : undefined)?.runId)
    case 'plan':
      return ofSession(rows, (await resolvePlan(rows, id)).sessionId)
    case 'task':
      return ofSession(rows, (await findPlan(rows, (await resolveTask(rows, id)).planId))?.sessionId)
    default:
      return { principal: ownerText }
  }
}

/** A session, else a turn, else a run, as everywhere. */
async function bareWord(rows: Reading, word: string, { folder, caller }: Naming): Promise<Named | undefined> {
  const label = labelFor(caller, word)
  const session = await resolveSession(rows, `session:${label}`, folder).catch(() => undefined)
  if (session) return { reference: `session:${label}`, ...sessionResource(session) }
  const turn = await routeToThread(rows, `turn:${word}`, folder).catch(() => undefined)
  const run = turn ? undefined : await findRunByReference(rows, word)
  const resource = turn ? await ofTurn(rows, turn.turnId) : run && (await ofRun(rows, run))
  return resource && { reference: turn ? `turn:${word}` : `run:${word}`, ...resource }
}

async function ofTurn(rows: Reading, turnId: string): Promise<Resource | undefined> {
  return ofRunId(rows, (await findTurn(rows, turnId))?.turn.runId)
}

async function ofRunId(rows: Reading, id: string | undefined): Promise<Resource | undefined> {
  const run = id === undefined ? undefined : await findRun(rows, id)
  return run && ofRun(rows, run)
}

/** A run of a session that is not here, as of an imported turn, is its own principal's. */
async function ofRun(rows: Reading, { sessionId, principal, via }: Run): Promise<Resource> {
  return { ...((await ofSession(rows, sessionId ?? undefined)) ?? { principal }), isPrivate: via === 'narrator' }
}

async function ofSession(rows: Reading, id: string | undefined): Promise<Resource | undefined> {
  const [session] = id === undefined ? [] : await findSessions(rows, { id })
  return session && sessionResource(session)
}

function sessionResource({ principalId, kind }: Session): Resource {
  return { principal: principalId, isPrivate: kind === 'narrator' }
}
