import type { Millis } from '../../../domain/clock.ts'
import type { Reading } from '../../../store/store.ts'
import type { Runtime } from '../../runtime.ts'

/** Max time between two polls: a hint may be lost, another process may have written, and the clock may have been set. */
const pollInterval: Millis = 10_000

/** Pause before something that is due and could not be handled is tried again. */
const retryDelay: Millis = 1000

/** Rows of one kind that wait for a moment. */
export interface DueSource {
  /** The moment of the first of them; undefined if there is none. */
  next(rows: Reading, now: Millis): Promise<Millis | undefined>
  /** Handles all that are due. Must be safe to call in several processes at once. */
  handle(now: Millis): Promise<void>
  /** Ends what `handle` left under way. Must not throw. */
  stop?(): Promise<void>
}

/** Context of `watchDue`. */
export interface DueContext extends Pick<Runtime, 'store' | 'clock'> {
  onError(error: unknown): void
}

/**
 * Handles what is due, with one sleep for all sources: until the first moment of any of them, cut short by the hint `due`.
 * Between two polls no statement runs.
 */
export async function watchDue(
  context: DueContext,
  sources: readonly DueSource[],
  stopped: AbortSignal,
): Promise<void> {
  let hinted = new AbortController()
  const stopListening = context.store.onHint((hint) => {
    if (hint === 'due') hinted.abort()
  })
  while (!stopped.aborted) {
    // Armed before polling, so that a write during the poll is not missed.
    hinted = new AbortController()
    const began = context.clock.now()
    const moments: Millis[] = []
    for (const source of sources) moments.push(await handleSource(context, source))
    const first = Math.min(...moments)
    const left = first - context.clock.now()
    // Became due while polling.
    if (first > began && left <= 0) continue
    await context.clock.sleep(Math.min(pollInterval, Math.max(0, left)), AbortSignal.any([stopped, hinted.signal]))
  }
  stopListening()
  await Promise.all(sources.map((source) => source.stop?.()))
}

/**
 * Handles what is due of one source; returns the moment at which to look again. A source that fails must not keep the
 * others waiting.
 */
async function handleSource({ store, clock, onError }: DueContext, source: DueSource): Promise<Millis> {
  const next = async () => (await store.read((rows) => source.next(rows, clock.now()))) ?? Number.POSITIVE_INFINITY
  try {
    const first = await next()
    const now = clock.now()
    if (first > now) return first
    await source.handle(now)
    const second = await next()
    return second > now ? second : clock.now() + retryDelay
  } catch (error) {
    onError(error)
    return clock.now() + retryDelay
  }
}
