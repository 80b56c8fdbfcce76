import { afterEach, describe, expect, test } from 'vitest'
import type { Model } from '../../src/domain/model.ts'
import { ModelFailure } from '../../src/domain/model.ts'
import type { TurnModel } from '../../src/domain/turn.ts'
import { startNarrator } from '../../src/engine/knowledge/narrator.ts'
import { type AllowedModels, chooseModel } from '../../src/engine/model/choose-model.ts'
import { narratorName } from '../../src/engine/model/role.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import type { EndedStep } from '../../src/engine/run/context/journal.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { putPersona } from '../../src/store/rows/personas.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { agentNamed, newOffice, type Office, type OfficeOptions } from './test-team.ts'

const why = 'it is not in models.allow'

describe.each(databases)('models.allow on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const big = () => scriptedModel(() => ({ text: 'from big' }), { name: 'big' })
  const small = () => scriptedModel(() => ({ text: 'from small' }), { name: 'small' })

  /** An office whose default model is `main`; `big` is there and never allowed. */
  async function open(options: OfficeOptions = {}, allow: string[] = ['main', 'small']) {
    const never = big()
    const main = scriptedModel(
      ({ messages }) =>
        messages.at(-1)?.content === 'delegate'
          ? {
              calls: [{ model: 'big' }, { model: 'small' }, {}].map((more) => ({
                ...{ name: 'spawn_agent', input: { task: 'do it', skill: 'writer', ...more } },
              })),
            }
          : { text: 'from main' },
      { name: 'main', ...(options.window !== undefined && { window: options.window }) },
    )
    office = await newOffice(
      database,
      {},
      {
        model: main,
        others: [small(), never],
        ...options,
        config(config) {
          config.allowedModels = allow
          options.config?.(config)
        },
      },
    )
    return never
  }
  const modelOf = async (content: string, more: Parameters<Office['ask']>[1] = {}): Promise<TurnModel> =>
    (await office.ask(content, more)).model

  test('a model of an input, of an agent file or of a persona gives way to the default, and the turn says why', async () => {
    const never = await open({ agents: [agentNamed('writer', { model: 'big' })] })
    const clamped = { actual: 'main', clamped: { from: 'big', why } }
    expect(await modelOf('hello', { model: 'big' })).toEqual({ requested: 'big', ...clamped })
    expect(await modelOf('hello', { label: 'file', agent: 'writer' })).toEqual({ requested: 'big', ...clamped })
    await office.engine.store.write('append', (tx) =>
      putPersona(
        tx,
        {
          id: 'lotte',
          identity: { name: 'Lotte', soul: '' },
          permissions: { tools: {} },
          defaultModelConfig: { model: 'big' },
        },
        1,
      ),
    )
    expect(await modelOf('hello', { label: 'lotte:main' })).toEqual({ requested: null, ...clamped })
    expect(await modelOf('hello', { label: 'fine', model: 'small' })).toEqual({ requested: 'small', actual: 'small' })
    expect(never.requests).toEqual([])
  })

  test('a call that starts an agent is told which model it gets, and why', async () => {
    const never = await open({ agents: [agentNamed('writer')] })
    const { runId } = await office.ask('delegate')
    const [steps, child] = await office.engine.store.read(async (rows) => [
      await readSteps(rows, runId ?? ''),
      (await runsOf(rows, { rootRunId: runId ?? '' })).find(({ modelRequested }) => modelRequested === 'big'),
    ])
    const answers = steps.filter(({ kind }) => kind === 'ended').map(({ payload }) => (payload as EndedStep).output)
    const begun = { status: 'accepted', run_id: expect.any(String), session_key: expect.any(String) }
    expect(answers).toEqual(
      expect.arrayContaining([
        { ...begun, model: 'main', clamped: { from: 'big', why } },
        { ...begun, model: 'small' },
        { ...begun, model: 'main' },
      ]),
    )
    expect(child?.depth).toBe(1)
    expect(never.requests).toEqual([])
  })

  test('a default model that is not allowed gives way to the first one that is', async () => {
    await open({}, ['gone', 'small'])
    expect(await modelOf('hello')).toEqual({
      requested: null,
      actual: 'small',
      clamped: { from: 'main', why },
    })
  })

  test('fallbacks, summaries and the narrator use allowed models only', async () => {
    const never = await open({ config: ({ agent }) => void agent.fallbacks.push('big', 'small'), window: 3000 })
    expect(await modelOf('word '.repeat(1500))).toMatchObject({ actual: 'main' })
    expect(await modelOf('word '.repeat(1500))).toMatchObject({ actual: 'main' })
    const paths = await office.engine.store.read((rows) =>
      rows.all(rows.build.selectFrom('turns').select(['type', 'model'])),
    )
    expect(paths).toContainEqual({ type: 'compaction', model: 'main' })
    expect(await modelOf('hello', { label: 'told', agent: narratorName, via: 'narrator', model: 'big' })).toMatchObject(
      {
        actual: 'main',
        clamped: { from: 'big', why },
      },
    )
    const failing: Model = {
      ...office.model,
      reply: () =>
        Promise.reject(new ModelFailure('down', 'it is down', 'wait', { retry: 'later', retryAfter: 60_000 })),
    }
    const model = office.engine.model
    office.engine.model = (name) => (name === 'main' ? failing : model(name))
    expect(await modelOf('hello', { label: 'falls' })).toMatchObject({ actual: 'small' })
    expect(never.requests).toEqual([])
  })

  test('the narrator of a conversation uses no model that the conversation could not use', async () => {
    const main = () => (office.model.requests ?? []).filter(({ system }) => system.startsWith('You are the narrator'))
    await open({}, ['main', 'small', 'big'])
    const told = 'We move the orders to PostgreSQL in March because the reports are slow; Ada writes the scripts.'
    await office.ask(told, { ceiling: { models: ['small'] } })
    const narrator = startNarrator(office.engine, {
      submit: (input) => submit(office.engine, input),
      cancel: (runId, reason) => cancel(office.engine, runId, reason),
      onError: (error) => expect(error).toBeUndefined(),
    })
    await narrator.whenIdle(office.folder, new AbortController().signal)
    await narrator.stop()
    const runs = await office.engine.store.read((rows) => runsOf(rows, {}))
    const narration = runs.find(({ agent }) => agent === narratorName)
    expect(narration).toMatchObject({ state: 'completed', ceiling: { models: ['small'] } })
    expect(main()).toEqual([])
  })

  test('a run that may use none of the models that there are fails with a remedy', async () => {
    await open()
    const answered = await office.ask('hello', { ceiling: { models: ['big'] } })
    expect(answered).toMatchObject({ status: 'failed', error: { code: 'no_model_allowed' } })
  })
})

