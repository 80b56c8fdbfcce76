import { afterEach, beforeEach, expect, test } from 'vitest'
import { ModelFailure, scriptedModel } from '../../src/testing.ts'
import { folder, newGateway, type TestGateway } from '../gateway/gateway.ts'
import { planner, planningCoordinator, saidIn, whoIs } from './test-team.ts'

const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })
const never = new AbortController().signal

let heddle: TestGateway
let tries: number

beforeEach(async () => {
  tries = 0
  const model = scriptedModel((request) => {
    const said = saidIn(request)
    const last = said.at(-1) ?? ''
    if (whoIs(request) === 'coordinator') return planningCoordinator()(said, last, request)
    if (whoIs(request) === 'project-planner')
      return planner({ key: 'a' }, { key: 'b', needs: ['a'] })(said, last, request)
    return said[0]?.startsWith('Task a') && ++tries === 1 ? { fail } : { text: 'fine' }
  })
  heddle = await newGateway([model])
})
afterEach(() => heddle.remove())

test('trying the run of a task again tries the task again, with all that means for its plan', async () => {
  const { app } = heddle
  const { itemId } = await app.submit(folder, { session: 'main', content: 'go', agent: 'coordinator' })
  expect((await app.answer(folder, itemId, never)).text).toContain('has stopped')
  const [first] = await app.tasks()
  const again = await app.retry(`run:${first?.runId}`)
  expect(again.runId).not.toBe(first?.runId)
  expect((await app.answer(folder, itemId, never)).text).toBe('Heard: plan:1 "The plan" completed: 2 completed')
  expect((await app.tasks()).map(({ status, attempts }) => [status, attempts])).toEqual([
    ['completed', 2],
    ['completed', 1],
  ])
  // A run that another has taken the place of stands for the same task, which is done.
  await expect(app.retry(`run:${first?.runId}`)).rejects.toThrow('is completed and cannot be tried again')
})
