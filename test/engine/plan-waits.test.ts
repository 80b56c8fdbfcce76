import { afterEach, describe, expect } from 'vitest'
import { viewTask, viewTasks } from '../../src/engine/plans/plan-views.ts'
import { listRuns } from '../../src/engine/views/runs.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { gate, ModelFailure, manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office, type Play, planner, planningCoordinator } from './test-team.ts'

describe.each(databases)('a task whose run waits says for what on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  /** Until so many runs of tasks wait. */
  const untilWaiting = (count: number) =>
    office.until(async (rows) => {
      const waiting = (await runsOf(rows, { live: true })).filter(({ taskId, state }) => taskId && state === 'waiting')
      return waiting.length === count
    })

  /** The same words by `plans`, `show task:` and `ps`. */
  async function doing(task: number): Promise<string | undefined> {
    const now = office.engine.clock.now()
    const words = await office.engine.store.read(async (rows) => [
      (await viewTasks(rows, { ...office.engine, now })).find(({ id }) => id === task)?.doing,
      (await viewTask(rows, { ...office.engine, now }, `task:${task}`)).doing,
      (await listRuns(rows, now)).rows.find(({ taskId }) => taskId === task)?.doing,
    ])
    expect(new Set(words).size).toBe(1)
    return words[0]
  }

  const cast = (tasks: Parameters<typeof planner>, plays: Record<string, Play>) => ({
    coordinator: planningCoordinator(),
    'project-planner': planner(...tasks),
    ...plays,
  })

  test('a retry of the model, with when and the reason', async () => {
    const clock = manualClock()
    const busy = new ModelFailure('provider_busy', '503', 'wait', { retry: 'later', retryAfter: 20_000 })
    office = await newOffice(database, cast([{ key: 'a' }], { researcher: () => ({ fail: busy }) }), { clock })
    await office.say('go')
    await untilWaiting(1)
    expect(await doing(1)).toBe('waiting for model retry in 20s, the provider is busy')
  })

  test('budget that other runs have reserved', async () => {
    const clock = manualClock()
    const held = gate()
    office = await newOffice(
      database,
      cast([{ key: 'a' }, { key: 'b' }], { researcher: () => ({ gate: held, text: 'done' }) }),
      {
        clock,
        config: (config) => {
          config.budgets.perRequest.tokens = 20_000
        },
      },
    )
    await office.say('go')
    await held.reached
    await untilWaiting(1)
    const words = [await doing(1), await doing(2)]
    held.open()
    expect(words.sort()).toEqual(['thinking', 'waiting for budget reserved by other runs, retry in 1s'])
  })

  test('a spent budget, with the number of the one question that all of them share', async () => {
    office = await newOffice(database, cast([{ key: 'a' }, { key: 'b' }], { researcher: () => ({ text: 'never' }) }), {
      config: (config) => {
        config.budgets.perRequest.steps = 4
      },
    })
    await office.say('go', { waitsForBudget: true })
    await untilWaiting(2)
    const words = 'waiting for approval:1 (heddle approve 1), budget used up'
    expect([await doing(1), await doing(2)]).toEqual([words, words])
  })

  test('an approval, with its number, the command and the call', async () => {
    office = await newOffice(
      database,
      cast([{ key: 'a', skill: 'writer' }], {
        writer: () => ({ calls: [{ name: 'write_file', input: { path: 'a.md', content: 'x' } }] }),
      }),
      {
        config: (config) => {
          config.tools.ask = ['write_file']
        },
      },
    )
    await office.say('go', { attended: false })
    await untilWaiting(1)
    expect(await doing(1)).toBe('waiting for approval:1 (heddle approve 1), write_file a.md')
  })
})
