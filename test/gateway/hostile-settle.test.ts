import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import { gate, scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'

let gateway: TestGateway | undefined
afterEach(async () => {
  await gateway?.remove()
  gateway = undefined
})

const never = new AbortController().signal

describe.each(databases)('nothing from outside keeps a run from ending on %s', (database) => {
  const test = testOn(database)
  test('a time limit of a fraction of a millisecond, which waits for a session that is busy', async () => {
    const hold = gate()
    gateway = await newGateway([scriptedModel((_, n) => (n === 1 ? { gate: hold, text: 'one' } : { text: 'two' }))], {
      database,
    })
    const { door } = gateway
    const first = await door.submit(folder, { session: 'main', content: 'one' })
    await hold.reached
    const second = await door.submit(folder, { session: 'main', content: 'two', timeoutSeconds: 60.0000015 })
    hold.open()
    expect(await door.answer(folder, first.itemId, never)).toMatchObject({ status: 'completed', text: 'one' })
    expect(await door.answer(folder, second.itemId, never)).toMatchObject({ status: 'completed', text: 'two' })
  })

  test('a NUL in what the owner wrote for the agents', async () => {
    gateway = await newGateway([scriptedModel(({ system }) => ({ text: system.includes('Calm') ? 'calm' : '' }))], {
      database,
    })
    const { door, runFolder } = gateway
    writeFileSync(join(runFolder, '..', 'SOUL.md'), 'Calm.\0 Very calm.')
    const { itemId } = await door.submit(folder, { session: 'main', content: 'x' })
    expect(await door.answer(folder, itemId, never)).toMatchObject({ status: 'completed', text: 'calm' })
  })

  test('a message whose long word is cut in the middle of a character', async () => {
    gateway = await newGateway([scriptedModel([{ text: 'fine' }])], { database })
    const { app, door } = gateway
    await app.remember({ content: 'The port is 8443.' })
    const { itemId } = await door.submit(folder, { session: 'main', content: `port ${'a'.repeat(39)}𐐷𐐷` })
    expect(await door.answer(folder, itemId, never)).toMatchObject({ status: 'completed', text: 'fine' })
  })

  test('a child whose summary is cut in the middle of a character, and a model with a NUL in its name', async () => {
    const said = `${'x'.repeat(398)}😀 and more`
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return { text: 'started', model: 'a\0b' }
      if (last?.content === 'go') return { calls: [{ name: 'sessions_spawn', input: { task: 'child' } }] }
      return last?.content === 'child' ? { text: said, model: '\ud800' } : { text: 'heard \0' }
    })
    gateway = await newGateway([model], { database })
    const { app, door } = gateway
    const { itemId } = await door.submit(folder, { session: 'main', content: 'go' })
    expect(await door.answer(folder, itemId, never)).toMatchObject({ status: 'completed', text: 'heard \ufffd' })
    expect(await app.results()).toMatchObject([{ status: 'completed' }])
  })
})
