import { afterEach, describe, expect } from 'vitest'
import { ModelFailure } from '../../src/domain/model.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'

describe.each(databases)('people who change their mind on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine | undefined
  afterEach(async () => {
    expect(under?.troubles ?? []).toEqual([])
    await under?.remove()
    under = undefined
  })

  test('steering reaches the run at its next step; a late one is answered by the next run', async () => {
    const held = gate()
    const wait = testTool('wait', 'pure', (_, signal) => held.pass(signal))
    const model = scriptedModel([{ calls: [{ name: 'wait' }] }, { text: 'as you wish' }, { text: 'too late' }])
    under = await newEngine(database, model, { tools: [wait] })
    await under.work()
    await under.say('go')
    await held.reached
    await under.say('not there', { kind: 'steer' })
    held.open()
    await under.turns(1)
    expect(model.requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: 'not there' })
    await under.say('one more', { kind: 'steer' })
    const turns = await under.turns(2)
    expect(turns.map(({ turn }) => turn.queryMessages.map(({ content }) => content))).toEqual([
      ['go', 'not there'],
      ['one more'],
    ])
  })

  test('an interruption stops the run and all it began, and is answered by the next', async () => {
    const held = gate()
    const model = scriptedModel((_, n) => (n === 1 ? { gate: held, text: '' } : { text: 'as you like' }))
    under = await newEngine(database, model)
    await under.work()
    await under.say('a long story')
    await held.reached
    await under.say('stop, something else', { kind: 'interrupt' })
    const turns = await under.turns(2)
    expect(turns.map(({ turn }) => [turn.status, turn.queryMessages.map(({ content }) => content)])).toEqual([
      ['cancelled', ['a long story']],
      ['completed', ['stop, something else']],
    ])
  })

  test('an interruption ends a pause, too, and without a run it is a message like any other', async () => {
    const clock = manualClock()
    const busy = new ModelFailure('overloaded', 'too busy', 'wait', { retry: 'later' })
    const model = scriptedModel((_, n) => (n === 2 ? { fail: busy } : { text: `${n}` }))
    under = await newEngine(database, model, { clock })
    await under.work()
    await under.say('first', { kind: 'interrupt' })
    await under.turns(1)
    const { runId } = await under.say('second')
    await under.until(async (rows) => (await findRun(rows, runId ?? ''))?.state === 'waiting')
    await under.say('third', { kind: 'interrupt' })
    const turns = await under.turns(3)
    expect(turns.map(({ turn }) => turn.status)).toEqual(['completed', 'cancelled', 'completed'])
  })

  test('cancelling ends a queued run at once, and a running one through its owner; again changes nothing', async () => {
    const held = gate()
    under = await newEngine(database, scriptedModel([{ gate: held, text: 'never' }]))
    const { runId: queued } = await under.say('one')
    expect(await cancel(under.engine, queued ?? '', 'not now')).toBe('cancelled')
    await under.work()
    const { runId: running } = await under.say('two')
    await held.reached
    expect(await cancel(under.engine, running ?? '', 'changed my mind')).toBe('running')
    const turns = await under.turns(2)
    expect(turns.map(({ turn }) => [turn.status, turn.responseMessage.content])).toEqual([
      ['cancelled', 'Cancelled: not now'],
      ['cancelled', 'Cancelled: changed my mind'],
    ])
    expect(turns.map(({ turn }) => turn.queryMessages[0]?.content)).toEqual(['one', 'two'])
    expect(await cancel(under.engine, running ?? '', 'again')).toBe('cancelled')
  })

  test('retrying gives the same inputs to a new run; the failed turn stays', async () => {
    const fail = new ModelFailure('provider_rejected', 'no', 'ask otherwise', { retry: 'never' })
    under = await newEngine(database, scriptedModel([{ fail }, { text: 'yes' }]))
    await under.work()
    const { runId } = await under.say('hello')
    await under.turns(1)
    await retry(under.engine, runId ?? '')
    const turns = await under.turns(2)
    expect(turns.map(({ turn }) => [turn.status, turn.queryMessages[0]?.content])).toEqual([
      ['failed', 'hello'],
      ['completed', 'hello'],
    ])
  })
})
