import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Event } from '../../src/domain/event.ts'
import { append } from '../../src/engine/turns/append.ts'
import { openStore } from '../../src/store/open.ts'
import { followEvents, pruneEvents, readEvents, recordEvent } from '../../src/store/rows/events.ts'
import type { Reading, Store, Tx } from '../../src/store/store.ts'
import { systemClock } from '../../src/system.ts'
import { manualClock } from '../../src/testing.ts'
import { databases, newTestRuntime } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import type { Appending } from './appender.ts'
import { gate } from './notes.ts'
import { start } from './program.ts'

const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }
const expired = { code: 'cursor_expired', remedy: expect.stringContaining('retention.eventDays') }

describe.each(databases)('events on %s', (database) => {
  async function newContractWorld() {
    const runtime = await newTestRuntime(database)
    onTestFinished(runtime.remove)
    return runtime
  }

  test('three followers hear the same of eight writers: each turn once, none left out, each session in order', async () => {
    const runtime = await newContractWorld()
    const labels = Array.from({ length: 8 }, (_, number) => `s${number}`)
    const followers = [1, 2, 3].map(() => hear(runtime.store, 8 * 16))
    const write = async (label: string) => {
      for (let count = 0; count < 15; count++) await append(runtime, { folder: '/contract', label, draft })
    }
    await Promise.all(labels.map(write))
    const [first, ...others] = await Promise.all(followers)
    expectEachOnce(first ?? [], labels, 15)
    for (const other of others) expect(other).toEqual(first)
  })

  test('a follower hears all of eight writers in four other processes, whose hints never reach it', async () => {
    const runtime = await newContractWorld()
    const programs = [0, 1, 2, 3].map((number) => {
      const labels = [`left-${number}`, `right-${number}`]
      return start('appender', { place: runtime.place, labels, turns: 6 } satisfies Appending)
    })
    await Promise.all(programs.map((program) => program.hear()))
    const follower = hear(runtime.store, 8 * 7)
    for (const program of programs) program.tell('go')
    const labels = [0, 1, 2, 3].flatMap((number) => [`left-${number}`, `right-${number}`])
    expectEachOnce(await follower, labels, 6)
  })

  test('a hint that is lost is made good by the sweep', async () => {
    const runtime = await newContractWorld()
    const elsewhere = await openStore(runtime.place, context)
    onTestFinished(() => elsewhere.close())
    const clock = manualClock()
    const asleep = gate<number>()
    const sleep = (duration: number, signal?: AbortSignal) => {
      asleep.resolve(duration)
      return clock.sleep(duration, signal)
    }
    const heard: string[] = []
    const done = hear(runtime.store, 1, { clock: { ...clock, sleep }, onEvent: ({ subject }) => heard.push(subject) })
    expect(await asleep.promise).toBe(1000)
    await elsewhere.write('append', (tx) => happen(tx, 'turn:1'))
    await nextTurn()
    expect(heard).toEqual([])
    // On PostgreSQL an event waits until every older transaction of the server has ended, those of other tests too.
    while (heard.length === 0) {
      await clock.advance(1000)
      await nextTurn()
    }
    expect(await done).toMatchObject([{ subject: 'turn:1' }])
  })

  test('a hint wakes a follower before the sweep would', async () => {
    const { store } = await newContractWorld()
    const looks = [gate(), gate()]
    let sleeps = 0
    const { sleep } = manualClock()
    const clock = {
      ...systemClock,
      sleep(duration: number, signal?: AbortSignal) {
        looks[sleeps++]?.resolve()
        return sleep(duration, signal)
      },
    }
    const heard = hear(store, 1, { clock })
    await looks[0]?.promise
    await store.write('append', (tx) => happen(tx, 'turn:1'))
    // On PostgreSQL it may wake in vain, held up by a transaction of another test.
    await Promise.race([heard, looks[1]?.promise])
  })

  test('what a body that failed had to tell is never heard', async () => {
    const { store } = await newContractWorld()
    const body = async (tx: Tx) => {
      await happen(tx, 'turn:gone')
      throw new Error('no')
    }
    await expect(store.write('append', body)).rejects.toThrow('no')
    await store.write('append', (tx) => happen(tx, 'turn:1'))
    expect((await hear(store, 1)).map(({ subject }) => subject)).toEqual(['turn:1'])
  })

  test('a cursor holds across a restart, and an event is the same each time it is read', async () => {
    const runtime = await newContractWorld()
    await tell(runtime.store, ['turn:1', 'turn:2', 'turn:3'])
    const [first, ...rest] = await hear(runtime.store, 3)
    const again = await openStore(runtime.place, context)
    onTestFinished(() => again.close())
    expect(await again.read((rows) => readEvents(rows, first?.cursor))).toEqual(rest)
    expect(await again.read((rows) => readEvents(rows, first?.cursor, 1))).toEqual(rest.slice(0, 1))
    expect(first).toEqual({
      cursor: first?.cursor,
      at: 7,
      kind: 'turn.added',
      subject: 'turn:1',
      payload: { a: ['é'] },
    })
    expect(await again.read((rows) => readEvents(rows, rest.at(-1)?.cursor))).toEqual([])
  })

  test('a cursor of another database is expired, and what never was one is refused', async () => {
    const { store } = await newContractWorld()
    const other = await newContractWorld()
    for (const each of [store, other.store]) await tell(each, ['turn:1'])
    const foreign = (await hear(other.store, 1))[0]?.cursor ?? ''
    const owner = Buffer.from((await hear(store, 1))[0]?.cursor ?? '', 'base64url')
      .toString()
      .split('.')[0]
    const forged = (position: string) => Buffer.from(`${owner}.${position}`).toString('base64url')
    const refusals = [
      ...[foreign, forged('99999999999999999999.1')].map((cursor) => ({ cursor, refusal: expired })),
      ...['', 'garbage', '💥', ...['', '-1.1', 'x.y', '1.1; --', '1.999999999999999999'].map(forged)].map((cursor) => ({
        cursor,
        refusal: { code: 'bad_cursor' },
      })),
    ]
    for (const { cursor, refusal } of refusals)
      await expect(
        store.read((rows) => readEvents(rows, cursor)),
        cursor,
      ).rejects.toMatchObject(refusal)
  })

  test('a cursor into events that were pruned is expired, one at their end is not', async () => {
    const { store } = await newContractWorld()
    await tell(store, ['turn:1', 'turn:2'], 10)
    await tell(store, ['turn:3', 'turn:4'], 20)
    const [one, two, ...kept] = await hear(store, 4)
    expect(await store.write('prune', (tx) => pruneEvents(tx, 15))).toBe(2)
    expect(await store.write('prune', (tx) => pruneEvents(tx, 15))).toBe(0)
    await expect(store.read((rows) => readEvents(rows, one?.cursor))).rejects.toMatchObject(expired)
    expect(await store.read((rows) => readEvents(rows, two?.cursor))).toEqual(kept)
    expect(await store.read((rows) => readEvents(rows))).toEqual(kept)
    await expect(hear(store, 1, { after: one?.cursor })).rejects.toMatchObject(expired)
  })

  test('events that are pruned while somebody reads are missed with a word, never in silence', async () => {
    const { store } = await newContractWorld()
    await tell(store, ['turn:1', 'turn:2', 'turn:3'], 10)
    const [one] = await hear(store, 3)
    const reading = store.read((rows) => {
      const pruned: Reading['all'] = async (query) => {
        await store.write('prune', (tx) => pruneEvents(tx, 15))
        return rows.all(query)
      }
      return readEvents({ ...rows, all: pruned }, one?.cursor)
    })
    await expect(reading).rejects.toMatchObject(expired)
  })

  test('following ends at once on abort, asleep or in the middle of many', async () => {
    const { store } = await newContractWorld()
    await tell(store, ['turn:1', 'turn:2', 'turn:3'])
    const heard: string[] = []
    const stop = new AbortController()
    for await (const { subject } of followEvents(store, context, { signal: stop.signal })) {
      heard.push(subject)
      if (heard.length === 2) stop.abort()
    }
    expect(heard).toEqual(['turn:1', 'turn:2'])

    const asleep = gate()
    const never = manualClock()
    const sleep = (duration: number, signal?: AbortSignal) => {
      asleep.resolve()
      return never.sleep(duration, signal)
    }
    const sleeper = new AbortController()
    const following = followEvents(store, { clock: { ...never, sleep } }, { signal: sleeper.signal })
    const rest = Array.from({ length: 4 }, () => following[Symbol.asyncIterator]().next())
    await asleep.promise
    sleeper.abort()
    expect((await Promise.all(rest)).map(({ done }) => done)).toEqual([false, false, false, true])
  })
})

