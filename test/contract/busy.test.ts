import { statSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { newTestRuntime } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { note, notes } from './notes.ts'
import { start } from './program.ts'

// A busy machine stops the loop now and then, a loop that waits for the lock is stopped each time: one good time will do.
// A very busy one stops it each time, too, and then also when nothing waits: that much is forgiven.
// Each hold lasts for so many samples of the loop's delay, one every 5 ms.
const holds = [400, ...Array(300).fill(10)]

async function newFile() {
  const runtime = await newTestRuntime('sqlite')
  onTestFinished(runtime.remove)
  return { ...runtime, file: runtime.place.kind === 'sqlite' ? runtime.place.file : '' }
}

test('F17: waiting for a lock of another process does not stop the event loop, judged by the best of a 2 s hold and short ones; all are stored in order', async () => {
  const { store, file } = await newFile()
  const holder = start('lock-holder', { file })
  const blocked: number[] = []
  const undisturbed: number[] = []
  for (const samples of holds) {
    holder.tell('hold')
    expect(await holder.hear()).toBe('held')
    const delay = await startedMonitor()
    const order: string[] = []
    const names = ['a', 'b', 'c'].map((name) => `${blocked.length} ${name}`)
    const writes = names.map((name) => store.write('append', (tx) => note(tx, name)).then(() => order.push(name)))
    while (delay.count < samples) await nextTurn()
    expect(order).toEqual([])
    holder.tell('free')
    await Promise.all([...writes, holder.hear()])
    delay.disable()
    expect(order).toEqual(names)
    blocked.push(delay.max / 1e6)
    if (delay.max < 50e6) break
    const alone = await startedMonitor()
    while (alone.count < 50) await nextTurn()
    alone.disable()
    undisturbed.push(alone.max / 1e6)
  }
  expect(Math.min(...blocked)).toBeLessThan(Math.max(50, ...undisturbed))
  expect((await store.read(notes)).length).toBe(3 * blocked.length)
})

async function startedMonitor() {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  while (delay.count === 0) await nextTurn()
  return delay
}

test('a place that another process has for itself is opened as soon as it lets go', async () => {
  const { place, store: first, file } = await newFile()
  await first.close()
  const other = new DatabaseSync(file)
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const waits: number[] = []
  const sleep = async (duration: number) => {
    if (waits.push(duration) === 3) other.close()
  }
  const store = await openStore(place, { ...context, clock: { ...context.clock, sleep } })
  expect(await store.read(notes)).toEqual([])
  await store.close()
  expect(waits).toEqual([5, 5, 5])
})

test('a place that another process keeps for itself is refused after a while, with who to look for', async () => {
  const { place, store: first, file } = await newFile()
  await first.close()
  const other = new DatabaseSync(file)
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const opening = openStore(place, { ...context, clock: { ...context.clock, sleep: async () => undefined } })
  await expect(opening).rejects.toMatchObject({ code: 'database_busy', remedy: expect.stringContaining('lsof') })
  other.close()
})

test('F17: readers are not held up by a writer in another process', async () => {
  const { store, file } = await newFile()
  await store.write('append', (tx) => note(tx, 'a'))
  const holder = start('lock-holder', { file })
  holder.tell('hold')
  expect(await holder.hear()).toBe('held')
  expect(await store.read(notes)).toEqual(['a'])
  expect(await store.snapshot(notes)).toEqual(['a'])
})

test('F17: the log grows while a long reader needs it, and no further once it has gone', async () => {
  const { store, file } = await newFile()
  const size = () => statSync(`${file}-wal`).size
  const write = (name: string, bytes: number) => store.write('append', (tx) => note(tx, name, 'x'.repeat(bytes)))
  await store.snapshot(async (rows) => {
    await notes(rows)
    for (let number = 0; number < 12; number++) await write(`large ${number}`, 500_000)
    expect(await notes(rows)).toEqual([])
  })
  const grown = size()
  expect(grown).toBeGreaterThan(6_000_000)
  for (let number = 0; number < 6; number++) await write(`later ${number}`, 500_000)
  expect(size()).toBeLessThan(grown + 600_000)
})
