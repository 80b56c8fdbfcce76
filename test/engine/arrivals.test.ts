import { afterEach, describe, expect, test } from 'vitest'
import { scriptedModel } from '../../src/models/scripted.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { newEngine, type TestEngine } from './engine.ts'

let under: TestEngine | undefined
afterEach(() => under?.remove())

describe.for(databases)('a rush of inputs on %s', (database) => {
  test('all of them are accepted before the first run asks its model', async () => {
    const log: string[] = []
    const model = scriptedModel(() => {
      log.push('asked')
      return { text: 'here' }
    })
    // Its clock stands still: however slow the machine is, no run has waited long enough.
    under = await newEngine(database, model, { clock: manualClock() })
    const { submit } = await under.work()
    const ask = (label: number) =>
      submit({ folder: '/here', label: `session-${label}`, content: 'hello' }).then(() => log.push('accepted'))
    // As from clients: each asks again once its input is accepted.
    const client = async (first: number) => {
      for (let round = 0; round < 5; round++) await ask(first + round * 4)
    }
    await Promise.all([0, 1, 2, 3].map(client))
    for (let label = 0; label < 20; label++) await under.turns(1, `session-${label}`)
    expect(log.slice(0, 20)).toEqual(Array(20).fill('accepted'))
  })

  test('a claimed run starts after a second, whatever still arrives', async () => {
    const clock = manualClock()
    let [isAsked, count] = [false, 0]
    const model = scriptedModel(() => {
      isAsked = true
      return { text: 'here' }
    })
    under = await newEngine(database, model, { clock })
    const { submit } = await under.work()
    const soon = Promise.withResolvers<void>()
    const client = async () => {
      for (let round = 0; round < 500 && !isAsked; round++) {
        await submit({ folder: '/here', label: `session-${count++}`, content: 'hello' })
        if (count === 40) soon.resolve()
      }
    }
    const rush = [client(), client(), client(), client()]
    await soon.promise
    expect(isAsked).toBe(false)
    await clock.advance(1000)
    await Promise.all(rush)
    expect(isAsked).toBe(true)
  })
})
