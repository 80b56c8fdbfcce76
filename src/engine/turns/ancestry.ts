import type { Plan } from '../../domain/plan.ts'
import type { Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import { itemByKey, itemsOfRun } from '../../store/rows/inbox.ts'
import { findResult, type Result } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findThread, turnOnPath } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'

/** A session whose path decides which results and plans it may use. */
type Branch = Pick<Session, 'id' | 'headTurnId'>

/**
 * Whether a run's turn lies on a session's path: the session's own turns, and those of its ancestors up to the fork.
 */
export async function isOnPath(rows: Reading, { headTurnId }: Branch, runId: string): Promise<boolean> {
  const turnId = (await itemsOfRun(rows, runId))[0]?.consumedByTurn ?? null
  if (headTurnId === null || turnId === null) return false
  const [head, thread] = [await findThread(rows, headTurnId), await findThread(rows, turnId)]
  if (!head || !thread || thread.depth > head.depth) return false
  return (await turnOnPath(rows, head, thread.depth))?.turn.id === turnId
}

/** A result that one of these sessions or their ancestors requested, with the run that made it. */
export async function resultFor(
  rows: Reading,
  sessions: readonly Branch[],
  id: number,
): Promise<{ result: Result; by: Run } | undefined> {
  const result = await findResult(rows, id)
  const by = result && (await findRun(rows, result.runId))
  if (!result || !by) return undefined
  if (sessions.some((session) => session.id === by.requesterSessionId)) return { result, by }
  // The requester of a sub-agent may be gone: then another session was told.
  const told = by.subagent ? await itemByKey(rows, `result:${by.id}`) : undefined
  if (sessions.some((session) => session.id === told?.sessionId)) return { result, by }
  for (const session of sessions)
    if (by.parentRunId !== null && (await isOnPath(rows, session, by.parentRunId))) return { result, by }
  return undefined
}

/** Whether a plan was made for this session, or for an ancestor before the fork. */
export async function isPlanFor(rows: Reading, session: Branch, plan: Plan): Promise<boolean> {
  if (plan.sessionId === session.id) return true
  const planner = await findRun(rows, plan.plannedBy)
  return planner !== undefined && isOnPath(rows, session, planner.parentRunId ?? planner.id)
}
