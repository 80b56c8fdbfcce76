import type { Clock } from '../../src/domain/clock.ts'
import type { HomeFiles } from '../../src/domain/home-files.ts'
import { fileIndex } from '../../src/memory/index-files.ts'
import type { Store } from '../../src/store/store.ts'

/**
 * One look at all files, without its pauses: it depends on nothing but files and rows. Answers what went wrong.
 */
export async function wholeLook(
  { store, clock }: { store: Store; clock: Clock },
  files: HomeFiles,
  signal?: AbortSignal,
): Promise<unknown[]> {
  const over = new AbortController()
  const troubles: unknown[] = []
  const sleep = async (duration: number) => {
    // Between two looks it sleeps for long.
    if (duration >= 10_000) over.abort()
    await new Promise(setImmediate)
  }
  const until = signal ? AbortSignal.any([signal, over.signal]) : over.signal
  await fileIndex({ store, clock: { ...clock, sleep } }, files).keepUp(until, (error) => troubles.push(error))
  return troubles
}
