import { afterEach, describe, expect } from 'vitest'
import type { Permissions } from '../../src/domain/persona.ts'
import type { Call, Tool } from '../../src/domain/tools/tool.ts'
import { append } from '../../src/engine/turns/append.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { setPersona } from '../../src/engine/turns/sessions.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { insertUser } from '../../src/store/rows/access/users.ts'
import { childrenOf } from '../../src/store/rows/child-runs.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { findThread } from '../../src/store/rows/threads.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, type TestEngine, testTool } from './engine.ts'
import { spawnTool } from './family.ts'

const draft = { query: [{ content: 'hello' }], response: { content: 'good day' } }

describe.each(databases)('permissions on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  /** What calls of the tool `run` were limited to. */
  let calls: Pick<Call, 'sandbox' | 'credentials'>[]
  /** The runs that made them. */
  let callers: string[]
  function runTool(): Tool {
    calls = []
    callers = []
    return {
      ...testTool('run', 'pure', () => 'done'),
      async run(_, { sandbox, credentials, runId }) {
        callers.push(runId)
        calls.push({ ...(sandbox && { sandbox }), ...(credentials && { credentials }) })
        return { status: 'ok', output: 'done' }
      },
    } as Tool
  }

  async function open(...replies: Parameters<typeof scriptedModel>): Promise<void> {
    const tools = [runTool(), testTool('look', 'pure', () => 'seen'), testTool('push', 'unsafe', () => 'pushed')]
    under = await newEngine(database, scriptedModel(...replies), { tools: [...tools, spawnTool(() => under)] })
    await under.work()
  }
  const persona = (id: string, permissions: Permissions) =>
    setPersona(under.engine, { id, identity: { name: id, soul: '' }, permissions })
  const toolsOf = async (runId: string | null) =>
    (await under.engine.store.read((rows) => findRun(rows, runId ?? '')))?.effectiveTools

  test('that come with an input narrow its run, everything below it and the run that hears of it, and are noted with both turns', async () => {
    await open(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return { text: 'fine' }
      return { calls: [last?.content === 'go' ? { name: 'spawn', input: 'child' } : { name: 'run' }] }
    })
    const given: Permissions = {
      tools: { deny: ['push'] },
      sandbox: { network: false, timeoutSeconds: 5 },
      credentials: ['A'],
    }
    const { runId } = await under.say('go', { permissions: [given] })
    // The second turn answers the child's end, and calls the tool, too: only after it is nothing under way.
    const turns = (await under.turns(2)).map(({ turn }) => turn)
    const [child] = await under.engine.store.read((rows) => childrenOf(rows, runId ?? ''))
    const [, hearer] = turns.map((turn) => turn.runId)
    const tools = await Promise.all([runId, child?.id, hearer].map((id) => toolsOf(id ?? null)))
    expect(tools).toEqual(tools.map(() => ['run', 'look', 'spawn']))
    const limits = { sandbox: { network: false, timeoutSeconds: 5 }, credentials: ['A'] }
    expect({ callers, calls }).toEqual({ callers: [child?.id, hearer], calls: [limits, limits] })
    expect(turns.map(({ settings }) => settings)).toEqual(turns.map(() => ({ permissions: [given] })))
  })

  test('of an input add nothing to those of its persona, and hold for it only', async () => {
    await open(() => ({ text: 'fine' }))
    await persona('guard', { tools: { allow: ['look', 'run'] } })
    const all: Permissions = { tools: { allow: ['look', 'push'] } }
    const narrow = await under.say('one', { label: 'persona:guard', permissions: [all] })
    await under.turns(1, 'guard:main')
    expect(await toolsOf(narrow.runId)).toEqual(['look'])
    const usual = await under.say('two', { label: 'persona:guard' })
    await under.turns(2, 'guard:main')
    expect(await toolsOf(usual.runId)).toEqual(['run', 'look'])
  })

  test('of two inputs that one run answers both hold', async () => {
    const tools = [testTool('look', 'pure', () => 'seen'), testTool('push', 'unsafe', () => 'pushed')]
    under = await newEngine(
      database,
      scriptedModel(() => ({ text: 'fine' })),
      { tools },
    )
    await under.say('one', { permissions: [{ tools: { deny: ['push'] } }] })
    const { runId } = await under.say('two', { permissions: [{ tools: { deny: ['look'] } }] })
    await under.work()
    await under.turns(1)
    expect(await toolsOf(runId)).toEqual([])
  })

  test('of a persona limit its commands; the least of each limit holds, and what a persona does not say is not limited', async () => {
    await open((request) => (request.messages.at(-1)?.role === 'tool' ? { text: 'ok' } : { calls: [{ name: 'run' }] }))
    await persona('guard', { tools: {}, sandbox: { memoryMB: 100, processes: 20 }, credentials: [] })
    const own: Permissions = { tools: {}, sandbox: { memoryMB: 500, processes: 10 }, credentials: ['A'] }
    await under.say('x', { label: 'persona:guard', permissions: [own] })
    await under.turns(1, 'guard:main')
    await under.say('x')
    await under.turns(1)
    expect(calls).toEqual([{ sandbox: { memoryMB: 100, processes: 10 }, credentials: [] }, {}])
  })

  test('of a user leave no credential of the owner to commands', async () => {
    await open((request) => (request.messages.at(-1)?.role === 'tool' ? { text: 'ok' } : { calls: [{ name: 'run' }] }))
    const mia = { kind: 'user', id: 'mia', role: 'admin' } as const
    await under.engine.store.write('access', async (tx) => {
      await insertUser(tx, {
        ...{ id: 'mia', role: 'admin', isTrusted: true, tools: null, folder, perDayUsd: null, createdAt: 1 },
        removedAt: null,
      })
    })
    await under.say('x', { label: 'user:mia:main', principal: mia })
    await under.turns(1, 'user:mia:main')
    expect(calls).toEqual([{ credentials: [] }])
  })

  describe('of a thread that was forked from the thread of another persona', () => {
    async function forked(): Promise<string> {
      await open(() => ({ text: 'fine' }))
      await persona('atlas', { tools: { deny: ['push'], ask: ['run'] } })
      await persona('guard', { tools: { deny: ['look'] } })
      const { turnId } = await append(under.engine, { folder, label: 'hers', draft, personaId: 'atlas' })
      const principal = { kind: 'user', id: 'mia', role: 'public' } as const
      await fork(under.engine, { folder, turnId, label: 'user:mia:his', personaId: 'guard', principal })
      return turnId
    }

    test('are those of both', async () => {
      await forked()
      const { runId } = await under.say('x', { label: 'user:mia:his' })
      const [, turn] = await under.turns(2, 'user:mia:his')
      expect(await toolsOf(runId)).toEqual(['run', 'spawn'])
      expect(turn?.turn.settings?.permissions).toHaveLength(2)
      const thread = await under.engine.store.read((rows) => findThread(rows, turn?.turn.id ?? ''))
      expect(thread).toMatchObject({ personaId: 'guard', boundBy: ['atlas'] })
    })

    test('are none where the first persona is not there', async () => {
      await forked()
      // As an import from a home whose persona did not come along would leave it.
      await under.engine.store.write('session', (tx) =>
        tx.run(tx.build.updateTable('sessions').set({ bound_by_json: '["gone"]' }).where('label', '=', 'user:mia:his')),
      )
      const { runId } = await under.say('x', { label: 'user:mia:his' })
      await under.turns(2, 'user:mia:his')
      expect(await toolsOf(runId)).toEqual([])
    })
  })
})
