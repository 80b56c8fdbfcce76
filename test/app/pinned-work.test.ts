import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ScriptedModel, scriptedModel, type TestApp } from '../../src/testing.ts'
import { planCall, planner, planningCoordinator, saidIn, whoIs } from '../engine/test-team.ts'
import { untilSo } from '../setup/until.ts'
import { openWorkingApp } from './working-app.ts'

const folder = '/here'
const never = new AbortController().signal
const coordinator = planningCoordinator('plan')
const plan = planner({ key: 'a' })

let heddle: TestApp
let big: ScriptedModel
let small: ScriptedModel
beforeEach(async () => {
  const model = (name: string) =>
    scriptedModel(
      (request) => {
        const said = saidIn(request)
        const last = said.at(-1) ?? ''
        const who = whoIs(request)
        if (who === 'coordinator') return coordinator(said, last, request)
        if (who === 'project-planner') return plan(said, last, request)
        if (last === 'spawn') return { calls: [{ name: 'sessions_spawn', input: { task: 'look', model: 'big' } }] }
        return { text: `done: ${planCall([]).input.project.title}` }
      },
      { name },
    )
  big = model('big')
  small = model('small')
  heddle = await openWorkingApp({ models: [big, small] })
  await heddle.setProfile('profile:frugal:v1', { model: { model: 'small' } })
  await heddle.registerAgent({ agentId: '@frugal', profileId: 'profile:frugal:v1', description: 'Costs little.' })
  await heddle.setPin(folder, { scope: 'workspace', agentId: '@frugal' })
})
afterEach(() => heddle.remove())

/** All runs, once nothing works any more: what each was for and which model it used. */
async function runsAtRest(count: number) {
  const all = async () => (await heddle.runs({ all: true })).rows
  await untilSo(async () => (await heddle.runs()).rows.length === 0 && (await all()).length >= count)
  return (await all()).map(({ kind, via }) => `${kind} ${via}`)
}

test('a sub-agent of sessions_spawn has no model that the pinned profile does not allow, and is told why', async () => {
  const { itemId } = await heddle.submit(folder, { session: 'main', content: 'spawn', agent: 'general' })
  await heddle.answer(folder, itemId, never)
  expect(await runsAtRest(2)).toContain('spawn sessions_spawn')
  const { messages = [] } = small.requests.find(({ messages }) => messages.at(-1)?.role === 'tool') ?? {}
  expect(messages.at(-1)?.content).toContain('"clamped":{"from":"big"')
  expect([big.requests.length, small.requests.length > 2]).toEqual([0, true])
})

test('the task of a plan has no model that the pinned profile does not allow', async () => {
  const asked = { session: 'main', content: 'plan', agent: 'coordinator' }
  const { itemId } = await heddle.submit(folder, asked)
  await heddle.answer(folder, itemId, never)
  expect(await runsAtRest(4)).toContainEqual(expect.stringMatching(/^task /))
  expect([big.requests.length, small.requests.some((request) => whoIs(request) === 'researcher')]).toEqual([0, true])
})

test('a job has no model that the pinned profile does not allow, even if it was made with one', async () => {
  const { id } = await heddle.addJob(folder, { every: '1h', message: 'look', agent: '@general', model: 'big' })
  await heddle.runJob(id)
  expect(await runsAtRest(1)).toEqual(['cron cron'])
  expect(await heddle.fires({ job: id })).toMatchObject([{ status: 'completed' }])
  expect([big.requests.length, small.requests.length]).toEqual([0, 1])
})

test('pins of one’s own are in the audit, those of the owner too where others feel them', async () => {
  await heddle.addUser('mia', { role: 'public', folder })
  const mia = heddle.as({ kind: 'user', id: 'mia', role: 'public' })
  await mia.setPin(folder, { scope: 'user', agentId: '@writer' })
  await mia.setPin(folder, { scope: 'session', agentId: '@writer', session: 'main' })
  await mia.removePin(folder, { scope: 'user' })
  await heddle.setPin(folder, { scope: 'user', agentId: '@writer' })
  const { rows } = await heddle.audit({ limit: 20 })
  const pins = rows.filter(({ action }) => action.startsWith('pin.'))
  expect(pins.map(({ principal, action, resource }) => `${principal} ${action} ${resource}`)).toEqual([
    'user:mia pin.set profile-pin:user:',
    'user:mia pin.set profile-pin:session:main',
    'user:mia pin.set profile-pin:user:',
    'owner pin.share profile-pin:workspace:',
  ])
})

test('a pin keeps the profile it was made with when its agent is registered with another, and says so', async () => {
  await heddle.setProfile('profile:rich:v1', { model: { model: 'big' } })
  await heddle.unregisterAgent('@frugal')
  await heddle.registerAgent({ agentId: '@frugal', profileId: 'profile:rich:v1', description: 'Costs much.' })
  expect((await heddle.pins(folder)).pins).toEqual([
    {
      ...{ scope: 'workspace', id: folder, agentId: '@frugal', profileId: 'profile:frugal:v1', effective: true },
      why: 'it is pinned for this folder; @frugal has profile:rich:v1 now, pin it again to use that',
    },
  ])
  const ask = async () => {
    const { itemId } = await heddle.submit(folder, { session: 'main', content: 'hello' })
    await heddle.answer(folder, itemId, never)
  }
  await ask()
  expect([big.requests.length, small.requests.length]).toEqual([0, 1])
  await heddle.setPin(folder, { scope: 'workspace', agentId: '@frugal' })
  await ask()
  expect([big.requests.length, small.requests.length]).toEqual([1, 1])
})
