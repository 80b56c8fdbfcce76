import { afterEach, describe, expect } from 'vitest'
import type { Answer } from '../../src/domain/approval.ts'
import type { ModelMessage } from '../../src/domain/model.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { answer } from '../../src/engine/run/answer.ts'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { listApprovals, resolveApproval, revoke, viewGrants } from '../../src/engine/views/questions.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { setCancelReason } from '../../src/store/rows/cancels.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { visibleEvents } from '../setup/visible-events.ts'
import { folder, newEngine, type TestEngine, testTool } from './engine.ts'
import { spawnTool } from './family.ts'
import { startMortal } from './killable-engine.ts'

const never = new AbortController().signal

describe.each(databases)('a call that asks first on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  const pushed: unknown[] = []
  afterEach(async () => {
    pushed.length = 0
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const push = testTool('push', 'unsafe', (input) => {
    pushed.push(input)
    return 'pushed'
  })
  const look = testTool('look', 'pure', () => 'seen')
  const calling = (...names: string[]) => ({ calls: names.map((name) => ({ name, input: { to: 'origin' } })) })
  const questions = () => under.runtime.store.read(listApprovals)
  const asked = (count = 1) =>
    under.until(async (rows) => {
      const open = await listApprovals(rows)
      return open.length === count && open
    })
  const parked = (runId: string | null) =>
    under.until(async (rows) => {
      const run = await findRun(rows, runId ?? '')
      return run?.state === 'waiting' && run
    })
  const say = (id: number, answer: Answer, reason?: string) =>
    decide(under.engine, id, { answer, ...(reason !== undefined && { reason }) })
  const told = (messages: readonly ModelMessage[] | undefined) => messages?.at(-1)?.content

  test('waits without a slot or a clock, says what it would do, and is made once when somebody says yes', async () => {
    const model = scriptedModel([calling('push'), { text: 'done' }])
    under = await newEngine(database, model, { tools: [push], ask: ['push'] })
    await under.work()
    const { runId, itemId } = await under.say('push it')
    expect(await parked(runId)).toMatchObject({ workerId: null, waitingFor: 'approval', wakeAt: null })
    const [question] = await questions()
    expect(question).toMatchObject({
      runId,
      agent: 'general',
      session: 'main',
      request: 'push it',
      tool: 'push',
      input: { to: 'origin' },
      reason: 'push asks first (tools.ask)',
      scopes: ['once', 'session', 'agent'],
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(question?.change).toContain('"to": "origin"')
    expect(pushed).toEqual([])
    const stuck = await answer(under.engine, folder, itemId, never)
    expect(stuck).toMatchObject({ ok: false, status: 'waiting', approvals: [question?.id] })

    await say(question?.id ?? 0, 'once')
    const [turn] = await under.turns(1)
    expect(turn?.turn).toMatchObject({ status: 'completed', toolCalls: [{ name: 'push', status: 'ok' }] })
    expect(pushed).toEqual([{ to: 'origin' }])
    expect(await questions()).toEqual([])
  })

  test('is not made when somebody says no, and the model is told why', async () => {
    const model = scriptedModel([calling('push'), { text: 'I see' }])
    under = await newEngine(database, model, { tools: [push], ask: ['push'] })
    await under.work()
    await under.say('push it')
    const [question] = await asked()
    await say(question?.id ?? 0, 'no', 'it is Friday')
    const [turn] = await under.turns(1)
    expect(turn?.turn).toMatchObject({ status: 'completed', toolCalls: [{ name: 'push', status: 'forbidden' }] })
    expect(told(model.requests[1]?.messages)).toContain('the user said no: it is Friday')
    expect(pushed).toEqual([])
  })

  test('lets the others of its reply go first', async () => {
    const model = scriptedModel([calling('push', 'look'), { text: 'done' }])
    under = await newEngine(database, model, { tools: [push, look], ask: ['push'] })
    await under.work()
    const { runId } = await under.say('both')
    await parked(runId)
    const steps = await under.runtime.store.read((rows) =>
      rows.all(rows.build.selectFrom('steps').select(['kind', 'payload_json']).orderBy('seq')),
    )
    expect(steps.map(({ kind, payload_json }) => [kind, JSON.parse(payload_json).name])).toEqual([
      ['reply', undefined],
      ['begun', 'look'],
      ['ended', 'look'],
    ])
    const [question] = await questions()
    await say(question?.id ?? 0, 'once')
    await under.turns(1)
    // In the transcript the answers stand where the calls stood.
    expect(model.requests[1]?.messages.slice(-2).map(({ content }) => content)).toEqual(['pushed', 'seen'])
  })

  test('goes on when the answer comes before it has begun to wait, because another call of its reply was made', async () => {
    const model = scriptedModel([calling('push', 'look'), { text: 'done' }])
    under = await newEngine(database, model, { tools: [push, look], ask: ['push'] })
    const { store } = under.runtime
    under.engine.store = {
      ...store,
      async write(area, body) {
        if (area === 'park') for (const { id } of await questions()) await say(id, 'once')
        return store.write(area, body)
      },
    }
    await under.work()
    await under.say('push it')
    await under.turns(1)
    expect(pushed).toHaveLength(1)
  })

  test('waits for no answer if its run is being cancelled', async () => {
    const model = scriptedModel([calling('push'), { text: 'done' }])
    under = await newEngine(database, model, { tools: [push], ask: ['push'] })
    const { store } = under.runtime
    let isCancelled = false
    under.engine.store = {
      ...store,
      async write(area, body) {
        // Requested while the model replies; the worker has not heard of it yet.
        if (area === 'step' && !isCancelled) {
          isCancelled = true
          await store.write('cancel', async (tx) => setCancelReason(tx, (await runsOf(tx, {}))[0]?.id ?? '', 'enough'))
        }
        return store.write(area, body)
      },
    }
    await under.work()
    await under.say('push it')
    const [turn] = await under.turns(1)
    expect(turn?.turn.status).toBe('cancelled')
    const events = await visibleEvents(store)
    expect(events.map(({ kind }) => kind)).not.toContain('run.waiting')
    expect(pushed).toEqual([])
  })

  test('outlives its process: whoever works later does what was approved meanwhile', async () => {
    const model = scriptedModel([calling('push'), { text: 'done' }])
    under = await newEngine(database, model, { tools: [push], ask: ['push'] })
    const mortal = startMortal(under)
    const { runId } = await under.say('push it')
    await parked(runId)
    mortal.kill()
    const [question] = await questions()
    await say(question?.id ?? 0, 'once')
    await under.work()
    const [turn] = await under.turns(1)
    expect(turn?.turn.status).toBe('completed')
    expect(pushed).toHaveLength(1)
    expect(model.requests).toHaveLength(2)
  })

  test('ends with its run when that is cancelled, and cannot be approved afterwards', async () => {
    under = await newEngine(database, scriptedModel([calling('push')]), { tools: [push], ask: ['push'] })
    await under.work()
    const { runId } = await under.say('push it')
    await parked(runId)
    const [question] = await questions()
    await cancel(under.engine, runId ?? '', 'never mind')
    expect(await questions()).toEqual([])
    await expect(say(question?.id ?? 0, 'once')).rejects.toMatchObject({ code: 'run_ended' })
    expect((await under.turns(1))[0]?.turn.status).toBe('cancelled')
    expect(pushed).toEqual([])
  })

  test('is answered once, whoever comes second', async () => {
    const held = gate()
    const model = scriptedModel([calling('push'), { text: 'done', gate: held }])
    under = await newEngine(database, model, { tools: [push], ask: ['push'] })
    await under.work()
    await under.say('push it')
    const [question] = await asked()
    const id = question?.id ?? 0
    const both = await Promise.allSettled([say(id, 'once'), say(id, 'no')])
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await expect(say(id, 'once')).rejects.toMatchObject({ code: 'already_answered' })
    await expect(say(999, 'once')).rejects.toMatchObject({ code: 'not_found' })
    held.open()
    await under.turns(1)
  })

  test('is asked about once more when what it rests on has changed since it was shown, and then refused', async () => {
    let version = 1
    const careful: Tool = {
      ...(push as Extract<Tool, { run: unknown }>),
      preview: async () => ({ facts: [], change: `version ${version}`, frozen: version }),
    }
    const model = scriptedModel([calling('push'), { text: 'I see' }])
    under = await newEngine(database, model, { tools: [careful], ask: ['push'] })
    await under.work()
    const { runId } = await under.say('push it')
    const [first] = await asked()
    expect(first).toMatchObject({ change: 'version 1', isAskedAgain: false })
    version = 2
    // What was granted with an answer that did not count is not granted.
    await say(first?.id ?? 0, 'session')
    const second = await under.until(async (rows) =>
      (await listApprovals(rows)).find(({ isAskedAgain }) => isAskedAgain),
    )
    expect(second).toMatchObject({
      id: first?.id,
      change: 'version 2',
      facts: [{ name: 'changed', value: 'since you were asked: what it would do, or where' }],
    })
    expect(second.hash).not.toBe(first?.hash)
    expect(await under.runtime.store.read(viewGrants)).toEqual([])
    await parked(runId)
    const old = { answer: 'once' as const, hash: first?.hash ?? '' }
    await expect(decide(under.engine, second.id, old)).rejects.toMatchObject({ code: 'approval_changed' })
    version = 3
    await decide(under.engine, second.id, { answer: 'once', hash: second.hash.slice(0, 8) })
    await under.turns(1)
    expect(told(model.requests[1]?.messages)).toContain('changed after the user approved it')
    expect(pushed).toEqual([])
  })

  test('that is asked about once more is made when it stays as it is', async () => {
    let version = 1
    const careful: Tool = {
      ...(push as Extract<Tool, { run: unknown }>),
      preview: async () => ({ facts: [], change: `version ${version}`, frozen: version }),
    }
    under = await newEngine(database, scriptedModel([calling('push'), { text: 'done' }]), {
      tools: [careful],
      ask: ['push'],
    })
    const mortal = startMortal(under)
    await under.say('push it')
    const [first] = await asked()
    version = 2
    await say(first?.id ?? 0, 'once')
    await under.until(async (rows) => (await listApprovals(rows)).find(({ isAskedAgain }) => isAskedAgain))
    // Between the second question and its answer a process may die like anywhere else.
    mortal.kill()
    await say(first?.id ?? 0, 'once')
    await under.work()
    await under.turns(1)
    expect(pushed).toHaveLength(1)
  })

  test('is not asked about again in a session that was granted it, until that is taken back', async () => {
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? { text: 'done' } : calling('push'),
    )
    under = await newEngine(database, model, { tools: [push], ask: ['push'] })
    await under.work()
    await under.say('push it')
    const [question] = await asked()
    await say(question?.id ?? 0, 'session')
    await under.turns(1)
    await under.say('push it again')
    await under.turns(2)
    expect(pushed).toHaveLength(2)
    // Elsewhere it is asked about.
    const { runId } = await under.say('push it', { label: 'other' })
    await parked(runId)
    await cancel(under.engine, runId ?? '', 'enough')

    const [grant] = await under.runtime.store.read(viewGrants)
    expect(grant).toMatchObject({ scope: 'session', session: 'main', tool: 'push', covers: 'push {"to":"origin"}' })
    await revoke(under.engine, grant?.id ?? 0)
    const third = await under.say('once more')
    await parked(third.runId)
    await cancel(under.engine, third.runId ?? '', 'enough')
    await expect(revoke(under.engine, grant?.id ?? 0)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('of a child is granted to the user’s session: the next child is not asked about', async () => {
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return { text: 'done' }
      if (last?.content === 'spawn') return { calls: [{ name: 'spawn', input: 'push it' }] }
      return last?.content === 'push it' ? calling('push') : { text: 'ok' }
    })
    under = await newEngine(database, model, { tools: [push, spawnTool(() => under)], ask: ['push'] })
    await under.work()
    await under.say('spawn')
    const [ofChild] = await asked()
    expect(ofChild?.session).toContain(':subagent:')
    expect(ofChild).toMatchObject({ request: 'spawn', requestSession: 'main' })
    await say(ofChild?.id ?? 0, 'session')
    await under.turns(2)
    expect(await under.runtime.store.read(viewGrants)).toMatchObject([{ scope: 'session', session: 'main' }])
    await under.say('spawn')
    await under.turns(4)
    await under.say('push it')
    await under.turns(5)
    expect(pushed).toHaveLength(3)
    // Elsewhere a child is asked about as before.
    const { runId } = await under.say('spawn', { label: 'other' })
    await asked()
    await cancel(under.engine, runId ?? '', 'enough')
    expect(pushed).toHaveLength(3)
  })

  test('comes in numbers that a person can read; the rest is told to ask later', async () => {
    const model = scriptedModel([
      { calls: Array.from({ length: 25 }, (_, n) => ({ name: 'push', input: { n } })) },
      { text: 'done' },
    ])
    under = await newEngine(database, model, { tools: [push], ask: ['push'] })
    await under.work()
    const { runId } = await under.say('push all')
    await parked(runId)
    const open = await questions()
    expect(open).toHaveLength(20)
    for (const { id } of open) await say(id, 'no')
    const [turn] = await under.turns(1)
    expect(turn?.turn.toolCalls.map(({ status }) => status).sort()).toEqual([
      ...Array.from({ length: 5 }, () => 'error'),
      ...Array.from({ length: 20 }, () => 'forbidden'),
    ])
  })

  test('shows nothing invisible', async () => {
    const sneaky = 'rm -rf x\u202e\u200b\u3164 #\u001b[31m'
    const model = scriptedModel([{ calls: [{ name: 'push', input: { sneaky } }] }])
    under = await newEngine(database, model, { tools: [push], ask: ['push'] })
    await under.work()
    const { runId } = await under.say('push it')
    const [question] = await asked()
    expect(question?.change).toContain('rm -rf x\\u{202e}\\u{200b}\\u{3164} #')
    expect((await under.runtime.store.read((rows) => resolveApproval(rows, `approval:${question?.id}`))).id).toBe(
      question?.id,
    )
    await parked(runId)
    await cancel(under.engine, runId ?? '', 'enough')
  })
})
