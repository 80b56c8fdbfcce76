import type { Answered } from '../domain/app.ts'
import { noUsage } from '../domain/turn.ts'
import { findItem } from '../store/inbox.ts'
import { findSessions } from '../store/sessions.ts'
import { whenQuietOrStuck } from './request.ts'
import { notFound } from './route.ts'
import { waitingBehind } from './submit.ts'
import type { World } from './world.ts'

/** What came of an input, told when nothing of it is left to do; or that it is still under way when the signal comes. */
export async function answer(world: World, folder: string, itemId: string, signal: AbortSignal): Promise<Answered> {
  const request = await whenQuietOrStuck(world, itemId, signal)
  const { item, session, behind } = await world.store.read(async (rows) => {
    const item = await findItem(rows, itemId)
    const [session] = item ? await findSessions(rows, { id: item.sessionId }) : []
    const behind = item && session ? await waitingBehind(rows, { runId: item.runId, session }) : {}
    return { item, session, behind }
  })
  if (!item || !session) throw notFound('input', itemId)
  if (!request || 'approvals' in request)
    return {
      ok: false,
      status: 'waiting',
      text: '',
      turnId: null,
      turns: [],
      runId: item.runId,
      session: session.label,
      folder,
      model: { requested: null, actual: null },
      usage: noUsage,
      ...(item.runId === null && { itemId, ...behind }),
      ...(request && { approvals: request.approvals.map(({ id }) => id), questions: request.approvals }),
    }
  const { turn } = request.answer
  return {
    ok: turn.status === 'completed',
    status: turn.status,
    text: turn.responseMessage.content,
    turnId: turn.id,
    turns: request.turnIds,
    runId: request.run.id,
    session: session.label,
    folder,
    model: turn.model,
    usage: request.usage,
    ...(request.run.error && { error: request.run.error }),
  }
}
