import { expect, test } from 'vitest'
import { planCall } from '../engine/test-team.ts'
import { heddleWithModel } from './heddle-with-model.ts'

const lie = 'The plan was run and everything is done.'
// The coordinator has a plan made, and never starts it.
const heddle = heddleWithModel(({ tools, messages }) => {
  const has = (name: string) => tools.some((tool) => tool.name === name)
  const hasReplied = messages.some(({ role }) => role === 'assistant')
  if (has('plan_tasks')) return hasReplied ? { text: 'Made.' } : { calls: [planCall([{ key: 'a' }])] }
  if (!has('spawn_agent') || hasReplied) return { text: lie }
  return {
    calls: [
      { name: 'spawn_agent', input: { task: 'plan it', skill: 'project-planner' } },
      { name: 'wait', input: {} },
    ],
  }
})

test('whoever asked is told of a plan that was proposed and never started', async () => {
  const { code, out, err } = await heddle().run('ask', '--agent', '@coordinator', 'do it')
  expect({ code, out: out.trim() }).toEqual({ code: 0, out: lie })
  expect(err).toContain('plan:1 was not started: heddle plans plan:1\n')
})
