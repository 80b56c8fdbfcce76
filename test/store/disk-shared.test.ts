import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Clock } from '../../src/domain/clock.ts'
import { append } from '../../src/engine/turns/append.ts'
import { openStore } from '../../src/store/open.ts'
import { countTurns, savePrompt } from '../../src/store/rows/turns.ts'
import { start } from '../contract/program.ts'
import { expectSound } from '../contract/whole.ts'
import { context } from '../setup/store-context.ts'
import { emptyPlace, openWorld } from './filled-world.ts'

const megabyte = 1024 * 1024
const logLimit = 64 * megabyte
const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }

test('F17 the log grows while a reader holds an old moment, and is back within its limit when the reader ends', async () => {
  const { store, place } = await openWorld(emptyPlace('sqlite'))
  const logSize = () => statSync(`${store.place}-wal`).size
  const write = async (count: number) => {
    for (let n = 0; n < count; n++)
      await store.write('append', (tx) => savePrompt(tx, `prompt ${n} at ${logSize()}`, 'x'.repeat(megabyte)))
  }
  await store.snapshot(async (rows) => {
    expect(await countTurns(rows)).toBe(0)
    await write(70)
    expect(logSize()).toBeGreaterThan(logLimit)
  })
  // The first commit copies the log into the file, the second begins it anew.
  await write(2)
  expect(logSize()).toBeLessThanOrEqual(logLimit)
  await write(70)
  expect(logSize()).toBeLessThanOrEqual(logLimit)
  expectSound(place)
})

test('F17 a write waits while another process holds the lock for two seconds; reads go on', async () => {
  const { store, place, clock, newId } = await openWorld(emptyPlace('sqlite'))
  await store.close()
  let waited = 0
  const enough = Promise.withResolvers<void>()
  const counting: Clock = {
    ...clock,
    async sleep(duration, signal) {
      await clock.sleep(duration, signal)
      waited += duration
      if (waited >= 2000) enough.resolve()
    },
  }
  const patient = await openStore(place, { ...context, clock: counting })
  const holder = start('../store/programs/hold-lock', patient.place)
  await holder.hear()

  const appending = append({ store: patient, clock, newId }, { folder: '/', label: 'main', draft })
  await enough.promise
  expect(await patient.read(countTurns)).toBe(0)
  holder.tell('let go')
  const { turnId } = await appending
  expect(await patient.read((rows) => rows.all(rows.build.selectFrom('turns').select('id')))).toEqual([{ id: turnId }])
  await patient.close()
})

test('F17 a write that waits too long is refused, and the same process goes on when the lock is free', async () => {
  const { store, place, clock, newId } = await openWorld(emptyPlace('sqlite'))
  await store.close()
  let now = 0
  const hasty: Clock = {
    now: clock.now,
    monotonic: () => now,
    sleep: async (duration) => {
      now += duration
    },
  }
  const runtime = { store: await openStore(place, { ...context, clock: hasty }), clock, newId }
  const holder = start('../store/programs/hold-lock', runtime.store.place)
  await holder.hear()

  await expect(append(runtime, { folder: '/', label: 'main', draft })).rejects.toMatchObject({
    code: 'database_busy',
    retry: 'later',
  })
  holder.tell('let go')
  await holder.end
  await append(runtime, { folder: '/', label: 'main', draft })
  expect(await runtime.store.read(countTurns)).toBe(1)
  await runtime.store.close()
})
