import type { Clock, Millis } from '../domain/clock.ts'
import type { HomeFile, HomeFiles } from '../domain/home-files.ts'
import { passagesIn } from '../domain/text/passage.ts'
import { adoptFiles, dropStep, indexStep, type KnownFile, knownFiles } from '../store/knowledge/home-files.ts'
import { withDigest } from '../store/knowledge/passage-changes.ts'
import type { Store } from '../store/store.ts'

/** Delay of the first scan, so that a short command is answered before it starts. */
const firstScanDelay: Millis = 1000
const scanInterval: Millis = 10_000
/** Pause between two steps, at least as long as the step took: other work of the process comes first. */
const minPause: Millis = 2
const maxIndexPause: Millis = 1000
const pageSize = 1000
/** Limits of a scan that a user waits for. */
const briefLimits = { files: 200, time: 300, timeout: 2000 }
/** Max failures of one scan; the next scan retries. */
const maxFailures = 3
/** A file read this soon after it was written may have been written again with the same mtime. */
const mtimeGranularity: Millis = 2000

/** Keeps the index of the user's files up to date. */
export interface FileIndex {
  /** Identity of the home whose files it keeps. */
  home: string
  /** Scans for changes repeatedly, starting in a second; on abort it ends after the current step. */
  keepUp(signal: AbortSignal, onError: (error: unknown) => void): Promise<void>
  /** Indexes recent changes within a short time limit. Must not throw: the search works without it. */
  lookBriefly(): Promise<void>
}

export function fileIndex({ store, clock }: { store: Store; clock: Clock }, files: HomeFiles): FileIndex {
  const { home } = files
  let hasAdopted = false
  return {
    home,
    async keepUp(signal, onError) {
      await clock.sleep(firstScanDelay, signal)
      while (!signal.aborted) {
        await scan(signal, () => true).catch(onError)
        await clock.sleep(scanInterval, signal)
      }
    },
    async lookBriefly() {
      const enough = new AbortController()
      let left = briefLimits.files
      let until: Millis | undefined
      const scanning = scan(enough.signal, () => {
        until ??= clock.monotonic() + briefLimits.time
        return left-- > 0 && clock.monotonic() < until
      }).catch(() => undefined)
      // Do not wait for rows that another process has locked.
      await Promise.race([scanning, clock.sleep(briefLimits.timeout, enough.signal)])
      enough.abort()
    },
  }

  /** Compares all files with their rows and indexes the changed ones, most recently written first. */
  async function scan(signal: AbortSignal, mayGoOn: () => boolean): Promise<void> {
    if (!hasAdopted && home !== '') await store.write('index', (tx) => adoptFiles(tx, home))
    hasAdopted = true
    const known = await readIndexed(signal)
    const changed: HomeFile[] = []
    for await (const some of files.walk()) {
      for (const file of some) {
        if (isChanged(known.get(file.path), file)) changed.push(file)
        known.delete(file.path)
      }
      await clock.sleep(minPause, signal)
      if (signal.aborted) return
    }
    const newest = changed.sort((a, b) => b.modifiedAt - a.modifiedAt).map(({ path }) => path)
    // Indexed files that the walk did not find are gone, unless they came back meanwhile.
    const failures: unknown[] = []
    for (const path of interleave(newest, [...known.keys()])) {
      if (signal.aborted || !mayGoOn() || failures.length === maxFailures) break
      // A failing file must not stop the others.
      await indexFile(path, signal).catch((error) => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  async function readIndexed(signal: AbortSignal): Promise<Map<string, KnownFile>> {
    const known = new Map<string, KnownFile>()
    for (let after = '', isMore = true; isMore && !signal.aborted; ) {
      const page = await store.read((rows) => knownFiles(rows, home, { after, limit: pageSize }))
      for (const file of page) known.set(file.path, file)
      after = page.at(-1)?.path ?? after
      isMore = page.length === pageSize
      if (isMore) await clock.sleep(minPause, signal)
    }
    return known
  }

  /** Indexes one file in several small transactions; if stopped in between, a later scan continues. */
  async function indexFile(path: string, signal: AbortSignal): Promise<void> {
    const file = await files.read(path)
    if (file === 'later') return
    const passages = file ? passagesIn(file.text).map(withDigest) : []
    for (let isDone = false; !isDone && !signal.aborted; ) {
      const began = clock.monotonic()
      const now = clock.now()
      isDone = await store.write('index', (tx) =>
        file ? indexStep(tx, { ...file, home }, passages, now) : dropStep(tx, { home, path }),
      )
      await clock.sleep(Math.min(maxIndexPause, Math.max(minPause, clock.monotonic() - began)), signal)
    }
  }
}

/** Interleaves two lists: neither many changed nor many removed files delay the others. */
function interleave(some: readonly string[], others: readonly string[]): string[] {
  const all = Array.from({ length: Math.max(some.length, others.length) }, (_, at) => [some[at], others[at]])
  return all.flat().filter((each) => each !== undefined)
}

function isChanged(known: KnownFile | undefined, { size, modifiedAt }: HomeFile): boolean {
  return (
    known?.size !== size ||
    known.modifiedAt !== modifiedAt ||
    Math.abs(known.indexedAt - known.modifiedAt) < mtimeGranularity
  )
}
