import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Model } from '../../src/domain/model.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { Stop } from '../../src/engine/run/active-run.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import type { ClaimedRun, WorkerHandle } from '../../src/engine/run/claimed-run.ts'
import { executeRun } from '../../src/engine/run/loop.ts'
import { spawnChild } from '../../src/engine/run/spawn.ts'
import { type AcceptedInput, submit } from '../../src/engine/run/submit.ts'
import type { Engine } from '../../src/engine/runtime.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import type { Tx } from '../../src/store/store.ts'
import { claimNext } from './claim-next.ts'
import { folder, newEngine, type TestEngine } from './engine.ts'
import { newRace, type Process, type Race } from './races.ts'

const never = new AbortController().signal
const input = { folder, label: 'main' }

/** Says yes to everything; before that it begins N children with a task for `go N TASK`. */
const family = scriptedModel((request) => {
  const asked = request.messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const [, count = '0', task = ''] = /^go (\d+) ?(.*)/.exec(asked) ?? []
  if (count === '0' || request.messages.at(-1)?.role === 'tool') return { text: 'yes' }
  return { calls: Array.from({ length: Number(count) }, () => ({ name: 'spawn', input: task || 'help' })) }
})

/** Hands that take nothing more after the run they have. */
function idle(signal: AbortSignal): WorkerHandle {
  return { signal, leaseAtRisk: () => false, claimant: () => undefined, start: () => undefined }
}

function notYet(): never {
  throw new Error('nobody knows the model yet')
}

