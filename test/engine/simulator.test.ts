import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Model, ModelFailure } from '../../src/domain/model.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Tool } from '../../src/domain/tool.ts'
import { cancel } from '../../src/engine/cancel.ts'
import { retry } from '../../src/engine/retry.ts'
import { spawnChild } from '../../src/engine/spawn.ts'
import type { Worker } from '../../src/engine/worker.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { listOwners } from '../../src/store/owners.ts'
import { runsOf } from '../../src/store/runs.ts'
import type { Tx } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'

const numRuns = Number(process.env['HEDDLE_SIM_RUNS'] ?? 100)
// With the seed of a failure its happenings are tried again, and made fewer.
const seed = process.env['HEDDLE_SIM_SEED']
const sessions = ['s0', 's1', 's2']
const tasks = ['plain', 'tool', 'later', 'never', 'spawn plain', 'spawn tool', 'spawn never', 'spawn spawn plain']

const pick = fc.nat({ max: 40 })
/** Something that happens; `after` is how long the world goes on by itself before the next thing. */
const happening = fc.record({
  after: fc.nat({ max: 12 }),
  what: fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('submit' as const),
        label: fc.constantFrom(...sessions),
        content: fc.constantFrom(...tasks),
        kind: fc.constantFrom('message' as const, 'message' as const, 'steer' as const),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'retry' as const), pick }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('stop' as const, 'kill' as const), pick }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('pass' as const), seconds: fc.nat({ max: 15 }) }) },
  ),
})
type What = (typeof happening extends fc.Arbitrary<infer T> ? T : never)['what']

test('whatever happens in whatever order, all is answered once and nothing is left behind', { timeout: 10 ** 9 }, () =>
  fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 3, maxLength: 25 }), async (happenings) => {
      const clock = manualClock()
      const simulated = await begin(clock)
      try {
        for (const { what, after } of happenings) {
          await simulated.happen(what)
          await ticks(after)
        }
        await simulated.quiet()
        // Results of what was cancelled wake nobody: whoever speaks next hears them.
        for (const label of sessions) await simulated.happen({ do: 'submit', label, content: 'plain', kind: 'message' })
        await simulated.quiet()
        await simulated.check()
      } finally {
        await simulated.under.remove()
      }
    }),
    { numRuns, ...(seed === undefined ? { endOnFailure: true } : { seed: Number(seed) }) },
  ),
)

async function begin(clock: ManualClock) {
  const under: TestEngine = await newEngine('sqlite', thinker(), {
    clock,
    tools: [spawnTool(() => under), testTool('look', 'pure', () => ticks(3))],
    limits: { maxRunning: 6, maxChildren: 4, perRequest: { usd: 5, tokens: 10 ** 9 } },
  })
  const workers: Worker[] = []
  const accepted: string[] = []
  const allRuns = () => under.world.store.read((rows) => runsOf(rows, {}))
  return {
    under,
    async happen(what: What): Promise<void> {
      if (what.do === 'submit') accepted.push((await under.say(what.content, what)).itemId)
      if (what.do === 'start' && workers.length < 3) workers.push(await under.work())
      if (what.do === 'pass') for (let second = 0; second < what.seconds; second++) await clock.advance(1000)
      if (what.do === 'stop') await workers.splice(what.pick % 3, 1)[0]?.stop()
      if (what.do === 'kill') {
        const owners = await under.world.store.read((rows) => listOwners(rows, clock.now()))
        under.locks.kill(owners[what.pick % owners.length]?.id ?? '')
      }
      if (what.do === 'cancel' || what.do === 'retry') {
        const runs = await allRuns()
        const run = runs[what.pick % runs.length]
        if (run && what.do === 'cancel') await cancel(under.engine, run.id, 'enough')
        if (run && what.do === 'retry' && run.finishedAt !== null) await retry(under.engine, run.id)
      }
    },
    async quiet(): Promise<void> {
      if (workers.length === 0) workers.push(await under.work())
      for (let second = 0; second < 300; second++) {
        const live = (await allRuns()).filter(({ finishedAt }) => finishedAt === null)
        if (live.length === 0) return
        await clock.advance(1000)
        await ticks(20)
      }
      expect((await allRuns()).filter(({ finishedAt }) => finishedAt === null)).toEqual([])
    },
    async check(): Promise<void> {
      await Promise.all(workers.map((worker) => worker.stop()))
      expect(under.troubles).toEqual([])
      expect(await violations(under, accepted)).toEqual([])
    },
  }
}

