import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import type { PlanView } from '../../src/api/views/plan.ts'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { Spending } from '../../src/domain/spending.ts'
import { type ProviderAnswer, type ProviderOptions, startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

type Request = Parameters<ProviderOptions['answer']>[0]

let heddle: TestHeddle
let provider: TestProvider
afterEach(async () => {
  await provider.close()
  heddle.remove()
})

const plan = {
  project: { title: 'The plan' },
  tasks: ['first', 'second'].map((title) => ({
    key: title,
    title,
    context: `Do the ${title} part.\nIt is small.\nDone when it says so.`,
    skill: 'researcher',
    depends_on: [],
  })),
}

/** A coordinator that has a plan of two tasks made and starts it; tasks are answered by this. */
async function working(
  task: (title: string) => Promise<ProviderAnswer> | ProviderAnswer,
  { plans, hello }: { plans: 'auto' | 'always'; hello?: Promise<unknown> },
): Promise<void> {
  heddle = newHeddle({ agent: null })
  provider = await startProvider({
    answer: async ({ messages, tools }: Request): Promise<ProviderAnswer> => {
      const has = (name: string) => tools.some((tool) => tool.name === name)
      const talk = messages.filter(({ role }) => role !== 'system')
      // A wake-up is several messages.
      const from = talk.findLastIndex(({ role }) => role !== 'user') + 1
      const last = talk
        .slice(Math.min(from, talk.length - 1))
        .map(({ content }) => content)
        .join('\n')
      if (has('plan_tasks'))
        return talk.length === 1 ? { calls: [{ name: 'plan_tasks', input: plan }] } : { text: 'Planned.' }
      if (!has('spawn_agent')) return task(talk[0]?.content.split('\n')[0] ?? '')
      if (last === 'hello') {
        await hello
        return { text: 'Hello.' }
      }
      const wait = { name: 'wait', input: {} }
      if (last === 'go')
        return { calls: [{ name: 'spawn_agent', input: { task: 'plan it', skill: 'project-planner' } }, wait] }
      const [, id] = /\[plan:(\d+), \d+ tasks?\]/.exec(last) ?? []
      if (id) return { text: 'It runs.', calls: [{ name: 'run_project', input: { project_id: Number(id) } }, wait] }
      return { text: 'All is well.' }
    },
  })
  await heddle.run('init')
  const model = `{ provider: openai-compatible, baseURL: "${provider.url}", model: m, price: { input: 15, output: 75 } }`
  const rest = `memory: { narratives: false }\nplans: ${plans}\ntools: { ask: [] }\n`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: ${model}\n${rest}`)
}

test('ask exits 3 while the plan of its session waits at the gate, and names the approval', async () => {
  await working(() => ({ text: 'done' }), { plans: 'always' })
  for (const words of ['go', 'hello']) {
    const { code, out } = await heddle.run('ask', words)
    expect({ words, code, out }).toEqual({
      ...{ words, code: 3 },
      out: expect.stringMatching(/needs you: approval:1 {4}heddle show approval:1\n.*heddle approve 1 --hash \w+/),
    })
  }
  expect(await heddle.json('ask', 'hello')).toMatchObject({ ok: false, status: 'waiting', approvals: [1] })
})

test('an ask whose plan is cancelled meanwhile ends with 130 and says so', async () => {
  const begun = Promise.withResolvers<void>()
  await working(
    () => {
      begun.resolve()
      return new Promise<never>(() => undefined)
    },
    { plans: 'auto' },
  )
  const asking = heddle.start('ask', 'go')
  await begun.promise
  expect((await heddle.run('cancel', 'plan:1', '--reason', 'enough')).out).toContain('plan:1 is cancelled')
  const { code, out } = await asking.ended
  expect({ code, out }).toEqual({ code: 130, out: expect.stringContaining('plan:1 did not complete: 2 cancelled') })
  const { tasks } = await heddle.json<PlanView>('plans', 'plan:1')
  expect(tasks.map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
})

test('what tasks cost that were at work when an ask ended is what the provider told, and the rest is marked', async () => {
  const begun = Promise.withResolvers<void>()
  const text = 'one line of the answer, and another one that comes after it, so that there is something to cut'
  await working(
    (title) => {
      if (title === 'first') return { text: 'done' }
      begun.resolve()
      return { text, faults: { silentAt: 1500, pieceBytes: 300 } }
    },
    { plans: 'always', hello: begun.promise },
  )
  await heddle.run('ask', 'go')
  const { approvals } = await heddle.json<{ approvals: ApprovalView[] }>('approvals')
  await heddle.run('approve', '1', '--hash', approvals[0]?.hash ?? '', '--no-wait')
  expect(await heddle.json<RequestAnswer>('ask', 'hello')).toMatchObject({ ok: true, text: 'Hello.' })
  const { tasks } = await heddle.json<PlanView>('plans', 'plan:1')
  expect(tasks[1]).toMatchObject({ title: 'second', status: 'running' })
  const answered = provider.log.flatMap((line) => (line.kind === 'answered' && line.usage ? [line.usage] : []))
  const { total } = await heddle.json<{ total: Spending }>('usage')
  expect(total).toMatchObject({
    inputTokens: answered.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    outputTokens: answered.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
    reservedUsd: 0,
  })
  expect(total.estimatedUsd + total.lostUsd).toBeGreaterThan(0)
  expect((await heddle.run('usage')).out).toContain('~')
})