/** Follows until so many events were heard. */
async function hear(
  store: Store,
  count: number,
  options: { clock?: typeof systemClock; after?: string | undefined; onEvent?: (event: Event) => void } = {},
): Promise<Event[]> {
  const heard: Event[] = []
  const stop = new AbortController()
  const { clock = systemClock, after, onEvent } = options
  for await (const event of followEvents(store, { clock }, { signal: stop.signal, ...(after && { after }) })) {
    onEvent?.(event)
    if (heard.push(event) === count) stop.abort()
  }
  return heard
}

async function tell(store: Store, subjects: string[], at = 7): Promise<void> {
  for (const subject of subjects) await store.write('append', (tx) => happen(tx, subject, at))
}

function happen(tx: Tx, subject: string, at = 7): Promise<void> {
  return recordEvent(tx, { at, kind: 'turn.added', subject, payload: { a: ['é'] }, scope: null })
}

/** Each session was made and then grew turn by turn, and nothing was heard twice. */
function expectEachOnce(events: Event[], labels: string[], turns: number): void {
  expect(new Set(events.map(({ cursor }) => cursor)).size).toBe(events.length)
  const depths = (label: string) =>
    events.filter(({ payload }) => payload['session'] === label).map(({ payload }) => payload['depth'])
  const upTo = Array.from({ length: turns }, (_, index) => index + 1)
  expect(labels.map(depths)).toEqual(labels.map(() => upTo))
  const made = events.filter(({ kind }) => kind === 'session.created').map(({ subject }) => subject)
  expect(made.sort()).toEqual(labels.map((label) => `session:${label}`).sort())
}
