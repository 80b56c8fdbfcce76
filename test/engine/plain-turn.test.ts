import { afterEach, expect, test } from 'vitest'
import { scriptedModel } from '../../src/models/scripted.ts'
import { manualClock } from '../../src/testing.ts'
import { countingStore } from '../setup/counting-store.ts'
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
  Object.assign(under.engine, { store: countingStore(under.engine.store, sent) })
  await under.work()
  await under.say('hello')
  await under.turns(1)
  sent.length = 0
  await under.say('again')
  await under.turns(2)
  expect(sent.length).toBeLessThanOrEqual(55)
})
