import type { RequestAnswer } from '../../api/views/question.ts'
import { shortId } from '../../domain/id.ts'
import { outcomeWord, type Run, type RunError } from '../../domain/run.ts'
import { spendingOf } from '../../domain/spending.ts'
import { findItem } from '../../store/rows/inbox.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { spendingBy } from '../../store/rows/usage.ts'
import type { Reading } from '../../store/store.ts'
import type { Engine, Runtime } from '../runtime.ts'
import { notFound } from '../turns/route.ts'
import { stoppedRequest } from '../turns/stopped-request.ts'
import { type BlockedRequest, type Request, whenEndedOrBlocked } from './request.ts'
import { waitingBehind } from './submit.ts'

/** Max agents that a stopped request names. */
const maxNamed = 5

/** Waits for the answer to an input; returns status 'waiting' if the signal aborts first, or the user must answer a question. */
export async function answer(
  runtime: Runtime & Pick<Engine, 'moments'>,
  folder: string,
  itemId: string,
  signal: AbortSignal,
): Promise<RequestAnswer> {
  const request = await whenEndedOrBlocked(runtime, itemId, signal)
  if (!request || 'approvals' in request) return notAnswered(runtime, folder, itemId, request)
  const { turn } = request.answer
  const { status, isStopped, ...more } = await runtime.store.read((rows) => outcomeOf(rows, runtime, request))
  const said = turn.responseMessage.content
  return {
    ok: status === 'completed',
    status,
    text: isStopped && more.error ? `${said}\n\n${outcomeWord.cancelled}: ${more.error.message}` : said,
    turnId: turn.id,
    turns: request.turnIds,
    runId: request.run.id,
    session: request.session,
    folder,
    model: turn.model,
    usage: request.usage,
    ...more,
  }
}

/** State of an input whose request is running, or waits for the user. */
async function notAnswered(
  { store }: Runtime,
  folder: string,
  itemId: string,
  blocked: BlockedRequest | undefined,
): Promise<RequestAnswer> {
  const { runId, session, behind, usage } = await store.read((rows) => requestState(rows, itemId, blocked?.taken))
  return {
    ok: false,
    status: 'waiting',
    text: '',
    turnId: null,
    turns: [],
    runId,
    session,
    folder,
    model: { requested: null, actual: null },
    // What the request has cost so far.
    usage,
    ...(runId === null && { itemId, ...behind }),
    ...(blocked?.until !== undefined && { until: new Date(blocked.until).toISOString() }),
    ...(blocked &&
      blocked.approvals.length > 0 && {
        approvals: blocked.approvals.map(({ id }) => id),
        questions: blocked.approvals,
      }),
  }
}

/** The run that has an input, or what that waits for, and what its request has cost so far. */
async function requestState(rows: Reading, itemId: string, taken: BlockedRequest['taken']) {
  if (taken) {
    const { run, session } = taken
    return { runId: run.id, session, behind: {}, usage: await spendingBy(rows, { rootRunId: run.rootRunId }) }
  }
  const item = await findItem(rows, itemId)
  const [session] = item ? await findSessions(rows, { id: item.sessionId }) : []
  if (!item || !session) throw notFound('input', itemId)
  const { runId } = item
  const behind = await waitingBehind(rows, { runId, session })
  const run = runId === null ? undefined : await findRun(rows, runId)
  const usage = run ? await spendingBy(rows, { rootRunId: run.rootRunId }) : spendingOf([])
  return { runId, session: session.label, behind, usage }
}

interface AnswerOutcome extends Pick<RequestAnswer, 'status' | 'error' | 'unstartedPlans'> {
  /** A user stopped the request after its last turn, whose text cannot say so. */
  isStopped?: true
}

/**
 * Outcome of a request: that of its last turn, unless a user stopped the request while other parts of it were at work, or
 * a plan that it started did not complete.
 */
async function outcomeOf(
  rows: Reading,
  { moments }: Pick<Engine, 'moments'>,
  { run, hasPlans, answer: { turn } }: Request,
): Promise<AnswerOutcome> {
  const plan = hasPlans && turn.status === 'completed' ? await moments.outcomeOf(rows, run.rootRunId) : undefined
  const stopped = turn.status !== 'cancelled' && plan?.status !== 'cancelled' && (await stoppedError(rows, run))
  if (stopped) return { status: 'cancelled', error: stopped, isStopped: true }
  if (turn.status !== 'completed') {
    const last = turn.runId === run.id ? run : await findRun(rows, turn.runId)
    return { status: turn.status, ...(last?.error && { error: last.error }) }
  }
  return { status: 'completed', ...plan }
}

/**
 * Why a request was cancelled, with the agents that were stopped; undefined if it was not. Only for the input that started
 * the request: later messages to one of its agents are answered by their own turn.
 */
async function stoppedError(rows: Reading, run: Run): Promise<RunError | undefined> {
  const { id, rootRunId } = run
  const stopped = id === rootRunId ? await stoppedRequest(rows, run) : undefined
  if (!stopped) return undefined
  const names = stopped.unfinished.map((each) => `@${each.agent} (run:${shortId(each.id)})`)
  const more = names.length > maxNamed ? `, and ${names.length - maxNamed} more` : ''
  const what =
    names.length > 0 ? `not finished: ${names.slice(0, maxNamed).join(', ')}${more}` : 'results not processed'
  return { code: 'cancelled', message: `${stopped.reason}; ${what}`, remedy: `try again: heddle retry run:${id}` }
}
