import { afterEach, expect, test } from 'vitest'
import { scriptedModel } from '../../src/models/scripted.ts'
import type { Reading, Store, Tx } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'

let under: TestEngine
afterEach(() => under.remove())

test.each(databases)('a plain turn sends at most 55 statements on %s', async (database) => {
  under = await newEngine(
    database,
    scriptedModel(() => ({ text: 'fine' })),
    { clock: manualClock(), tools: [testTool('look', 'pure', () => 0)] },
  )
  const sent: string[] = []
  Object.assign(under.engine, { store: counting(under.engine.store, sent) })
  await under.work()
  await under.say('hello')
  await under.turns(1)
  sent.length = 0
  await under.say('again')
  await under.turns(2)
  expect(sent.length).toBeLessThanOrEqual(55)
})

/** A store that notes each statement of its transactions and reads. */
function counting(store: Store, sent: string[]): Store {
  const noting = <R extends Reading>(rows: R): R =>
    new Proxy(rows, {
      get(target, key) {
        const value = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        if (['run', 'all', 'first'].includes(String(key))) sent.push(String(key))
        return value.bind(target)
      },
    })
  return new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key, target)
      if (key === 'write')
        return (area: never, body: (tx: Tx) => unknown) => target.write(area, (tx) => body(noting(tx)) as never)
      if (key === 'read')
        return (body: (rows: Reading) => unknown) => target.read((rows) => body(noting(rows)) as never)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
