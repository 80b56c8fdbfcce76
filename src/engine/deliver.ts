import { tail } from '../domain/id.ts'
import type { InboxItem } from '../domain/inbox.ts'
import type { Ending, Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import { insertItem } from '../store/inbox.ts'
import { fireJoin, insertJoin, type Join, joinOf, openMembers } from '../store/joins.ts'
import { insertResult } from '../store/results.ts'
import { runsOf } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { nextRun } from './submit.ts'
import type { World } from './world.ts'

/** Ids for one ending. It may wake two sessions, the requester's and its own, and each wake has ids of its own. */
export interface EndIds {
  turnId: string
  nextRunId: string
  resultItemId: string
  joinId: string
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
    requesterWake: { itemId: newId(), runId: newId() },
    ownWake: { itemId: newId(), runId: newId() },
  }
}

/**
 * Tells the requester of a child's end: the result is a row before anyone hears of it, and it reaches the requester
 * once. It wakes nobody by itself: the join over the parent's children does, when the last of them has ended.
 */
export async function deliverResult(
  tx: Tx,
  run: Run,
  requester: Session | undefined,
  ending: Ending,
  ids: EndIds,
  now: number,
): Promise<void> {
  if (!requester) return
  const { id, summary } = await insertResult(tx, {
    runId: run.id,
    status: ending.state,
    output: ending.text,
    createdAt: now,
  })
  const content = `[agent_result:${id}] run:${tail(run.id)} ${run.agent ?? ''} ${ending.state}: ${summary}`
  await insertItem(tx, notice(ids.resultItemId, requester, 'result', content, run, false, now), `result:${run.id}`)
  const join = await joinOf(tx, run.id)
  if (join) await fireIfMet(tx, join, requester, run, ids.requesterWake, now)
}

/** Opens one join over the children that this run began; if all have ended already, it is met at once. */
export async function joinChildren(tx: Tx, run: Run, session: Session, ids: EndIds, now: number): Promise<void> {
  const children = await runsOf(tx, { parentRunId: run.id })
  if (children.length === 0) return
  const join = { id: ids.joinId, sessionId: session.id, rootRunId: run.rootRunId, createdAt: now }
  await insertJoin(
    tx,
    join,
    children.map(({ id }) => id),
  )
  await fireIfMet(tx, { ...join, firedAt: null }, session, run, ids.ownWake, now)
}

async function fireIfMet(tx: Tx, join: Join, session: Session, run: Run, wake: Wake, now: number): Promise<void> {
  if ((await openMembers(tx, join.id)).length > 0 || !(await fireJoin(tx, join.id, now))) return
  const content = 'every agent that was started has ended; their results are above'
  await insertItem(tx, notice(wake.itemId, session, 'join', content, run, true, now), `join:${join.id}`)
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
