import { afterEach, describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../src/domain/model.ts'
import { scriptedModel } from '../../src/testing.ts'
import { folder, newGateway, type TestGateway } from '../gateway/gateway.ts'
import { databases } from '../setup/places.ts'

const never = new AbortController().signal
const isSummary = ({ system }: ModelRequest) => system.startsWith('This conversation is too long')

describe.each(databases)('/compact on %s', (database) => {
  let gateway: TestGateway
  afterEach(() => gateway.remove())

  test('summarises the turns so far once, before the next message is answered, and asks no model itself', async () => {
    const summary = 'they spoke of the ports of the shop, which are 8443 and 8080, and of who may change them'
    const model = scriptedModel((request) => ({ text: isSummary(request) ? summary : 'yes' }))
    gateway = await newGateway([model], { database })
    const { door } = gateway
    const ask = async (content: string, compact?: boolean) => {
      const { itemId } = await door.submit(folder, { session: 'main', content, ...(compact && { compact }) })
      return door.answer(folder, itemId, never)
    }
    const command = () => door.command(folder, { session: 'main', line: '/compact' })
    expect((await command()).voice).toBe(undefined)
    for (const content of ['one', 'two']) await ask(content)
    const before = model.requests.length
    expect(await command()).toMatchObject({ voice: { compact: true } })
    expect(model.requests).toHaveLength(before)
    await ask('three', true)
    expect(model.requests.slice(before).map(isSummary)).toEqual([true, false])
    expect(model.requests.at(-1)?.messages.map(({ content }) => content)).toEqual([
      `[summary of what came before]\n${summary}`,
      'three',
    ])
    const types = (await door.log(folder, { of: 'main' })).map(({ type }) => type)
    expect(types).toEqual(['normal', 'normal', 'compaction', 'normal'])
    // One turn after a summary is not worth another.
    await ask('four', true)
    expect(model.requests.filter(isSummary)).toHaveLength(1)
    await ask('five')
    expect(model.requests.filter(isSummary)).toHaveLength(1)
  })
})