describe('two processes on PostgreSQL', () => {
  let under: TestEngine
  let race: Race
  let a: Process
  let b: Process

  beforeEach(async () => {
    const spawn: Tool = {
      name: 'spawn',
      description: 'begins a child',
      inputSchema: { type: 'object' },
      effect: 'transactional',
      parse: (value) => ({ ok: true, value }),
      write: (tx, task, call) =>
        spawnChild(tx as Tx, under.engine, call, { content: task as string, via: 'spawn_agent', agent: 'general' }),
    }
    under = await newEngine('postgres', family, { tools: [spawn], limits: { maxRunning: 2, lanes: { agents: 2 } } })
    race = await newRace(under)
    a = race.a
    b = race.b
  })
  afterEach(async () => {
    await race.close()
    await under.remove()
  })

  const run = ({ engine }: Process, claimed: ClaimedRun, signal = never) => executeRun(engine, claimed, idle(signal))
  const say = ({ engine }: Process, content: string) => submit(engine, { ...input, content })
  const runs = (filter = {}) => under.runtime.store.read((rows) => runsOf(rows, filter))
  const inputs = async (count: number) =>
    (await under.turns(count)).map(({ turn }) => turn.queryMessages.map(({ content }) => content))

  /** Lets `first` reach its COMMIT, begins `second`, and commits when that waits. */
  const interleave = async <T>(
    first: { of: Process; area: 'submit' | 'settle' | 'cancel' | 'step' | 'claim'; work: () => Promise<unknown> },
    second: () => Promise<T>,
  ): Promise<T> => {
    const held = first.of.hold(first.area)
    const firstWork = first.work()
    await held.reached
    const secondWork = second()
    await race.waits(secondWork)
    held.open()
    await firstWork
    return secondWork
  }

  test('F06 an input that comes while the run before it settles is not stranded', async () => {
    await say(a, 'one')
    const claimed = await b.claim()
    await interleave({ of: a, area: 'submit', work: () => say(a, 'two') }, () => run(b, claimed))
    await run(b, await b.claim())
    expect(await inputs(2)).toEqual([['one'], ['two']])
  })

  test('F06 a run that settles while an input comes leaves it to a run of its own', async () => {
    await say(a, 'one')
    const claimed = await a.claim()
    const { runId } = await interleave({ of: a, area: 'settle', work: () => run(a, claimed) }, () => say(b, 'two'))
    expect(await runs({ live: true })).toMatchObject([{ id: runId, state: 'queued' }])
  })

  test('one delivery that comes to two sessions at once counts once', async () => {
    const deliver = (of: Process, label: string) =>
      submit(of.engine, { folder, label, content: 'hello', dedupeKey: 'mail:1' })
    let first: AcceptedInput | undefined
    const work = async () => {
      first = await deliver(a, 'one')
    }
    const second = await interleave({ of: a, area: 'submit', work }, () => deliver(b, 'two'))
    expect(second).toMatchObject({ itemId: first?.itemId, session: { label: 'one' } })
    expect(await runs({ live: true })).toHaveLength(1)
  })

  test('a message that begins at once and a claim that is being made never run more than the limit', async () => {
    await say(a, 'one')
    const limits = { ...a.engine.limits, maxRunning: 1 }
    const [engine, other] = [a.engine, b.engine].map((each) => ({ ...each, limits })) as [Engine, Engine]
    const claiming = { of: a, area: 'claim' as const, work: () => claimNext(engine, { workerId: a.workerId }) }
    const pool = { engine: other, claimant: { workerId: b.workerId } }
    const accepted = await interleave(claiming, () =>
      submit(other, { folder, label: 'other', content: 'two', priority: 1 }, pool),
    )
    expect(accepted.claimed).toBeUndefined()
    expect((await runs({ live: true })).map(({ state }) => state).sort()).toEqual(['queued', 'running'])
  })

  test('the day has one purse: two requests at once cannot both take the last of it', async () => {
    const priced = { ...family, price: { input: 1, output: 1 } }
    const limits = { ...a.engine.limits, perDayUsd: 0.002, maxOutputTokens: 1000 }
    const poor = ({ engine }: Process, model: Model = priced): Engine => ({ ...engine, limits, model: () => model })
    const blind = ({ engine, workerId }: Process) => claimNext({ ...engine, model: () => notYet() }, { workerId })
    await say(a, 'one')
    await submit(b.engine, { folder, label: 'other', content: 'two' })
    const [first, second] = [(await blind(a)) as ClaimedRun, (await blind(b)) as ClaimedRun]
    // The first is answered when the second has looked: an answer gives back what it did not need.
    const looked = Promise.withResolvers<void>()
    const patient: Model = {
      ...priced,
      reply: (request, onDelta) => looked.promise.then(() => priced.reply(request, onDelta)),
    }
    const work = () => executeRun(poor(a, patient), first, idle(never))
    await interleave({ of: a, area: 'step', work }, () =>
      executeRun(poor(b), second, idle(never)).finally(() => looked.resolve()),
    )
    // The second comes back when the first has spent what it needs.
    expect((await runs()).map(({ state, waitingFor }) => [state, waitingFor])).toEqual([
      ['completed', null],
      ['waiting', 'retry'],
    ])
  })

  test('the last two members of a join that settle at once release exactly one wake', async () => {
    await say(a, 'go 2')
    await run(a, await a.claim())
    const [first, second] = [await a.claim(), await b.claim()]
    await interleave({ of: a, area: 'settle', work: () => run(a, first) }, () => run(b, second))
    await run(a, await a.claim())
    const [, heard] = await inputs(2)
    expect(heard).toEqual([
      expect.stringContaining('[agent_result:'),
      expect.stringContaining('[agent_result:'),
      expect.stringContaining('all started agents'),
    ])
    expect(await runs({ live: true })).toEqual([])
  })

  test('a child that settles while its parent does is heard of once', async () => {
    await say(a, 'go 1')
    const parent = await a.claim()
    const settling = a.hold('settle')
    const parentWork = run(a, parent)
    await settling.reached
    const child = run(b, await b.claim())
    await race.waits(child)
    settling.open()
    await Promise.all([parentWork, child])
    await run(a, await a.claim())
    expect((await inputs(2))[1]).toHaveLength(2)
    expect(await runs({ live: true })).toEqual([])
  })

  test('a child whose own children have ended by its end goes on with them first, and is heard of after that', async () => {
    await say(a, 'go 1 go 1')
    await run(a, await a.claim())
    const held = gate()
    const slow: Model = {
      ...family,
      async reply(...args) {
        const reply = await family.reply(...args)
        if (reply.calls.length === 0) await held.pass(never)
        return reply
      },
    }
    const child = executeRun({ ...a.engine, model: () => slow }, await a.claim(), idle(never))
    await held.reached
    await run(b, await b.claim())
    held.open()
    await child
    expect(await runs({ live: true })).toMatchObject([{ state: 'queued', depth: 1 }])
    await run(b, await b.claim())
    expect(await runs({ live: true })).toMatchObject([{ state: 'queued', depth: 0 }])
  })

  test('cancelling a run that is settling answers how it ended, and leaves one turn', async () => {
    const { runId } = await say(a, 'one')
    const claimed = await a.claim()
    const state = await interleave({ of: a, area: 'settle', work: () => run(a, claimed) }, () =>
      cancel(b.engine, runId ?? '', 'too late'),
    )
    expect(state).toBe('completed')
    expect(await inputs(1)).toEqual([['one']])
  })

  test('a run that settles while it is being cancelled ends once, and its session is free', async () => {
    const { runId } = await say(a, 'one')
    const claimed = await b.claim()
    await interleave({ of: a, area: 'cancel', work: () => cancel(a.engine, runId ?? '', 'enough') }, () =>
      run(b, claimed),
    )
    expect(await inputs(1)).toEqual([['one']])
    expect(await runs({ live: true })).toEqual([])
  })

  test('a queued run that is cancelled while it is claimed is not run', async () => {
    const { runId } = await say(a, 'one')
    const claimed = await interleave(
      { of: a, area: 'cancel', work: () => cancel(a.engine, runId ?? '', 'not now') },
      () => claimNext(b.engine, { workerId: b.workerId }),
    )
    expect(claimed).toBeUndefined()
    expect(await runs()).toMatchObject([{ state: 'cancelled', epoch: 0 }])
  })

  test.each([
    ['maxRunning', ['one', 'two', 'three']],
    ['lanes.agents', ['go 2']],
  ] as const)('two processes that claim at once do not exceed %s', async (limit, contents) => {
    for (const [at, content] of contents.entries()) await submit(a.engine, { ...input, label: `s${at}`, content })
    if (limit === 'lanes.agents') await run(a, await a.claim())
    const usual = under.engine.limits
    const limits =
      limit === 'maxRunning' ? { ...usual, maxRunning: 1 } : { ...usual, lanes: { ...usual.lanes, agents: 1 } }
    const queued = await runs({ state: 'queued' })
    // Each looks at another run, so that nothing but the limit keeps the second from being taken.
    const claim = ({ engine, workerId }: Process, at: number) =>
      claimNext({ ...engine, limits }, { workerId, sessionId: queued[at]?.sessionId ?? '' })
    const second = await interleave({ of: a, area: 'claim', work: () => claim(a, 0) }, () => claim(b, 1))
    expect(second).toBeUndefined()
    expect(await runs({ state: 'running' })).toHaveLength(1)
  })

  test('inputs that begin the same session at once are both accepted, by one session and one run', async () => {
    const second = await interleave({ of: a, area: 'submit', work: () => say(a, 'one') }, () => say(b, 'two'))
    expect(await under.runtime.store.read((rows) => findSessions(rows))).toMatchObject([{ id: second.session.id }])
    await run(b, await b.claim())
    expect(await inputs(1)).toEqual([['one', 'two']])
  })

  test('a child that is begun while its parent is being cancelled is cancelled, too', async () => {
    const { runId } = await say(a, 'go 1')
    const claimed = await a.claim()
    const stop = new AbortController()
    await interleave({ of: a, area: 'step', work: () => spawnOnly(claimed) }, () => cancel(b.engine, runId ?? '', 'no'))
    stop.abort(new Stop('cancelled', 'no'))
    await run(a, claimed, stop.signal)
    expect((await runs()).map(({ state }) => state)).toEqual(['cancelled', 'cancelled'])
  })

  test('a parent that is being cancelled begins nobody', async () => {
    const { runId } = await say(a, 'go 1')
    const claimed = await a.claim()
    const outcome = await interleave({ of: b, area: 'cancel', work: () => cancel(b.engine, runId ?? '', 'no') }, () =>
      spawnOnly(claimed),
    )
    expect(outcome.status).toBe('forbidden')
    expect(await runs()).toHaveLength(1)
  })

  const spawnOnly = ({ run: { id } }: ClaimedRun) =>
    a.engine.store.write('step', (tx) =>
      spawnChild(
        tx,
        a.engine,
        { runId: id, callId: 'call', folder, protect: nothingProtected, signal: never },
        { content: 'help', via: 'spawn_agent', agent: 'general' },
      ),
    )
})
