import type { Millis } from '../../domain/clock.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { hasUnindexed } from '../../store/rows/search/documents.ts'
import { filesToCheck, type WrittenFile } from '../../store/rows/search/written-files.ts'
import type { Runtime } from '../runtime.ts'
import { lookAtFile } from './index-files.ts'
import { indexBatch } from './index-turns.ts'

/** Delay of the first step, so that a short command is answered before it. */
const firstDelay: Millis = 1000
const interval: Millis = 5000
/** Rest after a step, as a multiple of its time: other work of the process comes first. */
const restPerStep = 4
const minPause: Millis = 2
const maxIndexPause: Millis = 1000
/** Time for which a search indexes what is new before it looks. */
const briefTime: Millis = 300
/** Max time that a search waits for it: another process may hold the rows. */
const briefTimeout: Millis = 2000
const filesPerLook = 20

/** Keeps the search index up to date, beside the work. */
export interface SearchIndex {
  /** Indexes what is new repeatedly, starting in a second; on abort it ends after the current step. */
  keepUp(signal: AbortSignal, onError: (error: unknown) => void): Promise<void>
  /** Indexes what is newest within a short time. Must not throw: the search works without it. */
  catchUp(): Promise<void>
  /** Indexes these files again. Must not throw. */
  refresh(files: readonly WrittenFile[]): Promise<void>
}

export function searchIndex(context: Pick<Runtime, 'store' | 'clock'> & { protect: ProtectedPlaces }): SearchIndex {
  const { store, clock } = context
  return {
    async keepUp(signal, onError) {
      await clock.sleep(firstDelay, signal)
      while (!signal.aborted) {
        await indexAll(signal, () => true).catch(onError)
        await clock.sleep(interval, signal)
      }
    },
    async catchUp() {
      const enough = new AbortController()
      const until = clock.monotonic() + briefTime
      const indexing = indexAll(enough.signal, () => clock.monotonic() < until, { isAwaited: true }).catch(
        () => undefined,
      )
      await Promise.race([indexing, clock.sleep(briefTimeout, enough.signal)])
      enough.abort()
    },
    async refresh(files) {
      for (const file of files) await lookAtFile(context, file, async () => undefined).catch(() => undefined)
    },
  }

  async function indexAll(signal: AbortSignal, mayGoOn: () => boolean, { isAwaited = false } = {}): Promise<void> {
    const isStopped = () => signal.aborted || !mayGoOn()
    let began = clock.monotonic()
    const pause = async () => {
      const took = clock.monotonic() - began
      if (!isAwaited) await clock.sleep(Math.min(maxIndexPause, Math.max(minPause, took * restPerStep)), signal)
      began = clock.monotonic()
    }
    // Read first: an idle process must not write.
    for (let isMore = await store.read(hasUnindexed); isMore && !isStopped(); await pause())
      isMore = await store.write('index', indexBatch)
    // Each look sets the next one, so that the list gets shorter.
    for (let files = await dueFiles(); files.length > 0 && !isStopped(); files = await dueFiles()) {
      for (const file of files) {
        if (isStopped()) return
        await lookAtFile(context, file, pause)
        await pause()
      }
    }
  }

  function dueFiles(): Promise<WrittenFile[]> {
    return store.read((rows) => filesToCheck(rows, clock.now(), filesPerLook))
  }
}
