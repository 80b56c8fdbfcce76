import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import { callTools, startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
let provider: TestProvider
beforeEach(async () => {
  heddle = newHeddle()
  provider = await startProvider({ answer: callTools })
  await heddle.run('init')
  const model = `{ provider: openai-compatible, baseURL: "${provider.url}", model: m, price: { input: 1, output: 1 } }`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: ${model}\nmemory: { narratives: false }\n`)
})
afterEach(async () => {
  await provider.close()
  heddle.remove()
})

const twoSteps = 'call list_dir({"path":"."})'
const oneStep = () => appendFileSync(join(heddle.home, 'heddle.yaml'), 'budgets: { perRequest: { steps: 1 } }\n')

test('without a terminal ask exits 3 when a budget is spent, and the command that it names goes on', async () => {
  oneStep()
  const { code, out } = await heddle.run('ask', twoSteps)
  expect({ code, out }).toMatchObject({ code: 3, out: expect.stringContaining('the request has made 1 model calls') })
  const [, command = ''] = /raise it: heddle (approve 1 --hash \w+) {4}stop: heddle deny 1/.exec(out) ?? []
  const { runs } = await heddle.json<{ runs: object[] }>('ps')
  expect(runs).toMatchObject([{ state: 'waiting', waitingFor: 'budget' }])
  expect(await heddle.json('status')).toMatchObject({ needsYou: ['approval:1'] })
  const { approvals } = await heddle.json<{ approvals: ApprovalView[] }>('approvals')
  expect(approvals).toMatchObject([{ tool: 'budget', scopes: ['once'], input: { key: 'perRequest.steps', to: 2 } }])
  const answer = await heddle.json<RequestAnswer>(...command.split(' '))
  expect(answer).toMatchObject({ ok: true, status: 'completed', text: expect.stringContaining('results: list_dir') })
})

test('a no stops it with the reason', async () => {
  oneStep()
  expect(await heddle.json('ask', twoSteps)).toMatchObject({ ok: false, status: 'waiting', approvals: [1] })
  expect(await heddle.json('deny', '1')).toMatchObject({
    ok: false,
    status: 'failed',
    error: { code: 'too_many_steps' },
  })
})

test('on a terminal the user is asked, and y goes on', async () => {
  oneStep()
  const asking = heddle.terminal('ask', twoSteps)
  await asking.shows('a larger budget')
  await asking.shows('raise it and continue')
  await asking.shows('y/n>')
  asking.type('y\n')
  const { code, out } = await asking.ended
  expect(code).toBe(0)
  expect(out).toContain('results: list_dir')
})

test('in a chat the user is asked about the money of a day, and t leaves it until tomorrow', async () => {
  appendFileSync(join(heddle.home, 'heddle.yaml'), 'budgets: { perDay: { usd: 0.001 } }\n')
  const chat = heddle.terminal('chat')
  await chat.shows('main>')
  chat.type('hello\r')
  await chat.shows('a larger budget')
  await chat.shows('continue tomorrow')
  await chat.shows('y/t/n>')
  chat.type('t\r')
  await chat.shows('continues tomorrow')
  chat.type('/quit\r')
  await chat.ended
  const { runs } = await heddle.json<{ runs: object[] }>('ps')
  expect(runs).toMatchObject([{ state: 'waiting', waitingFor: 'budget' }])
  expect(await heddle.json('approvals')).toEqual({ approvals: [] })
})
