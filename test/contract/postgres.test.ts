import pg from 'pg'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { lockSession } from '../../src/store/rows/sessions.ts'
import type { StoreContext, Tx } from '../../src/store/store.ts'
import { systemClock } from '../../src/system.ts'
import { newTestRuntime } from '../setup/places.ts'
import { gate, note, notes, raw } from './notes.ts'

// Real deadlocks are found after a second unless the one who waits says otherwise.
const impatience = `SET LOCAL deadlock_timeout = '20ms'`
const repeatable = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'

/** A store with two notes, `left` and `right`, and a connection of somebody else to the same schema. */
async function newStore(options: Partial<StoreContext> = {}) {
  const runtime = await newTestRuntime('postgres', options)
  const schema = new URL(runtime.place.kind === 'postgres' ? runtime.place.url : '').searchParams.get('schema')
  const other = new pg.Client({ connectionString: inject('postgresUrl'), options: `-c search_path=${schema}` })
  await other.connect()
  onTestFinished(async () => {
    await other.end()
    await runtime.remove()
  })
  await runtime.store.write('append', async (tx) => {
    await note(tx, 'left')
    await note(tx, 'right')
  })
  return { ...runtime, other, stored: () => runtime.store.read(notes) }
}

test('a deadlock is answered by running the loser again, and both are stored once', async () => {
  const { store, stored } = await newStore()
  const holds = { left: gate(), right: gate() }
  let runs = 0
  const crossing = (mine: 'left' | 'right', theirs: 'left' | 'right') =>
    store.write('append', async (tx) => {
      runs++
      await tx.run(raw(tx, impatience))
      await note(tx, `by ${mine}`)
      await touch(tx, mine)
      holds[mine].resolve()
      await holds[theirs].promise
      await touch(tx, theirs)
    })
  await Promise.all([crossing('left', 'right'), crossing('right', 'left')])
  // Three, unless the loser was so quick that both met once more.
  expect(runs).toBeGreaterThanOrEqual(3)
  expect(await stored()).toEqual(['by left', 'by right', 'left', 'right'])
})

const reactions: [string, () => Promise<void>][] = [
  ['makes nothing of it', async () => undefined],
  ['throws an error of its own', () => Promise.reject(new Error('my own'))],
]

test.for(reactions)(
  'a serialization failure is answered by running the body again, even if it %s',
  async ([, react]) => {
    const { store, stored, other } = await newStore()
    let runs = 0
    const value = await store.write('append', async (tx) => {
      await tx.run(raw(tx, repeatable))
      await note(tx, 'mine')
      if (++runs === 1) await other.query(`UPDATE prompts SET text = 'theirs' WHERE hash = 'left'`)
      await touch(tx, 'left').catch(react)
      return `after ${runs} runs`
    })
    expect(value).toBe('after 2 runs')
    expect(await stored()).toEqual(['left', 'mine', 'right'])
  },
)

test('a body that always collides is refused after ten runs, and nothing of it is stored', async () => {
  const { store, stored, other } = await newStore({ clock: { ...systemClock, sleep: async () => undefined } })
  let runs = 0
  const write = store.write('append', async (tx) => {
    await tx.run(raw(tx, repeatable))
    await note(tx, `run ${++runs}`)
    await other.query(`UPDATE prompts SET text = '${runs}' WHERE hash = 'left'`)
    await touch(tx, 'left')
  })
  await expect(write).rejects.toMatchObject({ code: 'database_busy', retry: 'later' })
  expect(runs).toBe(10)
  expect(await stored()).toEqual(['left', 'right'])
})

test('a write waits 20 s for a connection that others of its process hold, and is stored then', async () => {
  const { store, stored } = await newStore()
  const [held, begun] = [gate(), gate()]
  const holding = Array.from({ length: 10 }, () =>
    store.write('append', async () => {
      begun.resolve()
      await held.promise
    }),
  )
  await begun.promise
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const last = store.write('append', (tx) => note(tx, 'at last'))
  const ended = Promise.allSettled([last, ...holding])
  await vi.advanceTimersByTimeAsync(20_000)
  held.resolve()
  expect((await ended).filter(({ status }) => status === 'rejected')).toEqual([])
  expect(await stored()).toEqual(['at last', 'left', 'right'])
})

test('an error of the body that reads like one of the network stays what it is', async () => {
  const { store } = await newStore()
  const own = new Error('connect ECONNREFUSED 127.0.0.1:80')
  await expect(store.write('append', () => Promise.reject(own))).rejects.toBe(own)
})

test('bodies run READ COMMITTED, whatever the server takes for normal', async () => {
  const { store } = await newStore()
  await store.write('append', (tx) => tx.run(raw(tx, `SET default_transaction_isolation = 'serializable'`)))
  const levels = await store.write('append', async (tx) => ({
    normal: await tx.first(raw(tx, 'SHOW default_transaction_isolation')),
    ours: await tx.first(raw(tx, 'SHOW transaction_isolation')),
  }))
  expect(levels).toEqual({
    normal: { default_transaction_isolation: 'serializable' },
    ours: { transaction_isolation: 'read committed' },
  })
})

