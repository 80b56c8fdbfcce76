import { afterEach, describe, expect, test } from 'vitest'
import { owner, type Principal, principalText } from '../../src/domain/access/principal.ts'
import type { ModelConfig, Permissions, Persona } from '../../src/domain/persona.ts'
import { append } from '../../src/engine/turns/append.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { setPersona, setSystemPrompt } from '../../src/engine/turns/sessions.ts'
import { exportTurns, importTurns } from '../../src/engine/turns/transfer.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { findThread, findTurn } from '../../src/store/rows/threads.ts'
import { promptText } from '../../src/store/rows/turns.ts'
import { databases, newTestRuntime } from '../setup/places.ts'
import { folder, newEngine, type TestEngine, testTool } from './engine.ts'

const draft = { query: [{ content: 'hello' }], response: { content: 'good day' } }
const mia: Principal = { kind: 'user', id: 'mia', role: 'public' }
const oli: Principal = { kind: 'user', id: 'oli', role: 'operator' }

function persona(id: string, more: { defaultModelConfig?: ModelConfig; permissions?: Permissions } = {}): Persona {
  return { id, identity: { name: id, soul: '' }, permissions: { tools: {} }, ...more }
}

describe.each(databases)('the configuration of a thread on %s', (database) => {
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })
  const read = <T>(question: Parameters<TestEngine['engine']['store']['read']>[0]) =>
    under.engine.store.read(question) as Promise<T>
  const prompt = (session: string, text: string | null) =>
    setSystemPrompt(under.engine, { folder, session, text, principal: owner })

  describe('model settings', () => {
    const settings: ModelConfig = { thinking: { level: 'low' }, maxTokens: 300, temperature: 0.2 }

    test("of a persona are sent with each reply's request and noted with the turn", async () => {
      const model = scriptedModel([{ calls: [{ name: 'look' }] }, { text: 'fine' }, { text: 'plain' }])
      under = await newEngine(database, model, { tools: [testTool('look', 'pure', () => 'seen')] })
      await setPersona(under.engine, persona('atlas', { defaultModelConfig: settings }))
      await under.work()
      await under.say('hello', { label: 'persona:atlas' })
      const [own] = await under.turns(1, 'atlas:main')
      await under.say('hello')
      const [plain] = await under.turns(1)
      const sent = model.requests.map(({ thinking, temperature, maxOutputTokens }) => ({
        ...{ thinking, temperature, maxOutputTokens },
      }))
      const asked = { thinking: { level: 'low' }, temperature: 0.2, maxOutputTokens: 300 }
      expect(sent).toEqual([asked, asked, { thinking: undefined, temperature: undefined, maxOutputTokens: 1000 }])
      expect(own?.turn).toMatchObject({
        thinkingConfig: { level: 'low' },
        settings: { maxTokens: 300, temperature: 0.2 },
      })
      expect(plain?.turn).toMatchObject({ thinkingConfig: null, settings: null })
    })

    test("of an input come before those of its persona, and those before the model's own", async () => {
      const model = { ...scriptedModel(() => ({ text: 'fine' })), thinking: 'medium' as const }
      under = await newEngine(database, model)
      await setPersona(under.engine, persona('atlas', { defaultModelConfig: settings }))
      await under.work()
      await under.say('hello', { label: 'persona:atlas', thinking: { level: 'high' }, temperature: 1, maxTokens: 40 })
      await under.say('hello')
      const [own] = await under.turns(1, 'atlas:main')
      const [plain] = await under.turns(1)
      expect(own?.turn).toMatchObject({
        thinkingConfig: { level: 'high' },
        settings: { maxTokens: 40, temperature: 1 },
      })
      expect(plain?.turn).toMatchObject({ thinkingConfig: { level: 'medium' }, settings: null })
    })

    test('a model that cannot think is asked for none, and the turn notes none', async () => {
      const scripted = scriptedModel(() => ({ text: 'fine' }))
      under = await newEngine(database, { ...scripted, thinks: false })
      await under.work()
      await under.say('hello', { thinking: { level: 'high' } })
      const [turn] = await under.turns(1)
      expect(scripted.requests[0]).not.toHaveProperty('thinking')
      expect(turn?.turn).toMatchObject({ thinkingConfig: null, settings: null })
    })
  })

  test('the tokens of a turn are those of its messages and of its tool calls', async () => {
    const output = 'x'.repeat(4000)
    const model = scriptedModel([
      { calls: [{ name: 'look', input: { at: 'here' } }] },
      { text: 'fine' },
      { text: 'ok' },
    ])
    under = await newEngine(database, model, { tools: [testTool('look', 'pure', () => output)] })
    await under.work()
    await under.say('hello')
    await under.turns(1)
    await under.say('and?')
    const [first, second] = await under.turns(2)
    expect(first?.turn.tokenCount).toBe(Math.ceil(`hellofinelook{"at":"here"}${output}`.length / 4))
    expect(second?.thread.totalTokens).toBe((first?.turn.tokenCount ?? 0) + Math.ceil('and?ok'.length / 4))
    const call = { id: 'c1', name: 'look', input: {}, output, status: 'ok' as const }
    const made = await append(under.engine, { folder, label: 'hand', draft: { ...draft, toolCalls: [call] } })
    expect(
      (await read<Awaited<ReturnType<typeof findTurn>>>((rows) => findTurn(rows, made.turnId)))?.turn.tokenCount,
    ).toBe(Math.ceil(`hellogood daylook{}${output}`.length / 4))
  })

  describe('a system prompt of its own', () => {
    test('stands in the prompt from the first turn on, is inherited by turns that follow and by forks, and can be replaced', async () => {
      const model = scriptedModel(() => ({ text: 'fine' }))
      under = await newEngine(database, model)
      const seen: (string | null)[] = []
      under.engine.prompt = async ({ threadPrompt }) => {
        seen.push(threadPrompt)
        return 'You are brief.'
      }
      expect(await prompt('review', 'Be strict.')).toMatchObject({ label: 'review', ownSystemPrompt: 'Be strict.' })
      await under.work()
      await under.say('one', { label: 'review' })
      const [first] = await under.turns(1, 'review')
      await under.say('two', { label: 'review' })
      await under.turns(2, 'review')
      await prompt('review', 'Be kind.')
      await under.say('three', { label: 'review' })
      await under.turns(3, 'review')
      await fork(under.engine, { folder, turnId: first?.turn.id ?? '', label: 'old' })
      await under.say('four', { label: 'old' })
      await under.turns(2, 'old')
      await fork(under.engine, { folder, turnId: first?.turn.id ?? '', label: 'bare', systemPrompt: null })
      await under.say('five', { label: 'bare' })
      await under.turns(2, 'bare')
      await prompt('review', null)
      await under.say('six', { label: 'review' })
      await under.turns(4, 'review')
      expect(seen).toEqual(['Be strict.', 'Be strict.', 'Be kind.', 'Be strict.', null, null])
    })

    test('is noted with each turn, and is exported and imported with it', async () => {
      under = await newEngine(
        database,
        scriptedModel(() => ({ text: 'fine' })),
      )
      await prompt('review', 'Be strict.')
      const { turnId } = await append(under.engine, { folder, label: 'review', draft })
      const lines: string[] = []
      for await (const turn of exportTurns(under.engine.store)) lines.push(JSON.stringify(turn))
      const other = await newTestRuntime(database)
      try {
        const all = async function* () {
          yield* lines
        }
        expect(await importTurns(other, all())).toMatchObject({ imported: 1 })
        expect(await importTurns(other, all())).toMatchObject({ skipped: 1 })
        const text = await other.store.read(async (rows) => {
          const thread = await findThread(rows, turnId)
          const [session] = await findSessions(rows, { label: 'review' })
          expect(session?.systemPromptHash).toBe(thread?.systemPromptHash)
          return promptText(rows, thread?.systemPromptHash ?? '')
        })
        expect(text).toBe('Be strict.')
      } finally {
        await other.remove()
      }
    })

    test('must be text of a size that can be stored', async () => {
      under = await newEngine(
        database,
        scriptedModel(() => ({ text: 'fine' })),
      )
      for (const text of ['', ' \n', 'a\0b', 'x'.repeat(100_001)])
        await expect(prompt('review', text)).rejects.toMatchObject({ code: 'bad_prompt' })
      expect(await read((rows) => findSessions(rows))).toEqual([])
    })
  })

  describe('a fork with another persona', () => {
    async function forks(principal: Principal): Promise<{ personaId: string | null; boundBy: readonly string[] }> {
      under = await newEngine(
        database,
        scriptedModel(() => ({ text: 'fine' })),
      )
      for (const id of ['atlas', 'guard', 'third']) await setPersona(under.engine, persona(id))
      const { turnId } = await append(under.engine, { folder, label: 'hers', draft, personaId: 'atlas' })
      const label = (text: string) => (principal === owner ? text : `${principalText(principal)}:${text}`)
      await fork(under.engine, { folder, turnId, label: label('one'), personaId: 'guard', principal })
      const next = await append(under.engine, { folder, label: label('one'), draft, principal })
      await fork(under.engine, { folder, turnId: next.turnId, label: label('two'), personaId: 'third', principal })
      const last = await append(under.engine, { folder, label: label('two'), draft, principal })
      // Whoever only forks takes over what binds the thread.
      await fork(under.engine, { folder, turnId: last.turnId, label: 'same' })
      const sessions = await read<Awaited<ReturnType<typeof findSessions>>>((rows) => findSessions(rows))
      const of = (label: string) => sessions.find((session) => session.label === label)
      expect(of('same')).toMatchObject({ boundBy: of(label('two'))?.boundBy })
      return of('same') as { personaId: string | null; boundBy: readonly string[] }
    }

    test('is bound by the permissions of both, whatever is forked from it', async () => {
      expect(await forks(mia)).toMatchObject({ personaId: 'third', boundBy: ['atlas', 'guard'] })
    })

    test.each([
      ['the owner', owner],
      ['an operator', oli],
    ])('is not bound by the first where %s makes it', async (_, principal) => {
      expect(await forks(principal)).toMatchObject({ personaId: 'third', boundBy: [] })
    })
  })
})
