import { afterEach, describe, expect, test } from 'vitest'
import { viewPlan, viewPlans } from '../../src/engine/plans/plan-views.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import {
  type MediocreName,
  mediocreModel,
  mediocreNames,
  mediocreRule,
  type ProviderRequest,
} from '../../src/testing.ts'
import { newOffice, type Office } from '../engine/test-team.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { endings, seedFor } from './mediocre-endings.ts'

/** What a model says without end is nothing to print. */
const maxCompared = 66

/** What the user is told at the end of a plan of four tasks, of which the last two need the first two. */
const answers: Record<MediocreName, object> = {
  'prose-planner': { ok: true, status: 'completed' },
  'half-json-caller': { ok: true, status: 'completed' },
  looper: { ok: false, error: { code: 'looping' } },
  liar: { ok: true, status: 'completed', text: expect.stringMatching(/^Everything is done/) },
  silent: { ok: false, error: { code: 'nothing_returned' } },
  'over-long': { ok: true, text: "[heddle: cut off at the model's limit of output; no tool call in i" },
  retrier: { ok: false, error: { code: 'plan_failed', message: 'plan:1 did not complete: 2 blocked, 2 failed' } },
}

describe.each(databases)('a plan that a mediocre model carries out on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const plan = () =>
    office.engine.store.read(async (rows) => {
      const [made] = await viewPlans(rows)
      return made && viewPlan(rows, { ...office.engine, now: 0 }, `plan:${made.id}`)
    })

  test.each(mediocreNames)('%s: it ends, and what is told of each task is true', async (who) => {
    const goal = '4 tasks'
    office = await newOffice(database, {}, { model: mediocreModel({ who, seed: seedFor(goal, who, true) }) })
    const { text, ...answered } = await office.ask(goal)
    expect({ ...answered, text: text.slice(0, maxCompared) }).toMatchObject(answers[who])
    const tasks = (await plan())?.tasks ?? []
    const { status, says } = endings[who]
    const rest = status === 'failed' ? 'blocked' : status
    expect(tasks.map((task) => task.status)).toEqual([status, status, rest, rest])
    for (const { summary } of tasks.filter(({ attempts }) => attempts > 0)) expect(summary).toMatch(says)
    expect(await office.engine.store.read((rows) => runsOf(rows, { live: true }))).toEqual([])
  })

  test.each(['prose-planner', 'liar', 'silent', 'over-long'] as const)(
    '%s: a planner that never makes a plan has failed, and the coordinator hears it',
    async (who) => {
      const goal = '3 tasks'
      office = await newOffice(database, {}, { model: mediocreModel({ who, seed: seedFor(goal, who, false) }) })
      const answered = await office.ask(goal)
      expect(await plan()).toBeUndefined()
      const heard = JSON.stringify(office.requestsOf('coordinator').at(-1)?.messages)
      expect(heard).toContain('failed: the planner answered without a plan')
      expect(answered.status).toBe(who === 'silent' ? 'failed' : 'completed')
    },
  )
})

test('the same request gets the same answer, and another seed another one', () => {
  const request = asked(said('Part 1 by the half-json-caller\n\n## Brief\nLook.'))
  const answers = Array.from({ length: 20 }, (_, seed) => JSON.stringify(mediocreRule({ seed })(request)))
  expect(answers).toEqual(Array.from({ length: 20 }, (_, seed) => JSON.stringify(mediocreRule({ seed })(request))))
  expect(new Set(answers).size).toBeGreaterThan(1)
})

test('a goal for all models names a worker for each task, and those that fail come last', () => {
  const request = { ...asked(said('12 tasks by all models, told by the retrier')), tools: [{ name: 'plan_tasks' }] }
  const { input } = mediocreRule()(request).calls?.[0] ?? {}
  expect((input as { tasks: { title: string }[] }).tasks.map(({ title }) => title)).toEqual([
    'Part 1',
    'Part 2 by the prose-planner',
    'Part 3 by the half-json-caller',
    'Part 4 by the liar',
    'Part 5 by the over-long',
    'Part 6',
    'Part 7 by the prose-planner',
    'Part 8 by the half-json-caller',
    'Part 9 by the looper',
    'Part 10 by the silent',
    'Part 11 by the retrier',
    'Part 12 by the looper',
  ])
})

function asked(...messages: ProviderRequest['messages']): ProviderRequest {
  return { wire: 'chat', model: 'm', messages, tools: [{ name: 'list_dir' }], maxTokens: null, attempt: 0 }
}

function said(content: string): ProviderRequest['messages'][number] {
  return { role: 'user', content, calls: [], callId: null }
}
