import { afterEach, describe, expect } from 'vitest'
import { ModelFailure } from '../../src/domain/model.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { whenEnded } from '../../src/engine/run/request.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { type Gate, gate } from '../../src/models/gate.ts'
import type { ScriptedReply } from '../../src/models/scripted.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { isLong } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine, type TestLimits, testTool } from './engine.ts'
import { type FamilyOptions, family } from './family.ts'
import { startMortal } from './killable-engine.ts'

const never = new AbortController().signal
const patience = { timeout: 120_000 }

describe.each(databases)('a parent on %s', patience, (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const begin = async (count: number, options: FamilyOptions, limits: TestLimits = {}, more: Tool[] = []) => {
    const { model, tools } = family(count, () => under, options)
    under = await newEngine(database, model, {
      tools: [...tools, ...more],
      limits: { perRequest: { usd: 5, tokens: 10 ** 7 }, maxSteps: 1000, ...limits },
    })
  }
  const runs = (filter = {}) => under.runtime.store.read((rows) => runsOf(rows, filter))
  const children = async () => (await runs()).filter(({ parentRunId }) => parentRunId !== null)
  const heard = async (count: number) =>
    (await under.turns(count)).map(({ turn }) => turn.queryMessages.map(({ content }) => content))
  const resultsIn = (lines: string[]) => lines.filter((line) => line.startsWith('[agent_result:'))

  // On a server each of them takes five times as long.
  test.each(isLong || database === 'sqlite' ? [1, 10, 100] : [1, 10])(
    'F03 openclaw #98112: whose process dies while %i children run hears of each once, and all end',
    async (count) => {
      const limits = { maxRunning: count + 1, lanes: { agents: count } }
      const held = allReached(count)
      await begin(count, { hold: held.hold }, limits)
      const first = startMortal(under)
      const { itemId } = await under.say('go')
      await held.reached
      await under.turns(1)
      expect(await runs({ state: 'running' })).toHaveLength(count)
      first.kill()
      held.open()
      await under.work()
      const request = await whenEnded(under.engine, itemId, never)
      const [, wake] = await heard(2)
      expect(new Set(resultsIn(wake ?? []).map((line) => /done: child (\d+)$/.exec(line)?.[1])).size).toBe(count)
      expect(wake).toHaveLength(count + 1)
      expect(request?.answer.turn.responseMessage.content).toContain('heard: all started agents')
      expect((await children()).filter(({ state }) => state === 'completed')).toHaveLength(count)
    },
  )

  test('F03 openclaw #98112: whose process dies before its child has begun hears of it all the same', async () => {
    await begin(1, {}, { lanes: { agents: 0 } })
    const first = startMortal(under)
    const { itemId } = await under.say('go')
    await under.turns(1)
    first.kill()
    expect(await children()).toMatchObject([{ state: 'queued', epoch: 0 }])
    under.engine.limits.lanes.agents = 1
    await under.work()
    await whenEnded(under.engine, itemId, never)
    expect(resultsIn((await heard(2))[1] ?? [])).toHaveLength(1)
  })

  test('F04 openclaw #77720: whose process dies while grandchildren run is told when all have ended, level by level', async () => {
    const held = allReached(2)
    await begin(2, { hold: held.hold }, { maxRunning: 8, lanes: { agents: 8 } })
    const first = startMortal(under)
    const { itemId } = await under.say('go go')
    await held.reached
    first.kill()
    held.open()
    await under.work()
    const request = await whenEnded(under.engine, itemId, never)
    expect(await runs({ live: true })).toEqual([])
    const all = await runs()
    expect(all.filter(({ depth }) => depth === 2)).toHaveLength(4)
    expect(all.every(({ state }) => state === 'completed')).toBe(true)
    expect(resultsIn((await heard(2))[1] ?? [])).toHaveLength(2)
    expect(request?.answer.turn.responseMessage.content).toContain('all started agents')
  })

  test('F10 openclaw #74864: whose child takes every process down with it goes on when that is given up', async () => {
    const wedges = [gate(), gate(), gate()]
    const wedge = testTool('wedge', 'pure', (_, signal) => wedges[wedge.calls.length - 1]?.pass(signal))
    const answer = (task: string): ScriptedReply =>
      task === 'child 1' ? { calls: [{ name: 'wedge' }] } : { text: `done: ${task}` }
    await begin(2, { answer }, {}, [wedge])
    const { itemId } = await under.say('go')
    for (const { reached } of wedges) {
      const mortal = startMortal(under)
      await reached
      // Nothing else is left for it to do than what it is wedged in.
      await under.until(async (rows) => (await runsOf(rows, { live: true })).length === 1)
      mortal.kill()
    }
    await under.work()
    await whenEnded(under.engine, itemId, never)
    expect(wedge.calls).toHaveLength(3)
    const [, wake] = await heard(2)
    expect(
      resultsIn(wake ?? [])
        .map((line) => /(completed|failed)/.exec(line)?.[1])
        .sort(),
    ).toEqual(['completed', 'failed'])
  })

  test('F33 that is stopped while its children wait for theirs is stopped with all of them: nobody is woken', async () => {
    const held = allReached(4)
    await begin(2, { hold: held.hold }, { maxRunning: 8, lanes: { agents: 8 } })
    await under.work()
    const { runId } = await under.say('go go')
    await held.reached
    await under.until(async (rows) => (await runsOf(rows, { live: true })).every(({ depth }) => depth === 2))
    const before = await runs()
    await cancel(under.engine, runId ?? '', 'enough')
    await under.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)
    const after = await runs()
    expect(after.map(({ depth, state }) => [depth, state])).toEqual(
      before.map(({ depth }) => [depth, depth === 2 ? 'cancelled' : 'completed']),
    )
  })

  test('F06 openclaw #67777: that answers somebody when its child ends hears of it in the next turn', async () => {
    const [child, busy] = [gate(), gate()]
    const answering = gate()
    await begin(1, { hold: () => child })
    const { model } = family(1, () => under, { hold: () => child })
    const slow: typeof model = {
      ...model,
      async reply(request, onDelta) {
        const isBusy = request.messages.at(-1)?.content === 'are you there?'
        if (isBusy) answering.open()
        if (isBusy) await busy.pass(request.signal)
        return model.reply(request, onDelta)
      },
    }
    await under.work({ model: slow })
    const { itemId } = await under.say('go')
    await under.turns(1)
    await child.reached
    await under.say('are you there?')
    await answering.pass(never)
    child.open()
    await under.until(async (rows) => (await runsOf(rows, { live: true })).every(({ depth }) => depth === 0))
    busy.open()
    await whenEnded(under.engine, itemId, never)
    expect(await heard(3)).toEqual([
      ['go'],
      ['are you there?'],
      [expect.stringContaining('[agent_result:'), expect.stringContaining('all started agents')],
    ])
  })

  test('F08 openclaw #44925: whose provider is down when its children end says so, and a retry hears them all', async () => {
    const down = new ModelFailure('provider_down', 'nobody answers', 'try again later', { retry: 'never' })
    let isDown = true
    await begin(2, {})
    const { model } = family(2, () => under)
    const failing: typeof model = {
      ...model,
      async reply(request, onDelta) {
        const isWake = request.messages.at(-1)?.content.startsWith('all started agents')
        if (isWake && isDown) throw down
        return model.reply(request, onDelta)
      },
    }
    await under.work({ model: failing })
    const { itemId } = await under.say('go')
    const request = await whenEnded(under.engine, itemId, never)
    expect(request?.answer.turn).toMatchObject({
      status: 'failed',
      responseMessage: { content: 'Failed: nobody answers. Try again later' },
    })
    isDown = false
    await retry(under.engine, request?.answer.turn.runId ?? '')
    const lines = await heard(3)
    expect(resultsIn(lines[2] ?? [])).toEqual(resultsIn(lines[1] ?? []))
    expect(resultsIn(lines[2] ?? [])).toHaveLength(2)
  })

  test('F08 openclaw #44925: hears of a child that fails as it does of one that succeeds', async () => {
    const no = new ModelFailure('provider_rejected', 'no', 'ask otherwise', { retry: 'never' })
    const answer = (task: string): ScriptedReply => (task === 'child 1' ? { fail: no } : { text: 'done' })
    await begin(2, { answer })
    await under.work()
    const { itemId } = await under.say('go')
    await whenEnded(under.engine, itemId, never)
    expect(resultsIn((await heard(2))[1] ?? []).join()).toMatch(
      /failed: no.*completed: done|completed: done.*failed: no/s,
    )
  })
})

/** A place where so many wait for each other, and then for the test. */
function allReached(count: number): { hold(): Gate; reached: Promise<unknown>; open(): void } {
  const gates: Gate[] = []
  const all = Promise.withResolvers<void>()
  let isOpen = false
  return {
    hold() {
      const next = gate()
      gates.push(next)
      if (isOpen) next.open()
      if (gates.length === count) all.resolve()
      return next
    },
    reached: all.promise,
    open() {
      isOpen = true
      for (const each of gates) each.open()
    },
  }
}
