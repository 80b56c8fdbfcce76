import type { Millis } from '../../domain/clock.ts'
import type { WriteArea } from '../../domain/crash-points.ts'
import { sqlite } from '../dialect.ts'
import { explainSqlite, sqliteBusy, sqliteCode, sqliteIoError, TransactionMisuse } from '../failures.ts'
import type { Hint, StoreContext, Tx } from '../store.ts'
import { Transaction } from '../transaction.ts'
import type { SqliteConnection } from './connection.ts'

const batchBodies = 64
const batchTime: Millis = 5
/** How long a write waits for a locked file. */
export const busyLimit: Millis = 30_000

interface QueuedWrite {
  area: WriteArea
  body(tx: Tx): Promise<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
  /** Set when this body's batch was rolled back: it runs once more, in a batch of its own. */
  alone: boolean
}

/** A body that has run, with its outcome: final only once the batch is committed. */
interface Member {
  job: QueuedWrite
  outcome: { value: unknown } | { error: unknown }
  hints: ReadonlySet<Hint>
}

/**
 * The one writer of a SQLite file: runs queued bodies strictly one after another, each but the first in a savepoint, and
 * commits them together. No promise resolves and no hint is sent before that COMMIT.
 */
export class SqliteWriter {
  readonly #connection: SqliteConnection
  readonly #explain: (error: unknown) => unknown
  readonly #context: StoreContext
  readonly #send: (hint: Hint) => void
  readonly #queue: QueuedWrite[] = []
  #working = false
  /** How long the last COMMIT took: what waits for others waits as long at most. */
  #commitTime: Millis = 0
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
        void this.#work()
      }
    })
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#collect()
      if (await this.#begin()) {
        const batch = await this.#runBatch()
        this.#commit(batch)
      }
    }
    this.#working = false
  }

  /**
   * Yields to callers, timers and sockets as long as each turn of the event loop brings another body: they share the commit.
   * Node accepts one connection a turn, so without this each of many clients would have a commit of its own.
   */
  async #collect(): Promise<void> {
    const { clock } = this.#context
    const limit = clock.monotonic() + Math.max(batchTime, this.#commitTime)
    // The first yield only ends the turn under way.
    await new Promise(setImmediate)
    for (let seen = 0; seen < this.#queue.length && seen < batchBodies && clock.monotonic() < limit; ) {
      seen = this.#queue.length
      await new Promise(setImmediate)
    }
  }

  /** Takes the write lock without blocking the event loop; on timeout rejects all queued bodies. */
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

  async #runBatch(): Promise<Member[]> {
    const { clock } = this.#context
    const batch: Member[] = []
    const started = clock.monotonic()
    while (batch.length < batchBodies && clock.monotonic() - started < batchTime) {
      const job = this.#queue[0]
      if (!job || (job.alone && batch.length > 0)) break
      this.#queue.shift()
      const isFirst = batch.length === 0
      if (!isFirst) this.#connection.exec('SAVEPOINT body')
      const member = await this.#runBody(job)
      if (isFirst && 'error' in member.outcome) {
        // Nothing else is in this transaction, and no other body has read from it.
        if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK')
        settleJob(member)
        return []
      }
      if (!isFirst) this.#endSavepoint(member)
      batch.push(member)
      if (!this.#connection.inTransaction) {
        // SQLite rolled back on its own, as it does when the disk is full or fails.
        this.#retryAlone(batch, () => settleJob(member))
        return []
      }
      if (job.alone) break
    }
    return batch
  }

  async #runBody(job: QueuedWrite): Promise<Member> {
    const tx = new Transaction(job.area, sqlite, this.#connection, this.#explain)
    let outcome = await runToEnd(job, tx)
    if (!('error' in outcome) && !tx.failure && this.#connection.inTransaction) tx.sendRest()
    tx.end()
    if (!('error' in outcome) && tx.failure) outcome = tx.failure
    if (!this.#connection.inTransaction && !('error' in outcome))
      outcome = { error: new TransactionMisuse(`${job.area}: the body ended the transaction`) }
    return { job, outcome, hints: tx.hints }
  }

  #endSavepoint({ outcome }: Member): void {
    if (!this.#connection.inTransaction) return
    if ('error' in outcome) this.#connection.exec('ROLLBACK TO body')
    this.#connection.exec('RELEASE body')
  }

  #commit(batch: Member[]): void {
    const stored = batch.filter(({ outcome }) => 'value' in outcome)
    const areas = new Set(stored.map(({ job }) => job.area))
    for (const area of areas) this.#context.crash(`${area}.before_commit`)
    const { clock } = this.#context
    const started = clock.monotonic()
    try {
      if (this.#connection.inTransaction) this.#connection.exec('COMMIT')
      this.#commitTime = clock.monotonic() - started
    } catch (error) {
      this.#failCommit(batch, error)
      return
    }
    for (const area of areas) this.#context.crash(`${area}.after_commit`)
    // Failed bodies are rejected only now, too: they may have read uncommitted rows of the same batch.
    for (const member of batch) settleJob(member)
    for (const hint of new Set(stored.flatMap(({ hints }) => [...hints]))) this.#send(hint)
  }

  /** COMMIT failed: nothing of this batch is stored. */
  #failCommit(batch: Member[], error: unknown): void {
    const jobs = batch.map(({ job }) => job)
    if (sqliteCode(error) === sqliteIoError) {
      // After a failed fsync the state of the disk is unknown, and a second fsync may lie. Only a restart finds out.
      this.#refusal = this.#explain(error)
      this.#rejectAll([...jobs, ...this.#queue.splice(0)], error)
      this.#connection.close()
      return
    }
    if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK')
    this.#retryAlone(batch, () => this.#rejectAll(jobs, error))
  }

  /** The batch was rolled back, perhaps because of one body: each runs again alone, and a body that was alone is rejected. */
  #retryAlone(batch: Member[], refuse: () => void): void {
    if (batch.length === 1) refuse()
    else this.#queue.unshift(...batch.map(({ job }) => ({ ...job, alone: true })))
  }

  #rejectAll(jobs: QueuedWrite[], error: unknown): void {
    for (const job of jobs) job.reject(this.#explain(error))
  }
}

function settleJob({ job, outcome }: Member): void {
  if ('error' in outcome) job.reject(outcome.error)
  else job.resolve(outcome.value)
}

/**
 * Runs a body to its end. Statements resolve within the microtask queue, so a body that is not done when that queue is
 * empty awaits something other than `tx`.
 */
async function runToEnd(job: QueuedWrite, tx: Tx): Promise<Member['outcome']> {
  const late = Promise.withResolvers<{ error: unknown }>()
  let isDone = false
  process.nextTick(() => {
    if (isDone) return
    late.resolve({ error: new TransactionMisuse(`${job.area}: the body of write awaited something other than tx`) })
  })
  try {
    return await Promise.race([job.body(tx).then((value) => ({ value })), late.promise])
  } catch (error) {
    return { error }
  } finally {
    isDone = true
  }
}
