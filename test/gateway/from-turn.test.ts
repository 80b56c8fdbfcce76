import { afterEach, beforeEach, expect, test } from 'vitest'
import { shortId } from '../../src/domain/id.ts'
import { scriptedModel } from '../../src/testing.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'

let gateway: TestGateway
beforeEach(async () => {
  gateway = await newGateway([scriptedModel((_, n) => ({ text: `answer ${n}` }))])
})
afterEach(() => gateway.remove())

const never = new AbortController().signal

test('a question from a turn into a label that exists is refused before anything is stored, and names the remedy', async () => {
  const { app, door } = gateway
  const { itemId } = await door.submit(folder, { session: 'main', content: 'one' })
  const { turnId } = await door.answer(folder, itemId, never)
  const before = await app.log(folder, {})
  const turn = `turn:${shortId(turnId ?? '')}`
  const asked = { session: 'main', content: 'two', from: turn }
  const refusal = {
    code: 'label_exists',
    message: `session "main" exists already, so it cannot start from ${turn}`,
    remedy: `name a new session (heddle ask -s NEWLABEL --from ${turn} "…"), or fork first: heddle fork ${turn} --as NEWLABEL`,
  }
  for (const { submit } of [door, app]) await expect(submit(folder, asked)).rejects.toMatchObject(refusal)
  expect(await app.log(folder, {})).toEqual(before)
  expect((await app.runs({ all: true })).rows).toHaveLength(1)
})

test('a question that started a session from a turn, delivered again, is answered as the first time', async () => {
  const { app, door } = gateway
  const first = await door.submit(folder, { session: 'main', content: 'one' })
  const { turnId } = await door.answer(folder, first.itemId, never)
  const asked = { session: 'other', content: 'two', from: `turn:${turnId}`, dedupeKey: 'the same' }
  const accepted = await door.submit(folder, asked)
  expect(await app.submit(folder, asked)).toMatchObject({ itemId: accepted.itemId, session: 'other' })
})
