import { stat } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { CrashPoint } from '../../src/domain/crash-points.ts'
import { TransactionMisuse } from '../../src/store/failures.ts'
import type { Tx } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing.ts'
import { gate, note, notes, raw } from '../contract/notes.ts'
import { newTestRuntime } from '../setup/places.ts'

/** A store whose clock stands still, and a list of what happens to it. */
async function newWriter() {
  const clock = manualClock()
  const trace: string[] = []
  const crash = (point: CrashPoint) => {
    if (point.startsWith('append')) trace.push(point.replace('append.', ''))
  }
  const runtime = await newTestRuntime('sqlite', { clock, crash })
  onTestFinished(runtime.remove)
  const write = <T>(body: (tx: Tx) => Promise<T>) => runtime.store.write('append', body)
  const file = runtime.place.kind === 'sqlite' ? runtime.place.file : ''
  return { ...runtime, clock, trace, write, file, stored: () => runtime.store.read(notes) }
}

/** Runs a script as another program would. */
function elsewhere(file: string, script: string): void {
  const db = new DatabaseSync(file)
  db.exec(script)
  db.close()
}

test('bodies run strictly one after another, in the order they were asked for', async () => {
  const { write, trace } = await newWriter()
  const body = (name: string) => async (tx: Tx) => {
    for (const part of ['a', 'b', 'c']) {
      trace.push(`${name}${part}`)
      await note(tx, `${name}${part}`)
    }
  }
  await Promise.all([write(body('1')), write(body('2')), write(body('3'))])
  expect(trace).toEqual(['1a', '1b', '1c', '2a', '2b', '2c', '3a', '3b', '3c', 'before_commit', 'after_commit'])
})

test('bodies that wait together share one COMMIT, and all are answered after it', async () => {
  const { write, trace } = await newWriter()
  const named = (name: string) => write((tx) => note(tx, name)).then(() => trace.push(`answered ${name}`))
  await Promise.all([named('a'), named('b'), named('c')])
  expect(trace).toEqual(['before_commit', 'after_commit', 'answered a', 'answered b', 'answered c'])
})

test('bodies that come one per turn of the event loop share one COMMIT, and it waits for no other', async () => {
  const { write, trace } = await newWriter()
  const written: Promise<unknown>[] = []
  for (let number = 0; number < 10; number++) {
    written.push(write((tx) => note(tx, `${number}`)))
    await nextTurn()
  }
  await Promise.all(written)
  expect(trace).toEqual(['before_commit', 'after_commit'])
})

test.for([
  { bodies: 64, commits: 1 },
  { bodies: 65, commits: 2 },
  { bodies: 129, commits: 3 },
])('a batch ends after 64 bodies: $bodies bodies take $commits commits', async ({ bodies, commits }) => {
  const { write, trace } = await newWriter()
  await Promise.all(Array.from({ length: bodies }, (_, number) => write((tx) => note(tx, `${number}`))))
  expect(trace.filter((point) => point === 'before_commit').length).toBe(commits)
})

test('a batch ends after 5 ms', async () => {
  const { write, trace, clock } = await newWriter()
  const slow = (duration: number) => async (tx: Tx) => {
    await note(tx, `${trace.push('body')}`)
    await clock.advance(duration)
  }
  await Promise.all([4, 0, 1, 0, 0].map((duration) => write(slow(duration))))
  const batch = (count: number) => [...Array(count).fill('body'), 'before_commit', 'after_commit']
  expect(trace).toEqual([...batch(3), ...batch(2)])
})

test('a body that throws is rolled back alone: its neighbours in the batch stay', async () => {
  const { write, trace, stored } = await newWriter()
  const results = await Promise.allSettled([
    write((tx) => note(tx, 'before')),
    write(async (tx) => {
      await note(tx, 'gone')
      throw new Error('no')
    }),
    write(() => {
      throw new Error('not even a promise')
    }),
    write((tx) => note(tx, 'after')),
  ])
  expect(results).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: new Error('no') },
    { status: 'rejected', reason: new Error('not even a promise') },
    { status: 'fulfilled', value: 1 },
  ])
  expect(await stored()).toEqual(['after', 'before'])
  expect(trace).toEqual(['before_commit', 'after_commit'])
})

test('a body that fails is told after COMMIT too: what it saw of its neighbours was not stored before', async () => {
  const { write, trace } = await newWriter()
  const results = Promise.allSettled([
    write((tx) => note(tx, 'same')).then(() => trace.push('answered')),
    write((tx) => note(tx, 'same')).catch((error) => trace.push(error.code)),
  ])
  await results
  expect(trace).toEqual(['before_commit', 'after_commit', 'answered', 'constraint_unique'])
})

const impatient: [string, (file: string) => Promise<unknown>][] = [
  ['a timer', () => wait(1)],
  ['a timer that is already due', () => dueTimer()],
  ['a file', (file) => stat(file)],
  ['the next turn of the event loop', () => nextTurn()],
  ['something that never comes', () => gate().promise],
]

