import type { Millis } from '../../domain/clock.ts'
import type { Run } from '../../domain/run.ts'
import type { Spending } from '../../domain/spending.ts'
import type { PlacedTurn } from '../../domain/turn.ts'
import { openApprovals } from '../../store/rows/approvals.ts'
import { answerOfRequest, findInputState, hasActiveRun, requestUnderWay } from '../../store/rows/requests.ts'
import { liveRunOf, runsOf } from '../../store/rows/runs.ts'
import { findTurn } from '../../store/rows/threads.ts'
import { spendingBy } from '../../store/rows/usage.ts'
import type { Hint, Reading } from '../../store/store.ts'
import type { Runtime } from '../runtime.ts'

const sweepEvery = 1000

/** An input and everything it caused, once nothing of it is left to do. */
export interface Request {
  run: Run
  /** Label of the session that was asked. */
  session: string
  hasPlans: boolean
  /** The last turn: the answer. */
  answer: PlacedTurn
  /** All turns, oldest first. */
  turnIds: string[]
  usage: Spending
}

/** Open questions to the user that a request waits for. */
export interface BlockedRequest {
  approvals: { id: number; hash: string; tool: string; reason: string }[]
  /** When the request continues by itself, if the user postponed it. */
  until?: Millis
  /** The run that took the input, if one has, and the label of its session. */
  taken?: { run: Run; session: string }
}

/** A request that has not ended. */
interface OpenRequest extends BlockedRequest {
  /** Its root run, or while no run has taken the input that of the run ahead; undefined if there is none. */
  rootRunId: string | undefined
  isTaken: boolean
}

/**
 * Resolves when all runs of an input's request have ended; undefined if the signal aborts first. Reads the rows at
 * least once, so that even an aborted signal gets an answer that exists already.
 */
export async function whenEnded(runtime: Runtime, itemId: string, signal: AbortSignal): Promise<Request | undefined> {
  return (await followRequest(runtime, itemId, signal, { includeQuestions: false })) as Request | undefined
}

/** Like `whenEnded`, but also resolves when the request cannot continue without an answer of the user. */
export function whenEndedOrBlocked(
  runtime: Runtime,
  itemId: string,
  signal: AbortSignal,
): Promise<Request | BlockedRequest | undefined> {
  return followRequest(runtime, itemId, signal, { includeQuestions: true })
}

async function followRequest(
  runtime: Runtime,
  itemId: string,
  signal: AbortSignal,
  { includeQuestions }: { includeQuestions: boolean },
): Promise<Request | BlockedRequest | undefined> {
  const inputAtWork: ActivityProbe = (rows) => requestUnderWay(rows, itemId)
  for (let probe = inputAtWork; ; ) {
    // Received before and during the read: a hint may come while it is not known yet which request is meant.
    const receivedHints = new Set<Hint>()
    let concerns = (_: Hint) => false
    const changed = new AbortController()
    const wake = () => changed.abort('changed')
    const stop = runtime.store.onHint((hint) => {
      receivedHints.add(hint)
      if (concerns(hint)) wake()
    })
    signal.addEventListener('abort', wake)
    try {
      const found = await runtime.store.read((rows) => readOpenRequest(rows, itemId, { includeQuestions, probe }))
      if ('answer' in found) return found
      if (found.approvals.length > 0 || found.until !== undefined) return found
      const { rootRunId, isTaken } = found
      const end: Hint = `ended:${rootRunId}`
      // Until a run takes the input, any run's hint may mean that one has; the end of the run ahead may answer it.
      concerns = (hint) => hint === end || (!isTaken && hint === 'runs')
      if (![...receivedHints].some(concerns)) {
        if (signal.aborted) return undefined
        await runtime.clock.sleep(sweepEvery, changed.signal)
      }
      // After its own run's end the request has most likely ended, too; one that goes on has other runs at work.
      if (![...receivedHints].some(concerns)) probe = inputAtWork
      else probe = isTaken && probe !== inputAtWork ? requestAtWork(rootRunId) : noProbe
    } finally {
      stop()
      signal.removeEventListener('abort', wake)
    }
  }
}

/** Finds the root run of a request that has a run at work, by a few columns; undefined: not known, read the request. */
type ActivityProbe = (rows: Reading) => Promise<string | undefined>

const noProbe: ActivityProbe = async () => undefined

function requestAtWork(rootRunId = ''): ActivityProbe {
  return async (rows) => ((await hasActiveRun(rows, rootRunId)) ? rootRunId : undefined)
}

/** The request as it is now; not read whole if the probe finds it at work. */
async function readOpenRequest(
  rows: Reading,
  itemId: string,
  { includeQuestions, probe }: { includeQuestions: boolean; probe: ActivityProbe },
): Promise<Request | OpenRequest> {
  const rootRunId = await probe(rows)
  return rootRunId === undefined
    ? requestState(rows, itemId, includeQuestions)
    : { rootRunId, isTaken: true, approvals: [] }
}

/** Open questions of a request that can do nothing else. */
async function questionsOf(rows: Reading, rootRunId: string): Promise<BlockedRequest> {
  const open = await openApprovals(rows, { rootRunId })
  if (open.length > 0) return { approvals: open.map(({ id, hash, tool, reason }) => ({ id, hash, tool, reason })) }
  const parked = (await runsOf(rows, { rootRunId, live: true })).flatMap(({ wakeAt }) => wakeAt ?? [])
  return { approvals: [], ...(parked.length > 0 && { until: Math.min(...parked) }) }
}

/** Request of the run that will take a session's next inputs, or that they are queued behind. */
async function requestAhead(rows: Reading, sessionId: string, includeQuestions: boolean): Promise<OpenRequest> {
  const ahead = await liveRunOf(rows, sessionId)
  if (!ahead) return { rootRunId: undefined, isTaken: false, approvals: [] }
  const { rootRunId } = ahead
  const mayBeBlocked = includeQuestions && !(await hasActiveRun(rows, rootRunId))
  const questions = mayBeBlocked ? await questionsOf(rows, rootRunId) : { approvals: [] }
  return { rootRunId, isTaken: false, ...questions }
}

/** The request if it has ended; otherwise its root run and open questions. */
async function requestState(rows: Reading, itemId: string, includeQuestions: boolean): Promise<Request | OpenRequest> {
  const input = await findInputState(rows, itemId)
  const noQuestions: BlockedRequest = { approvals: [] }
  if (!input) return { rootRunId: undefined, isTaken: false, ...noQuestions }
  const { run, session, turnId } = input
  if (!run) return requestAhead(rows, session.id, includeQuestions)
  const { rootRunId } = run
  const open = { rootRunId, isTaken: true }
  if (turnId === null || input.isUnfinished) {
    const mayBeBlocked = includeQuestions && !input.isActive
    const taken = { run, session: session.label }
    return { ...open, taken, ...(mayBeBlocked ? await questionsOf(rows, rootRunId) : noQuestions) }
  }
  const [answered, usage] = await Promise.all([answerOfRequest(rows, run), spendingBy(rows, { rootRunId })])
  const answer = answered?.answer ?? (await findTurn(rows, turnId))
  if (!answer) return { ...open, ...noQuestions }
  const { turnIds = [] } = answered ?? {}
  return { run, session: session.label, hasPlans: input.hasPlans, answer, turnIds, usage }
}