/** What must never be, as far as the rows tell. */
async function violations(under: TestEngine, accepted: string[]): Promise<string[]> {
  const { inbox, turns, threads, runs, all, joins, results, usage, owners } = await under.world.store.read(
    async (rows) => ({
      inbox: await rows.all(rows.build.selectFrom('inbox').selectAll()),
      turns: await rows.all(rows.build.selectFrom('turns').selectAll()),
      threads: await rows.all(rows.build.selectFrom('threads').selectAll()),
      all: await rows.all(rows.build.selectFrom('sessions').selectAll()),
      joins: await rows.all(rows.build.selectFrom('joins').selectAll()),
      results: await rows.all(rows.build.selectFrom('agent_results').selectAll()),
      usage: await rows.all(rows.build.selectFrom('usage').selectAll()),
      owners: await rows.all(rows.build.selectFrom('owners').selectAll()),
      runs: await runsOf(rows, {}),
    }),
  )
  const told = (id: string) => turns.filter((turn) => turn.query_messages_json.includes(`"${id}"`)).length
  const label = (id: string) => all.find((session) => session.id === id)?.label ?? ''
  const children = runs.filter(({ parentRunId }) => parentRunId !== null)
  const depthOf = (turnId: string | null) => threads.find(({ turn_id }) => turn_id === turnId)?.depth ?? 0
  return [
    ...accepted.filter((id) => told(id) !== 1).map((id) => `input ${id} was told ${told(id)} times`),
    ...inbox
      .filter(
        (item) => item.consumed_by_turn === null && (item.wake === 1 || sessions.includes(label(item.session_id))),
      )
      .map(({ id, kind }) => `${kind} ${id} was never heard`),
    ...inbox.filter(({ id }) => told(id) > 1).map(({ id, kind }) => `${kind} ${id} was heard twice`),
    ...runs
      .filter(({ id }) => turns.filter(({ run_id }) => run_id === id).length !== 1)
      .map(({ id, state }) => `run ${id}, ${state}, has not one turn`),
    ...all
      .filter((one) => threads.filter((t) => t.segment_id === one.segment_id).length !== depthOf(one.head_turn_id))
      .map((one) => `session ${one.label} is no chain`),
    // A child that began others speaks when it has heard of them: its session's last run always does.
    ...lastOfEach(children)
      .filter(({ id }) => results.filter(({ run_id }) => run_id === id).length !== 1)
      .map(({ id }) => `child ${id} has not one result`),
    ...results
      .filter(({ run_id }) => inbox.filter(({ dedupe_key }) => dedupe_key === `result:${run_id}`).length !== 1)
      .map(({ run_id }) => `child ${run_id} was not delivered once`),
    ...joins
      .filter((j) => j.fired_at === null || inbox.filter((i) => i.dedupe_key === `join:${j.id}`).length !== 1)
      .map(({ id }) => `join ${id} did not fire once`),
    ...usage.filter(({ state }) => state === 'reserved').map(({ run_id, call }) => `call ${run_id}/${call} is open`),
    ...owners.map(({ id }) => `owner ${id} is still there`),
  ]
}

function lastOfEach(children: Run[]): Run[] {
  return [...Map.groupBy(children, ({ sessionId }) => sessionId).values()].flatMap((own) => own.at(-1) ?? [])
}

/** Does what the last input says, after a while. */
function thinker(): Model {
  const later = new ModelFailure('provider_busy', 'busy', 'wait', { retry: 'later' })
  const never = new ModelFailure('provider_rejected', 'no', 'ask otherwise', { retry: 'never' })
  const model = scriptedModel((request, n) => {
    const asked = request.messages.findLast(({ role }) => role === 'user')?.content ?? ''
    const isAnswered = request.messages.at(-1)?.role === 'tool'
    if (asked === 'never') return { fail: never }
    if (asked === 'later' && n % 3 > 0) return { fail: later }
    if (asked === 'tool' && !isAnswered) return { calls: [{ name: 'look' }] }
    const [, task] = /^spawn (.*)/.exec(asked) ?? []
    if (task !== undefined && !isAnswered) return { calls: [1, 2].map(() => ({ name: 'spawn', input: { task } })) }
    return { text: `${n}` }
  })
  return {
    ...model,
    async reply(request, onDelta) {
      // Sometimes long enough for children to end before the reply that follows their start.
      await ticks((model.requests.length * 17) % 41)
      return model.reply(request, onDelta)
    },
  }
}

function spawnTool(of: () => TestEngine): Tool {
  return {
    name: 'spawn',
    description: 'begins a child',
    inputSchema: { type: 'object' },
    effect: 'transactional',
    parse: (value) => ({ ok: true, value }),
    write: (tx, input, call) =>
      spawnChild(tx as Tx, of().engine, call, { content: (input as { task: string }).task, agent: 'general' }),
  }
}

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await new Promise(setImmediate)
}
