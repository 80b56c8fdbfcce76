import { afterAll, beforeAll, expect, test } from 'vitest'
import { scriptedModel } from '../../src/testing.ts'
import { folder, newGateway, type TestGateway } from '../gateway/gateway.ts'

const never = new AbortController().signal

let gateway: TestGateway
beforeAll(async () => {
  const models = ['main', 'big'].map((name) =>
    Object.assign(
      scriptedModel(() => ({ text: 'yes' })),
      { name },
    ),
  )
  gateway = await newGateway(models, { configure: (config) => Object.assign(config, { allowedModels: ['main'] }) })
})
afterAll(() => gateway.remove())

test('/model refuses a model that would not answer', async () => {
  await expect(gateway.app.command(folder, { session: 'main', line: '/model big' })).rejects.toMatchObject({
    code: 'model_not_allowed',
  })
})

test('/show tells of a run which model was not used, and why', async () => {
  const { itemId } = await gateway.app.submit(folder, { session: 'main', content: 'hello', model: 'big' })
  await gateway.app.answer(folder, itemId, never)
  const [run] = (await gateway.app.runs({ all: true })).rows
  const shown = await gateway.app.command(folder, { session: 'main', line: `/show run:${run?.id}` })
  expect(JSON.stringify(shown)).toContain('{"name":"instead","value":"of big: it is not in models.allow"}')
})
