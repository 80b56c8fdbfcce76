import { afterEach, beforeEach, describe, expect } from 'vitest'
import { type Gate, gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { childrenOf } from '../../src/store/rows/child-runs.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { firstOf, inTurn, isLong } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'
import { spawnTool } from './family.ts'
import { startMortal } from './killable-engine.ts'

const patience = { timeout: 120_000 }

describe.each(databases)('F12 a recovery that is killed on %s', patience, (database) => {
  const test = testOn(database)
  let under: TestEngine
  let held: Gate | undefined
  const push = testTool('push', 'unsafe', (_, signal) => held?.pass(signal) ?? 'pushed')

  beforeEach(async () => {
    const model = scriptedModel(({ messages }) => {
      const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
      if (asked !== 'go' || messages.at(-1)?.role === 'tool') return { text: `answer to ${asked}` }
      const spawns = ['child 1', 'child 2'].map((input) => ({ name: 'spawn', input }))
      return { calls: [{ name: 'look' }, ...spawns, { name: 'push' }] }
    })
    const look = testTool('look', 'pure', () => 'seen')
    under = await newEngine(database, model, { tools: [look, push, spawnTool(() => under)] })
  })
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const ended = () => under.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)

  /** Leaves rows as a process does that is killed between calls of every effect, while its children begin. */
  const die = async (label: string): Promise<string> => {
    held = gate()
    push.calls.length = 0
    const first = startMortal(under)
    const { runId } = await under.say('go', { label })
    await held.reached
    await under.until(async (rows) => (await childrenOf(rows, runId ?? '')).length === 2)
    first.kill()
    held = undefined
    return runId ?? ''
  }

  // A hundred lives, one after the other.
  test('at any point leaves a recovery that comes to the same end', {
    timeout: isLong ? 3_600_000 : 600_000,
  }, async () => {
    const problems: Record<string, string[]> = {}
    // On a server each life takes five times as long.
    const step = isLong ? 1 : { sqlite: 5, postgres: 15 }[database]
    let at = firstOf(step) - step
    for (let isKilled = true; isKilled; ) {
      at += step
      const root = await die(`s${at}`)
      const second = startMortal(under, { dieAt: at })
      isKilled = await Promise.race([second.died.then(() => true), ended().then(() => false)])
      const third = isKilled ? startMortal(under) : second
      await ended()
      third.kill()
      const found = await judge(root, ['completed'])
      if (found.length > 0) problems[`${at} ${second.passes.at(-1)}`] = found
    }
    expect(problems).toEqual({})
    // Fewer would mean that the points are not there any more.
    expect(at).toBeGreaterThan(15)
  })

  test('20 times in a row, ever later, ends all the same, and once', async () => {
    for (const dieAt of inTurn([3, 5, 7, 9, 12, 17], database === 'sqlite' ? 3 : 1)) {
      const root = await die(`s${dieAt}`)
      for (let life = 0; life < 20; life++) {
        const mortal = startMortal(under, { dieAt })
        await Promise.race([mortal.died, ended()])
        mortal.kill()
      }
      const last = startMortal(under)
      await ended()
      last.kill()
      // Who dies again and again without getting anywhere is given up, and says so.
      expect({ dieAt, problems: await judge(root, ['completed', 'failed']) }).toEqual({ dieAt, problems: [] })
    }
  })

  /** What is wrong with what is left of a request, as a person would tell it. */
  const judge = async (root: string, ends: string[]): Promise<string[]> => {
    const { runs, turns, threads, inbox, usage, joins } = await under.runtime.store.read(async (rows) => ({
      runs: await runsOf(rows, { rootRunId: root }),
      turns: await rows.all(rows.build.selectFrom('turns').select(['run_id', 'status'])),
      threads: await rows.all(rows.build.selectFrom('threads').select(['segment_id', 'depth'])),
      inbox: await rows.all(rows.build.selectFrom('inbox').select(['kind', 'root_run_id', 'consumed_by_turn'])),
      usage: await rows.all(rows.build.selectFrom('usage').select('state')),
      joins: await rows.all(rows.build.selectFrom('joins').select('fired_at').where('root_run_id', '=', root)),
    }))
    const turnsOf = (runId: string) => turns.filter(({ run_id }) => run_id === runId).map(({ status }) => status)
    const chains = Map.groupBy(threads, ({ segment_id }) => segment_id)
    const results = inbox.filter((item) => item.kind === 'result' && item.root_run_id === root)
    return [
      ...runs.filter(({ state }) => !ends.includes(state)).map(({ state, error }) => `one is ${state}: ${error?.code}`),
      ...runs
        .filter(({ id, state }) => turnsOf(id).join() !== state)
        .map(({ id, state }) => `a run that is ${state} left the turns ${turnsOf(id)}`),
      ...[...chains.values()]
        .filter((chain) => chain.length !== Math.max(...chain.map(({ depth }) => depth)))
        .map(({ length }) => `${length} turns are no chain`),
      ...(results.length === 2 ? [] : [`${results.length} results for two children`]),
      ...(joins.length === 1 && joins[0]?.fired_at != null ? [] : ['the parent was not woken once']),
      ...inbox.filter((item) => item.consumed_by_turn === null).map(({ kind }) => `a ${kind} was not heard`),
      ...usage.filter(({ state }) => state === 'reserved').map(() => 'a call is still open'),
      ...(push.calls.length === 1 ? [] : [`what must not be repeated was done ${push.calls.length} times`]),
    ]
  }
})