test('a connection lost between two statements fails the body, stores nothing of it, and is replaced', async () => {
  const { store, stored, other } = await newStore()
  const write = store.write('append', async (tx) => {
    await note(tx, 'a')
    await terminate(other, await backendOf(tx))
    await note(tx, 'b')
  })
  await expect(write).rejects.toMatchObject({ code: 'database_unreachable', retry: 'later' })
  await store.write('append', (tx) => note(tx, 'c'))
  expect(await stored()).toEqual(['c', 'left', 'right'])
})

test('a connection lost during a statement fails the body and is replaced', async () => {
  const { store, stored, other } = await newStore()
  await other.query('BEGIN')
  await other.query(`SELECT FROM prompts WHERE hash = 'left' FOR UPDATE`)
  const backend = gate<number>()
  const write = store.write('append', async (tx) => {
    backend.resolve(await backendOf(tx))
    await touch(tx, 'left')
  })
  const failure = expect(write).rejects.toMatchObject({ code: 'database_unreachable' })
  await untilWaiting(other, await backend.promise)
  await terminate(other, await backend.promise)
  await failure
  await other.query('ROLLBACK')
  expect(await stored()).toEqual(['left', 'right'])
})

test('a connection lost during COMMIT leaves open whether the change is stored, and says so', async () => {
  const { store, stored, other } = await newStore()
  await other.query(`CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$`)
  await other.query(`CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON prompts
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_at_commit()`)
  await other.query('SELECT pg_advisory_lock(4711)')
  const backend = gate<number>()
  const write = store.write('append', async (tx) => {
    await note(tx, 'a')
    backend.resolve(await backendOf(tx))
  })
  const failure = expect(write).rejects.toMatchObject({ code: 'commit_unknown', retry: 'never' })
  await untilWaiting(other, await backend.promise)
  await terminate(other, await backend.promise)
  await failure
  await other.query('DROP TRIGGER wait_at_commit ON prompts')
  expect(await stored()).toEqual(['left', 'right'])
})

test('connections lost while idle are replaced: writes succeed or are told so, and then go on', async () => {
  const { store, stored, other } = await newStore()
  const backends = await Promise.all([1, 2, 3].map(() => store.write('append', backendOf)))
  for (const backend of new Set(backends)) await terminate(other, backend)
  const names = ['a', 'b', 'c', 'd', 'e']
  const results = await Promise.allSettled(names.map((name) => store.write('append', (tx) => note(tx, name))))
  const failed = results.flatMap((result) => (result.status === 'rejected' ? result.reason.code : []))
  expect(failed.filter((code) => code !== 'database_unreachable')).toEqual([])
  const acknowledged = names.filter((_, index) => results[index]?.status === 'fulfilled')
  expect(await stored()).toEqual([...acknowledged, 'left', 'right'])
  await store.write('append', (tx) => note(tx, 'later'))
})

test('a snapshot whose connection is lost is told so, and the next one sees the rows', async () => {
  const { store, other } = await newStore()
  const snapshot = store.snapshot(async (rows) => {
    const [row] = await rows.all<{ pid: number }>(raw(rows, 'SELECT pg_backend_pid() AS pid'))
    await terminate(other, row?.pid ?? 0)
    for await (const _ of rows.pages('prompts'));
  })
  await expect(snapshot).rejects.toMatchObject({ code: 'database_unreachable' })
  expect(await store.snapshot(notes)).toEqual(['left', 'right'])
})

test('a process whose tables a newer one has changed under it is told so', async () => {
  const { store, other } = await newStore()
  const sessions = (tx: Tx) => lockSession(tx, 'nobody')
  await store.write('append', sessions)
  await other.query('ALTER TABLE sessions ADD COLUMN later TEXT')
  await expect(store.write('append', sessions)).rejects.toMatchObject({
    code: 'schema_newer',
    remedy: 'stop this one and start the newer version',
  })
})

function touch(tx: Tx, name: string): Promise<number> {
  return tx.run(tx.build.updateTable('prompts').set({ text: 'touched' }).where('hash', '=', name))
}

async function backendOf(tx: Tx): Promise<number> {
  return (await tx.first(raw<{ pid: number }>(tx, 'SELECT pg_backend_pid() AS pid')))?.pid ?? 0
}

/** Ends a server process, and resolves when it is gone. */
async function terminate(other: pg.Client, backend: number): Promise<void> {
  await other.query('SELECT pg_terminate_backend($1, 10000)', [backend])
}

/** Resolves when a server process waits for somebody else's lock. */
async function untilWaiting(other: pg.Client, backend: number): Promise<void> {
  for (;;) {
    const { rows } = await other.query('SELECT FROM pg_locks WHERE pid = $1 AND NOT granted', [backend])
    if (rows.length > 0) return
  }
}

test('statements that are sent side by side in one transaction wait for each other, and pg has nothing to warn of', async () => {
  const { store, stored } = await newStore()
  const warnings: Error[] = []
  const hear = (warning: Error) => warnings.push(warning)
  process.on('warning', hear)
  onTestFinished(() => void process.off('warning', hear))
  await store.write('append', (tx) => Promise.all(['one', 'two', 'three'].map((name) => note(tx, name))))
  await store.snapshot((rows) => Promise.all([notes(rows), notes(rows)]))
  // Warnings are told in the next tick.
  await new Promise(setImmediate)
  expect(warnings).toEqual([])
  expect(await stored()).toEqual(['left', 'one', 'right', 'three', 'two'])
})
