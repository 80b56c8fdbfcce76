import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '../../src/domain/event.ts'
import { raw } from '../../src/store/raw.ts'
import { pruneEvents, readEvents, recordEvent } from '../../src/store/rows/events.ts'
import type { Store, Tx } from '../../src/store/store.ts'
import { newTestRuntime } from '../setup/places.ts'
import { gate, note } from './notes.ts'

// SQLite's one writer commits in the order of its events. On PostgreSQL transactions overlap as they like.

async function newStore() {
  const runtime = await newTestRuntime('postgres')
  onTestFinished(runtime.remove)
  return runtime.store
}

test('an event waits for those of older transactions, and is heard after them', async () => {
  const store = await newStore()
  const follower = newFollower(store)
  const older = await begin(store)
  const younger = await begin(store)
  await older.happen('older')
  await younger.happen('younger')
  await younger.commit()
  await follower.look()
  expect(follower.heard).toEqual([])
  await older.commit()
  await follower.untilHeard(2)
  expect(follower.heard).toEqual(['older', 'younger'])
})

test('the order is that of the transactions, even where the events were numbered the other way round', async () => {
  const store = await newStore()
  const follower = newFollower(store)
  const older = await begin(store)
  const younger = await begin(store)
  await older.write('a')
  await younger.happen('first number')
  await older.happen('second number')
  await younger.commit()
  await older.commit()
  await follower.untilHeard(2)
  expect(follower.heard).toEqual(['second number', 'first number'])
})

test('an event is not held up by an older transaction that fails', async () => {
  const store = await newStore()
  const follower = newFollower(store)
  const older = await begin(store)
  const younger = await begin(store)
  await older.happen('older')
  await younger.happen('younger')
  await younger.commit()
  await older.fail()
  await follower.untilHeard(1)
  expect(follower.heard).toEqual(['younger'])
})

test('what an open transaction tells after younger events were pruned is still heard', async () => {
  const store = await newStore()
  const older = await begin(store)
  await older.happen('older')
  await store.write('append', (tx) => happen(tx, 'younger'))
  await store.write('prune', (tx) => pruneEvents(tx, Number.MAX_SAFE_INTEGER))
  await older.commit()
  const follower = newFollower(store)
  await follower.untilHeard(1)
  expect(follower.heard).toEqual(['older'])
})

test('eight writers that overlap in any way are heard whole: nothing is missed, nothing twice', async () => {
  const store = await newStore()
  const steps = Array.from({ length: 8 }, (_, writer) => Array(4).fill(writer)).flat()
  const schedules = fc.shuffledSubarray(steps, { minLength: steps.length })
  let round = 0
  await fc.assert(
    fc.asyncProperty(schedules, fc.array(fc.nat(31), { maxLength: 8 }), async (schedule, looks) => {
      const name = `round ${round++}`
      const [last] = (await store.read((rows) => readEvents(rows))).slice(-1)
      const follower = newFollower(store, last?.cursor)
      const writers = await Promise.all(Array.from({ length: 8 }, () => begin(store)))
      const left = writers.map(() => 4)
      for (const [index, number] of schedule.entries()) {
        const step = (left[number] ?? 0) - 1
        left[number] = step
        if (step === 0) await writers[number]?.commit()
        else await writers[number]?.happen(`${name}: ${number}.${step}`)
        if (looks.includes(index)) await follower.look()
      }
      await follower.untilHeard(24)
      const all = writers.flatMap((_, number) => [1, 2, 3].map((step) => `${name}: ${number}.${step}`))
      expect(follower.heard.toSorted()).toEqual(all.toSorted())
      await follower.look()
      expect(follower.heard.length).toBe(24)
    }),
    { numRuns: 8 },
  )
})

/** A transaction that a test moves on step by step. */
async function begin(store: Store) {
  const began = gate()
  let next = gate<(tx: Tx) => Promise<unknown>>()
  let done = gate()
  const write = store.write('append', async (tx) => {
    began.resolve()
    for (;;) {
      const step = await next.promise
      next = gate()
      if ((await step(tx)) === 'end') return
      done.resolve()
    }
  })
  write.catch(() => undefined)
  const move = (step: (tx: Tx) => Promise<unknown>) => {
    done = gate()
    next.resolve(step)
    return done.promise
  }
  await began.promise
  return {
    happen: (subject: string) => move((tx) => happen(tx, subject)),
    write: (name: string) => move((tx) => note(tx, name)),
    commit() {
      next.resolve(async () => 'end')
      return write
    },
    fail() {
      next.resolve(() => Promise.reject(new Error('given up')))
      return write.catch(() => undefined)
    },
  }
}

/** Reads on from its own cursor each time it is asked to look. */
function newFollower(store: Store, cursor?: string) {
  const heard: string[] = []
  const look = async () => {
    const events: Event[] = await store.read((rows) => readEvents(rows, cursor))
    cursor = events.at(-1)?.cursor ?? cursor
    heard.push(...events.map(({ subject }) => subject))
  }
  return {
    heard,
    look,
    // Transactions of other tests hold events up as well, so the first look may be too early.
    async untilHeard(count: number) {
      while (heard.length < count) await look()
    },
  }
}

async function happen(tx: Tx, subject: string): Promise<void> {
  await recordEvent(tx, { at: 1, kind: 'turn.added', subject, payload: {}, scope: null })
  // Events are stored at the end of a transaction; what it wrote before gives it its place in the order.
  await tx.first(raw(tx.build, sql`SELECT pg_current_xact_id()`))
}
