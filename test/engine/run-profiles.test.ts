import { afterEach, describe, expect } from 'vitest'
import { ModelFailure } from '../../src/domain/model.ts'
import { startNarrator } from '../../src/engine/knowledge/narrator.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { gate } from '../../src/models/gate.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { manualClock } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { delegationDesk, profileId } from './delegation-desk.ts'
import { pin, unregister, writeProfile } from './policies.ts'

describe.each(databases)('profiles of runs on %s', (database) => {
  const test = testOn(database)
  const desk = delegationDesk(database)
  afterEach(() => desk.office.remove())

  test('a run keeps the version of its profile, is narrowed by a later one, and survives the removal of both', async () => {
    await desk.open({}, { profile: { model: {}, allowedModels: ['main', 'small'], systemPrompt: 'first' } })
    await desk.office.stop()
    const { runId } = await submit(desk.office.engine, {
      folder: desk.office.folder,
      label: 'kept',
      content: 'hello',
      agent: 'poet',
    })
    const first = await desk.claim()
    expect(first.run).toMatchObject({ profile: { version: 1 }, ceiling: { models: ['main', 'small', 'rehearsal'] } })
    await desk.requeue(runId)
    await writeProfile(desk.office.engine, profileId, {
      model: { model: 'big' },
      allowedModels: ['small'],
      systemPrompt: 'second',
    })
    const second = await desk.claim()
    expect(second.run).toMatchObject({ profile: { version: 1 }, ceiling: { models: ['small', 'rehearsal'] } })
    expect(second.actor).toMatchObject({
      model: { name: 'small', clamped: { from: 'main' } },
      role: { agent: { body: 'first' } },
    })
    await desk.requeue(runId)
    await unregister(desk.office.engine, '@poet', profileId)
    const third = await desk.claim()
    expect(third.run).toMatchObject({ profile: { version: 1 }, ceiling: { models: ['small', 'rehearsal'] } })
    expect(third.actor.role).toMatchObject({ kind: 'agent' })
  })

  test('the profile’s window is where a conversation is summarised, and how long a reply may be', async () => {
    await desk.open({}, { profile: { contextWindow: 3000, limits: { maxTokens: 500 } } })
    const ask = () => desk.office.ask('word '.repeat(1500), { agent: 'poet', label: 'long' })
    await ask()
    await ask()
    const turns = await desk.office.engine.store.read((rows) => rows.all(rows.build.selectFrom('turns').select('type')))
    expect(turns).toContainEqual({ type: 'compaction' })
    const own = desk.requestsTo('poet')
    expect(own.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual(own.map(() => 500))
    expect(desk.office.model.requests.every(({ maxOutputTokens }) => maxOutputTokens <= 750)).toBe(true)
  })

  test('the pin of the narrowest scope is the profile of who answers, and not of the agents below', async () => {
    const never = await desk.open({ agentId: '@writer', task: 'a page' })
    const { engine, folder } = desk.office
    await writeProfile(engine, 'profile:local:v1', { model: { model: 'small' }, systemPrompt: 'Stay here.' })
    await writeProfile(engine, 'profile:wide:v1', { model: { model: 'big' } })
    desk.plays['coordinator'] = desk.delegating({ agentId: '@writer', task: 'a page' })
    await desk.office.ask('hello')
    const [session] = await engine.store.read((rows) => findSessions(rows, { label: 'main', folder }))
    await pin(engine, ['global', ''], 'profile:wide:v1')
    await pin(engine, ['session', session?.id ?? ''], 'profile:local:v1')
    const { runId, model } = await desk.office.ask('go')
    expect(model).toMatchObject({ actual: 'small' })
    const child = await desk.childOf(runId)
    expect(child).toMatchObject({ profile: null, ceiling: { models: ['small', 'rehearsal'] } })
    expect(desk.requestsTo('coordinator').at(-1)?.system).toContain('## Your profile\nStay here.')
    expect(desk.requestsTo('writer').at(-1)?.system).not.toContain('Stay here.')
    expect(never.requests).toEqual([])
    await pin(engine, ['session', session?.id ?? ''], undefined)
    expect((await desk.office.ask('hello')).model).toMatchObject({ actual: 'big' })
  })

  test('fallbacks, summaries and the narrator of a pinned conversation use models of its profile only', async () => {
    const never = await desk.open({}, { config: ({ agent }) => void agent.fallbacks.push('big', 'small') })
    const { engine, folder } = desk.office
    const local = { model: {}, allowedModels: ['main', 'small'], contextWindow: 3000 }
    await writeProfile(engine, 'profile:local:v1', local)
    await pin(engine, ['workspace', folder], 'profile:local:v1')
    const told = 'We move the orders to PostgreSQL in March because the reports are slow; Ada writes, Bela checks.'
    await desk.office.ask('word '.repeat(1500))
    await desk.office.ask(`${told} ${'word '.repeat(1500)}`)
    const narrator = startNarrator(engine, {
      submit: (input) => submit(engine, input),
      cancel: (runId, reason) => cancel(engine, runId, reason),
      model: 'big',
      onError: (error) => expect(error).toBeUndefined(),
    })
    await narrator.whenIdle(folder, new AbortController().signal)
    await narrator.stop()
    const asked = desk.office.model.requests.map((request) =>
      request.tools.length === 0 ? request.system.slice(0, 20) : '',
    )
    expect(asked).toContain('You are the narrator')
    const turns = await engine.store.read((rows) => rows.all(rows.build.selectFrom('turns').select(['type', 'model'])))
    expect(turns).toContainEqual({ type: 'compaction', model: 'main' })
    const { model } = engine
    const failing = {
      ...desk.office.model,
      reply: () =>
        Promise.reject(new ModelFailure('down', 'it is down', 'wait', { retry: 'later', retryAfter: 60_000 })),
    }
    engine.model = (name) => (name === 'main' ? failing : model(name))
    expect((await desk.office.ask('hello', { label: 'falls' })).model).toMatchObject({ actual: 'small' })
    expect(never.requests).toEqual([])
  })

  test('a run whose profile lists skills starts no other agent file, by whatever tool', async () => {
    await desk.open({})
    const { engine, folder } = desk.office
    await writeProfile(engine, 'profile:few:v1', { model: { model: 'small' }, allowedSkills: ['skill:rhymes'] })
    await pin(engine, ['workspace', folder], 'profile:few:v1')
    desk.plays['coordinator'] = (_, last) =>
      last === 'go' ? { calls: [{ name: 'spawn_agent', input: { task: 'x', skill: 'writer' } }] } : { text: 'ok' }
    const { runId } = await desk.office.ask('go')
    expect(await desk.answerOf(runId)).toMatchObject({
      error: 'there is no agent "writer"',
      remedy: 'there are: poet, rhymes',
    })
    const given = { ceiling: { skills: ['rhymes'] }, agent: 'writer', label: 'given' }
    expect(await desk.office.ask('hello', given)).toMatchObject({
      status: 'failed',
      error: { code: 'agent_not_allowed', remedy: 'its profile allows: rhymes' },
    })
    delete desk.plays['coordinator']
  })

  test('a run lasts no longer than its profile says', async () => {
    const clock = manualClock()
    const held = gate()
    desk.plays['poet'] = () => ({ text: 'late', gate: held })
    await desk.open({}, { profile: { limits: { timeoutSeconds: 5 } }, clock })
    const itemId = await desk.office.say('hello', { agent: 'poet', timeoutMs: 0 })
    await held.reached
    clock.advance(5000)
    expect(await desk.office.heard(itemId)).toMatchObject({ status: 'timeout' })
    delete desk.plays['poet']
  })

  test('an agent that works alone delegates too, and is woken with the result', async () => {
    await desk.open({})
    desk.plays['?'] = desk.delegating({ agentId: '@poet', task: 'a poem' })
    desk.plays['poet'] = () => ({ text: 'Roses are red.' })
    const { text } = await desk.office.ask('go', { agent: 'general' })
    expect(text).toContain('all started agents have ended')
    expect(JSON.stringify(desk.office.model.requests.at(-1)?.messages)).toContain('Roses are red.')
    expect(desk.office.requestsOf('poet')[0]?.tools.map(({ name }) => name)).toEqual(['read_result'])
    delete desk.plays['?']
    delete desk.plays['poet']
  })
})
