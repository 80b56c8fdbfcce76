import { afterEach, describe, expect } from 'vitest'
import type { Config } from '../../src/config/config.ts'
import { viewPlan } from '../../src/engine/plans/plan-views.ts'
import { cancelPlan, changeTask } from '../../src/engine/plans/steer-plan.ts'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { findApproval } from '../../src/store/rows/approvals.ts'
import { findPlan, listPlans, plansAwaitingUser } from '../../src/store/rows/plans.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { listTasks } from '../../src/store/rows/tasks.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import {
  brief,
  newOffice,
  type Office,
  type OfficeOptions,
  type Play,
  planner,
  planningCoordinator,
} from './test-team.ts'

const plans = (gate: Config['plans']): OfficeOptions => ({
  config: (config) => {
    config.plans = gate
  },
})

describe.each(databases)('the gate before a plan on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const cast = {
    coordinator: planningCoordinator(),
    'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'], skill: 'writer' }),
    researcher: () => ({ text: 'fine' }),
    writer: () => ({ text: 'written' }),
  }
  const begun = () => office.engine.store.read(async (rows) => (await runsOf(rows, {})).filter(({ taskId }) => taskId))

  test('somebody who watches is shown the plan and asked before anything of it begins', async () => {
    office = await newOffice(database, cast)
    const asked = await office.ask('go', { attended: true })
    expect(asked).toMatchObject({ status: 'waiting', approvals: [1] })
    expect(await begun()).toEqual([])
    const question = await office.engine.store.read((rows) => findApproval(rows, 1))
    expect(question).toMatchObject({ tool: 'run_project', input: { project_id: 1 } })
    expect(question?.change.split('\n')).toEqual([
      'The plan',
      '  1  Task a  @researcher',
      '  2  Task b  @writer  can write_file  after 1',
    ])
    expect(question?.facts).toEqual([
      { name: 'plan', value: '1, 2 tasks, at most 3 at a time' },
      { name: 'costs', value: 'at least 1k tokens to read, from $0.00' },
      { name: 'spent', value: '$0.00 of at most $5.00 for this request' },
    ])
    expect(await office.engine.store.read((rows) => viewPlan(rows, { ...office.engine, now: 0 }, '1'))).toMatchObject({
      status: 'proposed',
      approvalId: 1,
    })
  })

  test('the question outlives the process, and yes begins the plan', async () => {
    office = await newOffice(database, cast)
    const itemId = await office.say('go', { attended: true })
    await office.heard(itemId)
    await office.restart()
    await decide(office.engine, 1, { answer: 'once' })
    expect((await office.heard(itemId)).text).toBe('Heard: plan:1 "The plan" completed: 2 completed')
    // One to have it planned, one to run it, one to hear of its end: the wait beside the question was not lost.
    expect(office.requestsOf('coordinator')).toHaveLength(3)
  })

  test('no, in words, goes back to the coordinator and nothing runs', async () => {
    office = await newOffice(database, cast)
    const itemId = await office.say('go', { attended: true })
    await office.heard(itemId)
    await decide(office.engine, 1, { answer: 'no', reason: 'leave the writer out' })
    const { text } = await office.heard(itemId)
    expect(text).toContain('the user said no: leave the writer out')
    expect(text).toContain('spawn project-planner again with these words')
    expect(await begun()).toEqual([])
  })

  test('a plan that nobody started needs the user; one that asks does so by its question, one that was refused not at all', async () => {
    const needing = () => office.engine.store.read((rows) => plansAwaitingUser(rows))
    office = await newOffice(database, cast)
    const itemId = await office.say('go', { attended: true })
    await office.heard(itemId)
    expect(await needing()).toEqual([])
    await decide(office.engine, 1, { answer: 'no' })
    await office.heard(itemId)
    expect(await needing()).toEqual([])
    await office.remove()
    const plans: Play = (said, last, request) => {
      if (last === 'go') return planningCoordinator()(said, last, request)
      return last === 'start it' ? { calls: [{ name: 'run_project', input: { project_id: 1 } }] } : { text: 'Fine.' }
    }
    office = await newOffice(database, { ...cast, coordinator: plans })
    await office.ask('go')
    expect(await needing()).toEqual([1])
    // Refused when another request asks.
    const later = await office.say('start it', { attended: true })
    await office.heard(later)
    await decide(office.engine, 1, { answer: 'no' })
    await office.heard(later)
    expect(await needing()).toEqual([])
  })

  test('what the owner edits while asked is what is shown, and what yes means', async () => {
    office = await newOffice(database, cast)
    const itemId = await office.say('go', { attended: true })
    await office.heard(itemId)
    const [first, second] = await office.engine.store.read((rows) => listTasks(rows, {}))
    if (!first || !second) throw new Error('there is no plan')
    await changeTask(office.engine, first, { action: 'edit', context: brief('the new words') })
    await changeTask(office.engine, second, { action: 'skip' })
    const question = await office.engine.store.read((rows) => findApproval(rows, 1))
    expect(question?.change).toContain('Task b  @writer  can write_file  after 1  [skipped]')
    await decide(office.engine, 1, { answer: 'once' })
    expect((await office.heard(itemId)).text).toBe('Heard: plan:1 "The plan" completed: 1 completed, 1 skipped')
    expect(office.requestsOf('researcher')[0]?.messages[0]?.content).toContain('the new words')
  })

  test('a yes to what was shown before an edit is refused; a no means whatever it has become', async () => {
    office = await newOffice(database, cast)
    const itemId = await office.say('go', { attended: true })
    await office.heard(itemId)
    const shown = () => office.engine.store.read((rows) => findApproval(rows, 1))
    const hash = (await shown())?.hash ?? ''
    const [first] = await office.engine.store.read((rows) => listTasks(rows, {}))
    if (!first) throw new Error('there is no plan')
    await changeTask(office.engine, first, { action: 'edit', context: brief('the new words') })
    await expect(decide(office.engine, 1, { answer: 'once', hash })).rejects.toMatchObject({ code: 'approval_changed' })
    expect((await shown())?.answer).toBeNull()
    await decide(office.engine, 1, { answer: 'no', hash, reason: 'enough' })
    expect((await office.heard(itemId)).text).toContain('the user said no: enough')
  })

  test('a plan that is given up is not asked about any more, and whoever waited is told', async () => {
    office = await newOffice(database, cast)
    const itemId = await office.say('go', { attended: true })
    await office.heard(itemId)
    const plan = await office.engine.store.read((rows) => findPlan(rows, 1))
    if (!plan) throw new Error('there is no plan')
    expect(await cancelPlan(office.engine, plan, 'not now')).toBe('cancelled')
    const { text, approvals } = await office.heard(itemId)
    expect([text, approvals]).toEqual([expect.stringContaining('the plan was cancelled: not now'), undefined])
    expect(await office.engine.store.read((rows) => findApproval(rows, 1))).toMatchObject({ answer: 'no' })
    expect(await begun()).toEqual([])
  })

  test('a plan that nobody watches runs, unless every plan must ask', async () => {
    office = await newOffice(database, cast, plans('ask'))
    expect(await office.ask('go')).toMatchObject({ ok: true })
    await office.remove()
    office = await newOffice(database, cast, plans('always'))
    expect(await office.ask('go')).toMatchObject({ status: 'waiting', approvals: [1] })
    await office.remove()
    office = await newOffice(database, cast, plans('auto'))
    expect(await office.ask('go', { attended: true })).toMatchObject({ ok: true })
    expect(await office.engine.store.read((rows) => listPlans(rows))).toMatchObject([{ status: 'completed' }])
  })

  test('a brief that says nothing is refused, whoever writes it', async () => {
    office = await newOffice(database, cast)
    await office.ask('go', { attended: true })
    const [first] = await office.engine.store.read((rows) => listTasks(rows, {}))
    if (!first) throw new Error('there is no plan')
    await expect(changeTask(office.engine, first, { action: 'edit', context: 'do it' })).rejects.toThrow('is one line')
    await expect(changeTask(office.engine, first, { action: 'edit', skill: 'nobody' })).rejects.toThrow('no agent')
    await expect(changeTask(office.engine, first, { action: 'retry' })).rejects.toThrow('cannot be tried again')
  })
})
