import { expect, test } from 'vitest'
import { mediocreRule } from '../../src/testing.ts'
import { seedFor } from '../testing/mediocre-endings.ts'
import { heddleWithModel } from './heddle-with-model.ts'

const goal = '2 tasks by the silent'
const lie = 'Everything is done: all tasks were completed, and every test passes.'
// The worker is silent, the coordinator lies.
const [liar, others] = [mediocreRule({ who: 'liar', seed: seedFor(goal, 'liar', true) }), mediocreRule()]
const heddle = heddleWithModel((request) =>
  request.tools.some(({ name }) => name === 'spawn_agent' || name === 'plan_tasks') ? liar(request) : others(request),
)

test('whoever asked is told that the plan did not complete, whatever the coordinator says of it', async () => {
  const { code, out } = await heddle().run('ask', '--agent', '@coordinator', goal)
  expect(out.split('\n').slice(0, 3)).toEqual([
    lie,
    'plan:1 did not complete: 1 blocked, 1 failed',
    '  → look at it: heddle plans plan:1',
  ])
  expect(code).toBe(1)
  const { out: plan } = await heddle().run('plans', 'plan:1')
  expect(plan).toContain('Plan 1 · The parts · failed, 0 of 2 done')
  expect(plan).toMatch(/1 {2}FAILED .*Failed: the agent ended/)
  expect(plan).toMatch(/2 {2}blocked /)
})
