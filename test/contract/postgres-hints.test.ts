import pg from 'pg'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import type { Hint, Store } from '../../src/store/store.ts'
import { newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { untilSo } from '../setup/until.ts'

let runtime: TestRuntime
let other: Store
let server: pg.Client
beforeEach(async () => {
  runtime = await newTestRuntime('postgres')
  other = await openStore(runtime.place, context)
  server = new pg.Client(inject('postgresUrl'))
  await server.connect()
})
afterEach(async () => {
  await server.end()
  await other.close()
  await runtime.remove()
})

const send = (store: Store, ...hints: Hint[]) =>
  store.write('step', async (tx) => {
    for (const hint of hints) tx.hint(hint)
  })

/** Collects what a store is told; `until` resolves once it was told this. */
function hearing(store: Store) {
  const heard: Hint[] = []
  let told = Promise.withResolvers<void>()
  store.onHint((hint) => {
    heard.push(hint)
    told.resolve()
  })
  return {
    heard,
    async until(hint: Hint): Promise<void> {
      while (!heard.includes(hint)) {
        told = Promise.withResolvers()
        await told.promise
      }
    },
  }
}

/** The name of the connections that carry hints of this place. */
function hintConnections(): string {
  const { url } = runtime.place as { url: string }
  return `heddle hints ${new URL(url).searchParams.get('schema')}`
}

/** Resolves when both stores listen, as the server knows: what is sent before that is lost, as it may be. */
async function connected(...stores: [Store, Store]): Promise<void> {
  const stops = stores.map((store) => store.onHint(() => undefined))
  await untilSo(async () => {
    const { rowCount } = await server.query(
      "SELECT FROM pg_stat_activity WHERE application_name = $1 AND state = 'idle' AND query ~ '^(LISTEN|SELECT pg_notify)'",
      [hintConnections()],
    )
    return rowCount === stores.length
  })
  for (const stop of stops) stop()
}

test('a hint of one process reaches another, once, and its own listeners only once', async () => {
  await connected(runtime.store, other)
  const here = hearing(runtime.store)
  const there = hearing(other)
  await send(runtime.store, 'runs', 'ended:1')
  await send(runtime.store, 'ended:last')
  await there.until('ended:last')
  expect(there.heard).toEqual(['runs', 'ended:1', 'ended:last'])
  // An answer of the other has crossed whatever the server could have sent back to us.
  await send(other, 'ended:answer')
  await here.until('ended:answer')
  expect(here.heard).toEqual(['runs', 'ended:1', 'ended:last', 'ended:answer'])
})

test('nothing is sent for a change that is rolled back', async () => {
  await connected(runtime.store, other)
  const there = hearing(other)
  const failing = runtime.store.write('step', async (tx) => {
    tx.hint('ended:rolled-back')
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  await send(runtime.store, 'ended:committed')
  await there.until('ended:committed')
  expect(there.heard).toEqual(['ended:committed'])
})

test('many hints share messages, and all of them arrive', async () => {
  await connected(runtime.store, other)
  const there = hearing(other)
  const ids = Array.from({ length: 1000 }, (_, number) => `ended:${number}-${'x'.repeat(20)}` as const)
  await send(runtime.store, ...ids)
  await send(runtime.store, 'ended:last')
  await there.until('ended:last')
  expect(new Set(there.heard)).toEqual(new Set([...ids, 'ended:last']))
})

test('a listener whose connection is ended connects again, and is told to look', async () => {
  await connected(runtime.store, other)
  const [here, there] = [hearing(runtime.store), hearing(other)]
  const ended = await server.query(
    'SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
    [hintConnections()],
  )
  expect(ended.rowCount).toBe(2)
  const pids = ended.rows.map(({ pid }) => pid)
  await untilSo(
    async () => (await server.query('SELECT FROM pg_stat_activity WHERE pid = ANY($1)', [pids])).rowCount === 0,
  )
  await there.until('cancel')
  await connected(runtime.store, other)
  await send(runtime.store, 'ended:there')
  await there.until('ended:there')
  await send(other, 'ended:here')
  await here.until('ended:here')
})

test('a process that ends at once after its change has told others of it', async () => {
  await connected(runtime.store, other)
  const there = hearing(other)
  const brief = await openStore(runtime.place, context)
  await send(brief, 'ended:brief')
  await brief.close()
  await there.until('ended:brief')
})

test('heddles that share a server hear nothing of each other', async () => {
  await connected(runtime.store, other)
  const stranger = await newTestRuntime('postgres')
  try {
    const there = hearing(other)
    await send(stranger.store, 'ended:stranger')
    await stranger.store.close()
    await send(runtime.store, 'ended:own')
    await there.until('ended:own')
    expect(there.heard).toEqual(['ended:own'])
  } finally {
    await stranger.remove()
  }
})
