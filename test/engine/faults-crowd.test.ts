import { afterEach, describe, expect } from 'vitest'
import { ModelFailure } from '../../src/domain/model.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { type Gate, gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { hurriedClock } from '../setup/hurried-clock.ts'
import { firstOf, isLong } from '../setup/long.ts'
import { type Database, databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, type TestEngine, testTool } from './engine.ts'
import { spawnTool } from './family.ts'

// A stop that comes before anybody listens for it is found by the next sweep: that shall not take a second here.
const hurried = hurriedClock(10_000)
const patience = { timeout: 120_000 }
const fifty = Array.from({ length: 50 }, (_, n) => `message ${n + 1}`)

describe.each(databases)('F33 people who do not wait on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine | undefined
  afterEach(async () => {
    expect(under?.troubles ?? []).toEqual([])
    await under?.remove()
    under = undefined
  })

  const inputs = async (of: TestEngine, count: number) =>
    (await of.turns(count)).map(({ turn }) => turn.queryMessages.map(({ content }) => content))

  test('send 50 messages while a turn runs: the next turn answers all, in order, and the head never forks', async () => {
    const held = gate()
    const model = scriptedModel((_, n) => ({ text: `${n}`, ...(n === 1 && { gate: held }) }))
    under = await newEngine(database, model)
    await under.work()
    await under.say('first')
    await held.reached
    for (const content of fifty) await under.say(content)
    held.open()
    expect(await inputs(under, 2)).toEqual([['first'], fifty])
    expect(await chain(under)).toEqual([1, 2])
  })

  test('send 50 messages one after another while turns come and go: all are answered, in order, by one chain', async () => {
    const model = scriptedModel((_, n) => ({ text: `${n}` }))
    under = await newEngine(database, model)
    await under.work()
    for (const content of fifty) await under.say(content)
    await quiet(under)
    const turns = await inputs(under, 1)
    expect(turns.flat()).toEqual(fifty)
    expect(await chain(under)).toEqual(turns.map((_, at) => at + 1))
  })

  test('send 50 messages at once: each is answered once, by one chain', async () => {
    under = await newEngine(
      database,
      scriptedModel((_, n) => ({ text: `${n}` })),
    )
    await under.work()
    const { say } = under
    await Promise.all(fifty.map((content) => say(content)))
    await quiet(under)
    const turns = await inputs(under, 1)
    expect(turns.flat().sort()).toEqual([...fifty].sort())
    expect(await chain(under)).toEqual(turns.map((_, at) => at + 1))
  })

  test(
    'stop a turn at any point: it ends once, with all that it began, and the next message is answered',
    patience,
    async () => {
      const of = await stoppable(database)
      under = of.under
      await under.work()
      const problems: Record<string, string[]> = {}
      // On a server each turn takes five times as long.
      const step = isLong ? 1 : { sqlite: 2, postgres: 8 }[database]
      let at = firstOf(step) - step
      for (let isReached = true; isReached; ) {
        at += step
        isReached = await of.stopAt(at)
        const found = await judge(under, `s${at}`)
        if (found.length > 0) problems[at] = found
      }
      expect(problems).toEqual({})
      // Fewer would mean that the points are not there any more.
      expect(at + step).toBeGreaterThan(20)
    },
  )

  test('stop a turn in the middle of a tool: the tool is told, and what it does later changes nothing', async () => {
    const held = gate()
    const told = gate()
    const deaf = testTool('deaf', 'unsafe', async (_, signal) => {
      signal.addEventListener('abort', () => told.open())
      await held.pass(new AbortController().signal)
      return 'too late'
    })
    under = await newEngine(database, scriptedModel([{ calls: [{ name: 'deaf' }] }, { text: 'on we go' }]), {
      tools: [deaf],
    })
    await under.work()
    const { runId } = await under.say('go')
    await held.reached
    await cancel(under.engine, runId ?? '', 'stop')
    await told.pass(new AbortController().signal)
    const [placed] = await under.turns(1)
    held.open()
    expect(placed?.turn).toMatchObject({ status: 'cancelled', toolCalls: [{ name: 'deaf', status: 'unknown' }] })
    await under.say('and now?')
    const after = await under.turns(2)
    expect(after[0]?.turn).toEqual(placed?.turn)
    expect(after[1]?.turn.responseMessage.content).toBe('on we go')
  })

  test('retry an old run while another runs: it waits its turn, and both turns stay as they were', async () => {
    const held = gate()
    const fail = new ModelFailure('provider_rejected', 'no', 'ask otherwise', { retry: 'never' })
    under = await newEngine(database, scriptedModel([{ fail }, { gate: held, text: 'second' }, { text: 'third' }]))
    await under.work()
    const { runId: old } = await under.say('one')
    const [failed] = await under.turns(1)
    await under.say('two')
    await held.reached
    expect(await retry(under.engine, old ?? '')).toEqual({ runId: null })
    held.open()
    const turns = await under.turns(3)
    expect(turns[0]?.turn).toEqual(failed?.turn)
    expect(turns.map(({ turn }) => [turn.status, turn.queryMessages[0]?.content])).toEqual([
      ['failed', 'one'],
      ['completed', 'two'],
      ['completed', 'one'],
    ])
    expect(await chain(under)).toEqual([1, 2, 3])
  })
})