test.for(impatient)('a body that awaits %s is failed, nothing of it stays and the rest goes on', async ([, other]) => {
  const { write, stored, file, trace } = await newWriter()
  const late = gate<unknown>()
  const body = async (tx: Tx) => {
    await note(tx, 'early')
    await other(file)
    await note(tx, 'late').catch(late.resolve)
  }
  // The writer is in the middle of its work when it comes to this body: it may not profit from where the event loop is.
  await write((tx) => note(tx, 'first'))
  const results = await Promise.allSettled([
    write((tx) => note(tx, 'before')),
    write(body),
    write((tx) => note(tx, 'after')),
  ])
  expect(results).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: new TransactionMisuse('append: the body of write awaited something other than tx') },
    { status: 'fulfilled', value: 1 },
  ])
  if (other !== impatient.at(-1)?.[1])
    expect(await late.promise).toEqual(new TransactionMisuse('append: tx was used after its body had ended'))
  expect(await stored()).toEqual(['after', 'before', 'first'])
  expect(trace.filter((point) => point === 'before_commit').length).toBe(2)
})

test('a long body of statements alone is never taken for one that awaits something else', async () => {
  const { write, stored } = await newWriter()
  await write(async (tx) => {
    for (let number = 0; number < 500; number++) await note(tx, `${number}`)
  })
  expect((await stored()).length).toBe(500)
})

test('when SQLite gives up the whole batch, those before run again, the culprit is told, later ones go on', async () => {
  const { write, stored, file, trace, store } = await newWriter()
  elsewhere(
    file,
    `CREATE TRIGGER trap BEFORE INSERT ON prompts WHEN NEW.hash = 'culprit'
     BEGIN SELECT RAISE(ROLLBACK, 'all of it'); END`,
  )
  const event = { at: 1, kind: 'turn.added' as const, subject: 'turn:1', payload_json: '{}' }
  const counted = (name: string) =>
    write(async (tx) => {
      trace.push(name)
      await tx.run(tx.build.insertInto('events').values(event))
      await note(tx, name)
    })
  const results = await Promise.allSettled(['a', 'b', 'culprit', 'c'].map(counted))

  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect(results[2]).toMatchObject({ reason: { message: 'all of it' } })
  expect(await stored()).toEqual(['a', 'b', 'c'])
  expect((await store.read((rows) => rows.all(raw(rows, 'SELECT seq FROM events')))).length).toBe(3)
  expect(trace.filter((name) => name === 'a').length).toBe(2)
  expect(trace.filter((name) => name === 'c').length).toBe(1)
})

test('a COMMIT that one body made impossible is tried again with each by itself', async () => {
  const { write, stored } = await newWriter()
  const results = await Promise.allSettled([
    write((tx) => note(tx, 'a')),
    write(async (tx) => {
      await tx.run(raw(tx, 'PRAGMA defer_foreign_keys = ON'))
      await note(tx, 'orphan')
      await tx.run(tx.build.insertInto('segments').values({ id: 's', parent_id: 'nobody', fork_depth: 1 }))
    }),
    write((tx) => note(tx, 'b')),
  ])
  expect(results).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: expect.objectContaining({ code: 'constraint_foreign_key' }) },
    { status: 'fulfilled', value: 1 },
  ])
  expect(await stored()).toEqual(['a', 'b'])
})

test('a file that may grow no more refuses the large body, keeps the small ones, and goes on when it may', async () => {
  const { write, stored } = await newWriter()
  const limit = (pages: number) => write((tx) => tx.all(raw(tx, `PRAGMA max_page_count = ${pages}`)))
  const large = (tx: Tx) => note(tx, 'large', 'x'.repeat(1_000_000))
  await limit(100)
  const results = await Promise.allSettled([write((tx) => note(tx, 'a')), write(large), write((tx) => note(tx, 'b'))])
  expect(results).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: expect.objectContaining({ code: 'disk_full', retry: 'later' }) },
    { status: 'fulfilled', value: 1 },
  ])
  expect(await stored()).toEqual(['a', 'b'])
  await limit(1000)
  await write(large)
  expect(await stored()).toEqual(['a', 'b', 'large'])
})

test('a body that ends the transaction by itself is told so, and the next one finds a transaction', async () => {
  const { write, stored } = await newWriter()
  const results = await Promise.allSettled([
    write((tx) => note(tx, 'a')),
    write((tx) => tx.run(raw(tx, 'ROLLBACK'))),
    write((tx) => note(tx, 'b')),
  ])
  expect(results).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: new TransactionMisuse('append: the body ended the transaction') },
    { status: 'fulfilled', value: 1 },
  ])
  expect(await stored()).toEqual(['a', 'b'])
})

test('a lock that another holds for over 30 s is reported, and the next write goes on when it is free', async () => {
  const { write, stored, file, clock } = await newWriter()
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  const refused = Promise.allSettled([write((tx) => note(tx, 'a')), write((tx) => note(tx, 'b'))])
  let isRefused = false
  void refused.then(() => {
    isRefused = true
  })
  const started = clock.now()
  while (!isRefused) {
    await clock.advance(20)
    await nextTurn()
  }
  expect(clock.now() - started).toBeGreaterThan(30_000)
  const busy = { status: 'rejected', reason: expect.objectContaining({ code: 'database_busy', retry: 'later' }) }
  expect(await refused).toEqual([busy, busy])
  other.exec('COMMIT')
  other.close()
  await write((tx) => note(tx, 'c'))
  expect(await stored()).toEqual(['c'])
})

/** A timer whose moment has passed before anybody waits for it. */
function dueTimer(): Promise<void> {
  const timer = wait(0)
  const start = performance.now()
  while (performance.now() - start < 3);
  return timer
}
