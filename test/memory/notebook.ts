import { mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { HomeFiles } from '../../src/domain/home-files.ts'
import { homeFiles } from '../../src/home/home-files.ts'
import { recallPassages } from '../../src/memory/recall-passages.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing.ts'
import { type Database, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { wholeLook } from './whole-look.ts'

/** A home with notes, rows for them, and a clock that stands still. */
export interface Notebook {
  home: string
  runtime: TestRuntime
  clock: ManualClock
  files: HomeFiles
  /** Writes a note that was last changed so many seconds ago. */
  put(path: string, text: string, secondsAgo?: number): void
  rename(from: string, to: string): void
  drop(path: string): void
  /** One whole look; of other files or other rows where they are given. Answers what went wrong. */
  look(parts?: { files?: HomeFiles; store?: Store; signal?: AbortSignal }): Promise<unknown[]>
  /** Resolves when a promise does; the clock goes on meanwhile. */
  passing<T>(promise: Promise<T>): Promise<T>
  /** `path:line text` of what fits, best first. */
  found(question: string): Promise<string[]>
  rows(): Promise<Rows>
  remove(): Promise<void>
}

/** Everything that an index keeps, without numbers that mean nothing. */
export interface Rows {
  files: { path: string; size: number; hash: string; passages: number }[]
  passages: { path: string; line: number; text: string }[]
  words: { path: string | null; word: string; hits: number }[]
}

export async function newNotebook(database: Database): Promise<Notebook> {
  const home = mkdtempSync(join(tmpdir(), 'heddle-notebook-'))
  const clock = manualClock(Date.UTC(2026, 10, 7))
  // The store's own pauses are those of the machine.
  const runtime = { ...(await newTestRuntime(database)), clock }
  const passing: Notebook['passing'] = async (promise) => {
    let isDone = false
    const done = promise.finally(() => {
      isDone = true
    })
    done.catch(() => undefined)
    while (!isDone) {
      await clock.advance(1)
      await new Promise(setImmediate)
    }
    return done
  }
  return {
    home,
    runtime,
    clock,
    files: homeFiles(home),
    put(path, text, secondsAgo = 60) {
      mkdirSync(dirname(join(home, path)), { recursive: true })
      writeFileSync(join(home, path), text)
      utimesSync(join(home, path), 0, clock.now() / 1000 - secondsAgo)
    },
    rename: (from, to) => renameSync(join(home, from), join(home, to)),
    drop: (path) => rmSync(join(home, path)),
    passing,
    look: ({ files = homeFiles(home), store = runtime.store, signal } = {}) =>
      wholeLook({ store, clock }, files, signal),
    found: (question) =>
      runtime.store.read(async (rows) =>
        (await recallPassages(rows, question, { home: '', now: clock.now(), limit: 10 })).map(
          ({ passage: { path, line, text } }) => `${path}:${line} ${text}`,
        ),
      ),
    rows: () => rowsIn(runtime.store),
    async remove() {
      await runtime.remove()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** What is kept, in an order of its own. */
export function rowsIn(store: Store): Promise<Rows> {
  return store.read(async (rows) => {
    const inFiles = rows.build.selectFrom('passages').innerJoin('home_files', 'home_files.id', 'passages.file_id')
    return {
      files: await rows.all(
        rows.build.selectFrom('home_files').select(['path', 'size', 'hash', 'passages']).orderBy('path'),
      ),
      passages: await rows.all(
        inFiles.select(['path', 'line', 'text']).orderBy('path').orderBy('line').orderBy('passages.id'),
      ),
      // Those that nobody has any more would be here, too.
      words: await rows.all(
        rows.build
          .selectFrom('passage_words')
          .leftJoin('passages', 'passages.id', 'passage_id')
          .leftJoin('home_files', 'home_files.id', 'file_id')
          .select(['path', 'word', 'hits'])
          .orderBy('path')
          .orderBy('line')
          .orderBy('word'),
      ),
    }
  })
}