/** A turn with tools and children, and a way to stop it at the n-th thing that happens in it, whatever that is. */
async function stoppable(database: Database) {
  const held = new Map<string, Gate>()
  const model = scriptedModel(({ messages }) => {
    const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
    const waits = held.get(asked)
    if (waits) return { text: asked, gate: waits }
    const [, at] = /^go (.*)/.exec(asked) ?? []
    if (at === undefined || messages.at(-1)?.role === 'tool') return { text: 'yes' }
    return { calls: [{ name: 'look' }, ...['a', 'b'].map((child) => ({ name: 'spawn', input: at + child }))] }
  })
  const under: TestEngine = await newEngine(database, model, {
    clock: hurried,
    tools: [testTool('look', 'pure', () => 'seen'), spawnTool(() => under)],
  })
  let pass = () => {}
  watch(under, () => pass())
  return {
    under,
    async stopAt(at: number): Promise<boolean> {
      const children = [gate(), gate()]
      for (const [n, each] of children.entries()) held.set(`${at}${'ab'[n]}`, each)
      const label = `s${at}`
      let passed = 0
      let stopped: Promise<unknown> | undefined
      const stopping = Promise.withResolvers<void>()
      pass = () => {
        if (++passed !== at) return
        stopped = runOf(under, label).then((root) => cancel(under.engine, root, 'enough'))
        stopping.resolve()
      }
      await under.say(`go ${at}`, { label })
      await under.turns(1, label)
      // Children that are stopped end by themselves; the others end when the test lets them.
      await Promise.race([stopping.promise, Promise.all(children.map(({ reached }) => reached))])
      if (!stopped) for (const each of children) each.open()
      // A stop that fails says why at once.
      await Promise.all([stopped, quiet(under)])
      const isReached = stopped !== undefined
      pass = () => {}
      await quiet(under)
      return isReached
    },
  }
}

/** The first run of a session: there is one as soon as its first input is accepted. */
const runOf = async (of: TestEngine, label: string): Promise<string> =>
  of.until(async (rows) => {
    const found = (await findSessions(rows, { folder })).find((each) => each.label === label)
    const run = (await runsOf(rows, {})).find(({ sessionId }) => sessionId === found?.id)
    return run?.id
  })

async function judge(of: TestEngine, label: string): Promise<string[]> {
  const root = await runOf(of, label)
  const runs = await of.runtime.store.read((rows) => runsOf(rows, { rootRunId: root }))
  const turns = await of.runtime.store.read((rows) =>
    rows.all(rows.build.selectFrom('turns').select(['run_id', 'status'])),
  )
  const turnsOf = (runId: string) => turns.filter(({ run_id }) => run_id === runId).map(({ status }) => status)
  const state = runs.find(({ id }) => id === root)?.state ?? ''
  // Counted before it is said: it may be answered at once.
  const before = await chain(of, label)
  await of.say('next', { label })
  const path = await of.turns(before.length + 1, label)
  return [
    ...(['cancelled', 'completed'].includes(state) ? [] : [`the run is ${state}`]),
    ...runs
      .filter((run) => turnsOf(run.id).join() !== run.state)
      .map((run) => `a run that is ${run.state} left the turns ${turnsOf(run.id)}`),
    ...(path.at(-1)?.turn.responseMessage.content === 'yes' ? [] : ['the next message is not answered']),
  ]
}

const quiet = (of: TestEngine) => of.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)

/** Where the turns of the session are, along its one chain. */
async function chain(of: TestEngine, label = 'main'): Promise<number[]> {
  const threads = await of.runtime.store.read((rows) =>
    rows.all(
      rows.build
        .selectFrom('sessions')
        .innerJoin('threads', 'threads.segment_id', 'sessions.segment_id')
        .select('threads.depth')
        .where('sessions.label', '=', label)
        .orderBy('threads.depth'),
    ),
  )
  return threads.map(({ depth }) => depth)
}

/** Calls back at everything that a process does between two steps: each commit, each named point. */
function watch(of: TestEngine, pass: () => void): void {
  const { store } = of.runtime
  of.engine.crash = pass
  of.engine.store = {
    ...store,
    async write(area, body) {
      const isOfRun = area !== 'cancel' && area !== 'owner'
      if (isOfRun) pass()
      const written = await store.write(area, body)
      if (isOfRun) pass()
      return written
    },
  }
}
