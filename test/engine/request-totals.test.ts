import { afterEach, describe, expect } from 'vitest'
import { spendingOfRequest } from '../../src/store/rows/request-totals.ts'
import { findRun, lockRun } from '../../src/store/rows/runs.ts'
import { spendingBy } from '../../src/store/rows/usage.ts'
import { scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'

const usage = { inputTokens: 900, outputTokens: 100 }

describe.each(databases)('what a request has drawn from its budget on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  async function lookAgainAndAgain(times: number, tokens: number): Promise<string> {
    let seen = 0
    const look = testTool('look', 'pure', () => `${++seen}`)
    const model = scriptedModel((_, call) =>
      call <= times ? { calls: [{ name: 'look' }], usage } : { text: 'enough', usage },
    )
    under = await newEngine(database, model, {
      tools: [look],
      limits: { maxSteps: 400, perRequest: { usd: 5, tokens } },
    })
    await under.work()
    const { runId } = await under.say('look')
    await under.turns(1)
    return runId ?? ''
  }

  test('is the sum over all its calls, of which few are added up anew', async () => {
    const runId = await lookAgainAndAgain(199, 10 ** 7)
    const drawn = await under.runtime.store.write('step', async (tx) => {
      await lockRun(tx, runId)
      return spendingOfRequest(tx, runId)
    })
    const spent = await under.runtime.store.read((rows) => spendingBy(rows, { rootRunId: runId }))
    expect(spent).toMatchObject({ calls: 200, inputTokens: 180_000, outputTokens: 20_000 })
    expect(drawn).toEqual({ tokens: 200_000, costUsd: expect.closeTo(spent.costUsd), steps: 200 })
    const uncounted = await under.runtime.store.read((rows) =>
      rows.all(rows.build.selectFrom('usage').select('call').where('counted', '=', 0)),
    )
    expect(uncounted.length).toBeLessThanOrEqual(65)
  })

  test('holds it back when most of its calls are in the total already', async () => {
    const runId = await lookAgainAndAgain(300, 150_000)
    const { run, spent } = await under.runtime.store.read(async (rows) => ({
      run: await findRun(rows, runId),
      spent: await spendingBy(rows, { rootRunId: runId }),
    }))
    expect(run).toMatchObject({ state: 'failed', error: { code: 'budget_spent' } })
    expect(spent.calls).toBeGreaterThan(100)
    expect(spent.inputTokens + spent.outputTokens).toBeLessThanOrEqual(150_000)
  })
})
