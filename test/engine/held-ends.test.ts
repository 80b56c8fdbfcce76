import { afterEach, describe, expect } from 'vitest'
import { readSteps } from '../../src/store/rows/steps.ts'
import { scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'

let own: TestEngine | undefined
afterEach(async () => {
  await own?.remove()
  own = undefined
})

describe.each(databases)('on %s', (database) => {
  const test = testOn(database)
  test.each([
    { effect: 'pure', commits: 2, rule: 'a pure call is stored with what follows it, and in no commit of its own' },
    { effect: 'idempotent', commits: 3, rule: 'a call that has done something is stored at once' },
    { effect: 'unsafe', commits: 3, rule: 'a call that must not be made again is stored at once' },
  ] as const)('the end of $rule', async ({ effect, commits }) => {
    const areas: string[] = []
    const crash = (point: string) => areas.push(point)
    const model = scriptedModel([{ calls: [{ name: 'touch' }] }, { text: 'done' }])
    own = await newEngine(database, model, { tools: [testTool('touch', effect, () => 'ok')], crash })
    await own.work()
    const { runId } = await own.say('go')
    await own.turns(1)
    const steps = await own.runtime.store.read((rows) => readSteps(rows, runId ?? ''))
    expect(steps.map(({ kind }) => kind)).toEqual(['reply', 'begun', 'ended'])
    // The reply with the begin of its call; then the call's end and the next reservation.
    expect(areas.filter((point) => point === 'step.after_commit')).toHaveLength(commits)
  })

  test('a run that is stopped right after a call keeps its end, and does not make the call again', async () => {
    const model = scriptedModel([{ calls: [{ name: 'touch' }] }, { text: 'done' }])
    const stopping: Promise<void>[] = []
    const tool = testTool('touch', 'pure', () => 'ok')
    own = await newEngine(database, model, { tools: [tool] })
    own.engine.crash = (point) => {
      if (point === 'tool.after_run') stopping.push(first.stop())
    }
    const first = await own.work()
    const { runId } = await own.say('go')
    await own.until(async () => stopping.length > 0)
    await Promise.all(stopping)
    await own.work()
    const [turn] = await own.turns(1)
    expect(turn?.turn.responseMessage.content).toBe('done')
    const steps = await own.runtime.store.read((rows) => readSteps(rows, runId ?? ''))
    expect(steps.at(-1)).toMatchObject({ kind: 'ended', payload: { status: 'ok', output: 'ok' } })
    expect(tool.calls).toHaveLength(1)
  })
})
