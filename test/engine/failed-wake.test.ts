import { afterEach, describe, expect } from 'vitest'
import { ModelFailure } from '../../src/domain/model.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office } from './test-team.ts'

const wrongKey = new ModelFailure('key_refused', 'The provider refused the key', 'check the key', { retry: 'never' })
const spawned = [{ name: 'spawn_agent', input: { task: 'look', skill: 'researcher' } }, { name: 'wait' }]

describe.each(databases)('a wake that fails on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  test('leaves its results unread; the next turn that succeeds hears of them, and then they are read', async () => {
    let isKeyWrong = true
    office = await newOffice(database, {
      coordinator: (_, last) => {
        if (last === 'go') return { text: 'On it.', calls: spawned }
        return isKeyWrong ? { fail: wrongKey } : { text: 'fine' }
      },
      researcher: () => ({ text: 'It has 2 lines.' }),
    })
    const unread = async () =>
      (await office.engine.store.read((rows) => listResults(rows, { unprocessed: true }))).map(({ id }) => id)
    expect(await office.ask('go')).toMatchObject({ ok: false, status: 'failed' })
    expect(await unread()).toEqual([1])
    expect(await office.ask('again')).toMatchObject({ ok: false })
    expect(await unread()).toEqual([1])
    isKeyWrong = false
    expect(await office.ask('and now?')).toMatchObject({ ok: true, text: 'fine' })
    const [last] = office.requestsOf('coordinator').slice(-1)
    const told = last?.messages.filter(({ content }) => content.includes('[agent_result:1]'))
    expect(told).toMatchObject([{ role: 'user', content: expect.stringContaining('It has 2 lines.') }])
    expect(await unread()).toEqual([])
  })

  test('does not take what has not been heard at all for read', async () => {
    let wakes = 0
    office = await newOffice(database, {
      coordinator: (_, last) => {
        if (last === 'go') return { text: 'On it.', calls: spawned }
        return wakes++ === 0 ? { fail: wrongKey } : { text: 'fine' }
      },
      researcher: () => ({ text: 'It has 2 lines.' }),
    })
    const unread = () => office.engine.store.read((rows) => listResults(rows, { unprocessed: true }))
    expect(await office.ask('go')).toMatchObject({ ok: false })
    // Another session neither asked for the result nor hears of it.
    expect(await office.ask('hello', { label: 'other' })).toMatchObject({ ok: true })
    expect(await unread()).toHaveLength(1)
  })
})
