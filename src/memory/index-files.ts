import { hash } from 'node:crypto'
import type { Clock, Millis } from '../domain/clock.ts'
import type { HomeFile, HomeFiles } from '../domain/home-files.ts'
import { type Passage, passagesIn } from '../domain/passage.ts'
import { type DigestedPassage, dropStep, indexStep, type KnownFile, knownFiles } from '../store/home-files.ts'
import type { Store } from '../store/store.ts'

/** Whoever only asks something has its answer before we begin. */
const firstLookAfter: Millis = 1000
const lookEvery: Millis = 10_000
/** Between two pieces of work, and at least as long as the piece took: the process is there for others first. */
const shortestPause: Millis = 2
const longestPause: Millis = 1000
const rowsAtOnce = 1000
/** What a look may cost somebody who waits for it. */
const briefly = { files: 200, time: 300, patience: 2000 }
/** After so many the rows cannot be reached, or worse: the next look tries again. */
const mostTroubles = 3
/** A file that was written so shortly before it was read may have been written again in the same tick of its clock. */
const tick: Millis = 2000

/** Keeps the rows of the owner's files in step with the files. */
export interface FileIndex {
  /** Looks for changes again and again, from a second after now on; at the signal it ends with the step it is at. */
  keepUp(signal: AbortSignal, onTrouble: (error: unknown) => void): Promise<void>
  /** Takes in what was written last, as far as a moment allows. Must not throw: there is an answer without it, too. */
  lookBriefly(): Promise<void>
}

export function fileIndex({ store, clock }: { store: Store; clock: Clock }, files: HomeFiles): FileIndex {
  return {
    async keepUp(signal, onTrouble) {
      await clock.sleep(firstLookAfter, signal)
      while (!signal.aborted) {
        await look(signal, () => true).catch(onTrouble)
        await clock.sleep(lookEvery, signal)
      }
    },
    async lookBriefly() {
      const enough = new AbortController()
      let left = briefly.files
      let until: Millis | undefined
      const looking = look(enough.signal, () => {
        until ??= clock.monotonic() + briefly.time
        return left-- > 0 && clock.monotonic() < until
      }).catch(() => undefined)
      // Rows that somebody else holds are not waited for.
      await Promise.race([looking, clock.sleep(briefly.patience, enough.signal)])
      enough.abort()
    },
  }

  /** Compares every file with its row and takes in what differs, what was written last first. */
  async function look(signal: AbortSignal, mayGoOn: () => boolean): Promise<void> {
    const known = await readKnown(signal)
    const changed: HomeFile[] = []
    for await (const some of files.walk()) {
      for (const file of some) {
        if (isChanged(known.get(file.path), file)) changed.push(file)
        known.delete(file.path)
      }
      await clock.sleep(shortestPause, signal)
      if (signal.aborted) return
    }
    const newest = changed.sort((a, b) => b.modifiedAt - a.modifiedAt).map(({ path }) => path)
    // What is left of those that are known was not met: gone, unless it came back meanwhile.
    const troubles: unknown[] = []
    for (const path of inTurn(newest, [...known.keys()])) {
      if (signal.aborted || !mayGoOn() || troubles.length === mostTroubles) break
      // One that fails keeps none of the others from their turn.
      await takeIn(path, signal).catch((error) => troubles.push(error))
    }
    if (troubles.length > 0) throw troubles[0]
  }

  async function readKnown(signal: AbortSignal): Promise<Map<string, KnownFile>> {
    const known = new Map<string, KnownFile>()
    for (let after = '', isMore = true; isMore && !signal.aborted; ) {
      const page = await store.read((rows) => knownFiles(rows, after, rowsAtOnce))
      for (const file of page) known.set(file.path, file)
      after = page.at(-1)?.path ?? after
      isMore = page.length === rowsAtOnce
      if (isMore) await clock.sleep(shortestPause, signal)
    }
    return known
  }

  /** One file, in as many small transactions as it needs; given up between two of them, a later look goes on. */
  async function takeIn(path: string, signal: AbortSignal): Promise<void> {
    const file = await files.read(path)
    if (file === 'later') return
    const passages = file ? passagesIn(file.text).map(digested) : []
    for (let isDone = false; !isDone && !signal.aborted; ) {
      const began = clock.monotonic()
      const now = clock.now()
      isDone = await store.write('index', (tx) => (file ? indexStep(tx, file, passages, now) : dropStep(tx, path)))
      await clock.sleep(Math.min(longestPause, Math.max(shortestPause, clock.monotonic() - began)), signal)
    }
  }
}

/** One of each as long as there are any: neither many that came nor many that went keep the others waiting. */
function inTurn(some: readonly string[], others: readonly string[]): string[] {
  const all = Array.from({ length: Math.max(some.length, others.length) }, (_, at) => [some[at], others[at]])
  return all.flat().filter((each) => each !== undefined)
}

function isChanged(known: KnownFile | undefined, { size, modifiedAt }: HomeFile): boolean {
  return known?.size !== size || known.modifiedAt !== modifiedAt || Math.abs(known.indexedAt - known.modifiedAt) < tick
}

function digested(passage: Passage): DigestedPassage {
  const { heading, text } = passage
  return { ...passage, digest: hash('sha256', JSON.stringify([heading, text])).slice(0, 32) }
}