test('a model is chosen by the input or call, the agent, the persona, the default, and then clamped', () => {
  const models = { defaultModel: 'main', fallbacks: ['a', 'b', 'main'], knowsModel: (name: string) => name !== 'gone' }
  const persona = {
    id: 'p',
    identity: { name: 'P', soul: '' },
    permissions: { tools: {} },
    defaultModelConfig: { model: 'p' },
  }
  const choose = (requested: string | null, own: typeof persona | null, allow?: string[]) =>
    chooseModel(models, { requested, persona: own, allow: { owner: allow } })
  expect(choose('r', persona)).toEqual({ requested: 'r', name: 'r', fallbacks: [] })
  expect(choose(null, persona)).toEqual({ requested: null, name: 'p', fallbacks: [] })
  expect(choose(null, null)).toEqual({ requested: null, name: 'main', fallbacks: ['a', 'b'] })
  expect(choose(null, null, ['main', 'b'])).toEqual({ requested: null, name: 'main', fallbacks: ['b'] })
  expect(choose('r', null, ['gone', 'b'])).toMatchObject({ name: 'b', clamped: { from: 'r' } })
  expect(choose('r', null, ['gone'])).toMatchObject({ name: null, clamped: { from: 'r' } })
})

test('a clamp names the list that the model is not in, and the profile’s model takes its place', () => {
  const models = { defaultModel: 'main', fallbacks: ['a', 'b'], knowsModel: (name: string) => name !== 'gone' }
  const clamp = (requested: string | null, allow: AllowedModels, profileModel?: string) =>
    chooseModel(models, { requested, allow, profileModel })
  expect(clamp('r', { owner: ['a', 'r'], profile: ['a', 'b'], ceiling: ['a'] })).toMatchObject({
    name: 'a',
    clamped: { from: 'r', why: 'its profile does not allow it' },
  })
  expect(clamp('b', { owner: ['a'], profile: ['a'] }).clamped?.why).toBe(why)
  expect(clamp('b', { ceiling: ['a'] }).clamped?.why).toBe('it is not among the models that this run was given')
  expect(clamp(null, { profile: ['a', 'p'] }, 'p')).toEqual({ requested: null, name: 'p', fallbacks: [] })
  expect(clamp('r', { profile: ['a', 'p', 'main'] }, 'p')).toMatchObject({ name: 'p' })
  expect(clamp(null, { profile: ['main', 'b'] })).toEqual({ requested: null, name: 'main', fallbacks: ['b'] })
  expect(clamp('r', { profile: ['p'], owner: ['main'] }, 'p')).toMatchObject({ name: null })
})
