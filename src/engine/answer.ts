import type { Answered } from '../domain/app.ts'
import { noUsage } from '../domain/turn.ts'
import { findItem } from '../store/inbox.ts'
import { lastPlanOf } from '../store/plans.ts'
import { findRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import type { Reading } from '../store/store.ts'
import { countTasks } from '../store/tasks.ts'
import { countLine } from './dispatch.ts'
import { type Request, whenQuietOrStuck } from './request.ts'
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
  const { status, error } = await world.store.read((rows) => outcomeOf(rows, request))
  return {
    ok: status === 'completed',
    status,
    text: turn.responseMessage.content,
    turnId: turn.id,
    turns: request.turnIds,
    runId: request.run.id,
    session: session.label,
    folder,
    model: turn.model,
    usage: request.usage,
    ...(error && { error }),
  }
}

/** How a request ended: as its last turn did, and not well where that turn only tells of a plan that did not complete. */
async function outcomeOf(
  rows: Reading,
  { run, answer: { turn } }: Request,
): Promise<Pick<Answered, 'status' | 'error'>> {
  if (turn.status !== 'completed') {
    const last = turn.runId === run.id ? run : await findRun(rows, turn.runId)
    return { status: turn.status, ...(last?.error && { error: last.error }) }
  }
  const plan = await lastPlanOf(rows, run.rootRunId)
  if (plan?.status !== 'failed' && plan?.status !== 'cancelled') return { status: 'completed' }
  const message = `plan:${plan.id} did not complete: ${countLine(await countTasks(rows, plan.id))}`
  return {
    status: plan.status,
    error: { code: `plan_${plan.status}`, message, remedy: `look at it: heddle plans plan:${plan.id}` },
  }
}
