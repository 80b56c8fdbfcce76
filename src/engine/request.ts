import type { InboxItem } from '../domain/inbox.ts'
import type { Run } from '../domain/run.ts'
import type { PlacedTurn, Usage } from '../domain/turn.ts'
import { openApprovals } from '../store/approvals.ts'
import { findItem, isUnanswered, turnsOfRequest } from '../store/inbox.ts'
import { findRun, hasGoingOn, hasUnfinished, liveRunOf } from '../store/runs.ts'
import type { Hint, Reading } from '../store/store.ts'
import { findTurn } from '../store/threads.ts'
import { spentBy } from '../store/usage.ts'
import type { World } from './world.ts'

const sweepEvery = 1000

/** An input and everything it caused, once nothing of it is left to do. */
export interface Request {
  run: Run
  /** The last turn: the answer. */
  answer: PlacedTurn
  /** All turns, oldest first. */
  turnIds: string[]
  usage: Usage
}

/** What keeps a request from going on: questions that only people answer. */
export interface Stuck {
  approvals: { id: number; hash: string; tool: string; reason: string }[]
}

/**
 * Resolves when the request of an input is quiet: each of its runs has ended. Undefined when the signal comes first; the
 * rows are read at least once, so that an answer that is there is given even to a caller that does not wait.
 */
export async function whenQuiet(world: World, itemId: string, signal: AbortSignal): Promise<Request | undefined> {
  return (await follow(world, itemId, signal, { heedQuestions: false })) as Request | undefined
}

/** The same for somebody who can be asked: resolves, too, when nothing of the request goes on without an answer. */
export function whenQuietOrStuck(
  world: World,
  itemId: string,
  signal: AbortSignal,
): Promise<Request | Stuck | undefined> {
  return follow(world, itemId, signal, { heedQuestions: true })
}

async function follow(
  world: World,
  itemId: string,
  signal: AbortSignal,
  { heedQuestions }: { heedQuestions: boolean },
): Promise<Request | Stuck | undefined> {
  let rootRunId: string | undefined
  for (;;) {
    const changed = new AbortController()
    // Listening begins before the look, so that no change falls between them.
    const stop = world.store.onHint((hint) => {
      if (concerns(hint, rootRunId)) changed.abort()
    })
    try {
      const found = await world.store.read((rows) => lookUp(rows, itemId, heedQuestions))
      if ('answer' in found) return found
      if (found.approvals.length > 0) return found
      if (found.rootRunId !== rootRunId) {
        // From now on we know what to listen to; what came before was perhaps not listened to.
        rootRunId = found.rootRunId
        continue
      }
      if (signal.aborted) return undefined
      await world.clock.sleep(sweepEvery, AbortSignal.any([changed.signal, signal]))
    } finally {
      stop()
    }
  }
}

/** Whether a hint may mean that the request is quiet now. As long as no run has taken the input, any run may. */
function concerns(hint: Hint, rootRunId: string | undefined): boolean {
  return rootRunId === undefined ? hint === 'runs' : hint === `ended:${rootRunId}`
}

/** What people are asked, when everything else that the request could do is done. */
async function questionsOf(rows: Reading, rootRunId: string): Promise<Stuck['approvals']> {
  if (await hasGoingOn(rows, rootRunId)) return []
  return (await openApprovals(rows, rootRunId)).map(({ id, hash, tool, reason }) => ({ id, hash, tool, reason }))
}

/** What people are asked by the run that an input waits behind: until they answer nobody takes it. */
async function heldUpBy(rows: Reading, { sessionId }: InboxItem): Promise<Stuck['approvals']> {
  const ahead = await liveRunOf(rows, sessionId)
  return ahead ? questionsOf(rows, ahead.rootRunId) : []
}

/** The request, if it is quiet; otherwise what is known of it. */
async function lookUp(
  rows: Reading,
  itemId: string,
  heedQuestions: boolean,
): Promise<Request | (Stuck & { rootRunId: string | undefined })> {
  const item = await findItem(rows, itemId)
  const run = item?.runId ? await findRun(rows, item.runId) : undefined
  const rootRunId = run?.rootRunId
  if (!item) return { rootRunId, approvals: [] }
  if (!run || rootRunId === undefined) return { rootRunId, approvals: heedQuestions ? await heldUpBy(rows, item) : [] }
  if (item.consumedByTurn === null || (await hasUnfinished(rows, rootRunId)) || (await isUnanswered(rows, rootRunId)))
    return { rootRunId, approvals: heedQuestions ? await questionsOf(rows, rootRunId) : [] }
  const turnIds = await turnsOfRequest(rows, run)
  const answer = await findTurn(rows, turnIds.at(-1) ?? item.consumedByTurn)
  if (!answer) return { rootRunId, approvals: [] }
  return { run, answer, turnIds, usage: await spentBy(rows, { rootRunId }) }
}
