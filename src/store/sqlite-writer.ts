import type { Millis } from '../domain/clock.ts'
import type { WriteArea } from '../domain/crash-points.ts'
import { HeddleError } from '../domain/errors.ts'
import { sqlite } from './dialect.ts'
import { BodyMisbehaved, explainSqlite, sqliteBusy, sqliteCode, sqliteFull, sqliteIoError } from './failures.ts'
import type { SqliteConnection } from './sqlite-connection.ts'
import type { Hint, StoreContext, Tx } from './store.ts'
import { Transaction } from './transaction.ts'

const batchBodies = 64
const batchTime: Millis = 5
const busyLimit: Millis = 30_000

interface Job {
  area: WriteArea
  body(tx: Tx): Promise<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
  /** Set when this body's batch did not fit on the disk: it is tried once more, by itself. */
  alone: boolean
}

interface Done {
  job: Job
  value: unknown
  hints: ReadonlySet<Hint>
}

/**
 * The one writer of a SQLite file: runs queued bodies strictly one after another, each in a savepoint, and commits
 * them together. Nobody is answered, and no hint goes out, before that COMMIT.
 */
export class SqliteWriter {
  readonly #connection: SqliteConnection
  readonly #explain: (error: unknown) => unknown
  readonly #context: StoreContext
  readonly #send: (hint: Hint) => void
  readonly #queue: Job[] = []
  #idle: Promise<void> = Promise.resolve()
  #working = false
  #refusal: unknown

  constructor(connection: SqliteConnection, file: string, context: StoreContext, send: (hint: Hint) => void) {
    this.#connection = connection
    this.#explain = (error) => explainSqlite(error, file)
    this.#context = context
    this.#send = send
  }

  write<T>(area: WriteArea, body: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#refusal) return Promise.reject(this.#refusal)
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ area, body, resolve: resolve as (value: unknown) => void, reject, alone: false })
      if (!this.#working) {
        this.#working = true
        this.#idle = this.#work()
      }
    })
  }

  /** Refuses new bodies, finishes the queued ones. */
  async close(): Promise<void> {
    this.#refusal ??= new HeddleError('store_closed', 'the store is closed', 'open it again')
    await this.#idle
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      if (await this.#begin()) {
        const done = await this.#runBatch()
        this.#commit(done)
      }
      // Answered callers, timers and sockets get their turn, and what they write joins the next batch.
      await new Promise(setImmediate)
    }
    this.#working = false
  }

  /** Takes the write lock without blocking the event loop; gives up for everyone who waited too long. */
  async #begin(): Promise<boolean> {
    const { clock } = this.#context
    const started = clock.monotonic()
    for (let pause = 1; ; pause = Math.min(pause * 2, 20)) {
      try {
        this.#connection.exec('BEGIN IMMEDIATE')
        return true
      } catch (error) {
        if (sqliteCode(error) !== sqliteBusy || clock.monotonic() - started > busyLimit) {
          this.#rejectAll(this.#queue.splice(0), error)
          return false
        }
      }
      await clock.sleep(pause)
    }
  }

  async #runBatch(): Promise<Done[]> {
    const { clock } = this.#context
    const done: Done[] = []
    const started = clock.monotonic()
    while (done.length < batchBodies && clock.monotonic() - started < batchTime) {
      const job = this.#queue[0]
      if (!job || (job.alone && done.length > 0)) break
      this.#queue.shift()
      const result = await this.#runBody(job)
      if (!this.#connection.inTransaction) {
        // SQLite gave up the whole batch: those before this one run again, this one is told.
        this.#queue.unshift(...done.map(({ job }) => job))
        job.reject('error' in result ? result.error : new BodyMisbehaved(`${job.area}: the transaction is gone`))
        return []
      }
      if ('error' in result) job.reject(result.error)
      else done.push(result)
      if (job.alone) break
    }
    return done
  }

  async #runBody(job: Job): Promise<Done | { error: unknown }> {
    const tx = new Transaction(job.area, sqlite, this.#connection, this.#explain)
    this.#connection.exec('SAVEPOINT body')
    const result = await settle(job, tx)
    tx.end()
    const failed = 'error' in result ? result : tx.failure
    if (!this.#connection.inTransaction)
      return failed ?? { error: new BodyMisbehaved(`${job.area}: the body ended the transaction`) }
    if (failed) this.#connection.exec('ROLLBACK TO body')
    this.#connection.exec('RELEASE body')
    return failed ?? { job, value: (result as { value: unknown }).value, hints: tx.hints }
  }

  #commit(done: Done[]): void {
    const areas = new Set(done.map(({ job }) => job.area))
    for (const area of areas) this.#context.crash(`${area}.before_commit`)
    try {
      if (this.#connection.inTransaction) this.#connection.exec('COMMIT')
    } catch (error) {
      this.#abandon(done, error)
      return
    }
    for (const area of areas) this.#context.crash(`${area}.after_commit`)
    for (const { job, value } of done) job.resolve(value)
    for (const hint of new Set(done.flatMap(({ hints }) => [...hints]))) this.#send(hint)
  }

  /** COMMIT failed: nothing of this batch counts. */
  #abandon(done: Done[], error: unknown): void {
    const code = sqliteCode(error)
    if (code === sqliteIoError) {
      // After a failed fsync nobody knows what the disk holds, and asking again may lie. Only a restart finds out.
      this.#refusal = this.#explain(error)
      this.#rejectAll([...done.map(({ job }) => job), ...this.#queue.splice(0)], error)
      this.#connection.close()
      return
    }
    if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK')
    // One large body may have filled the disk for small ones: each gets a transaction of its own before it is refused.
    const again = code === sqliteFull && done.length > 1 ? done.map(({ job }) => ({ ...job, alone: true })) : []
    this.#queue.unshift(...again)
    if (again.length === 0)
      this.#rejectAll(
        done.map(({ job }) => job),
        error,
      )
  }

  #rejectAll(jobs: Job[], error: unknown): void {
    for (const job of jobs) job.reject(this.#explain(error))
  }
}

/** Runs a body to its end, or to the next macrotask: whoever is not done by then awaited something else than `tx`. */
async function settle(job: Job, tx: Tx): Promise<{ value: unknown } | { error: unknown }> {
  let overdue: NodeJS.Immediate | undefined
  const late = new Promise<{ error: unknown }>((resolve) => {
    overdue = setImmediate(() =>
      resolve({ error: new BodyMisbehaved(`${job.area}: the body of write awaited something other than tx`) }),
    )
  })
  try {
    return await Promise.race([job.body(tx).then((value) => ({ value })), late])
  } catch (error) {
    return { error }
  } finally {
    clearImmediate(overdue)
  }
}
