import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Principal } from '../../src/domain/access/principal.ts'
import type { Persona } from '../../src/domain/persona.ts'
import type { Run } from '../../src/domain/run.ts'
import { isAllowed, type NameLists } from '../../src/domain/tools/permission.ts'
import { delegatingTools } from '../../src/domain/tools/tool-names.ts'
import { claimNext } from '../../src/engine/run/claim.ts'
import type { ClaimedRun } from '../../src/engine/run/claimed-run.ts'
import { executeRun } from '../../src/engine/run/loop.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { beginChild } from '../../src/engine/run/spawn.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { insertUser, updateUser } from '../../src/store/rows/access/users.ts'
import { insertOwner } from '../../src/store/rows/owners.ts'
import { putPersona } from '../../src/store/rows/personas.ts'
import { findRun, requeueRun } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { databases } from '../setup/places.ts'
import { testTool } from './engine.ts'
import { agentNamed, newOffice, type Office } from './test-team.ts'

const models = ['main', 'small', 'big']
const tools = ['read_file', 'write_file', 'web_fetch', 'push', 'memory_store', 'sessions_spawn', 'spawn_agent']
const ownerId = 'claimer'
const kept: readonly string[] = [...delegatingTools, 'read_result']

const lists: fc.Arbitrary<NameLists> = fc.record(
  {
    allow: fc.subarray(tools, { minLength: 2 }),
    deny: fc.subarray(tools, { maxLength: 2 }),
  },
  { requiredKeys: ['deny'] },
)
const allowed = fc.option(fc.subarray(models, { minLength: 1 }), { nil: undefined })
const pick = fc.nat(1000)
const acts = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ act: fc.constant('ask' as const), pick, tools: fc.option(fc.subarray(tools)) }),
    },
    { weight: 6, arbitrary: fc.record({ act: fc.constant('claim' as const) }) },
    { weight: 4, arbitrary: fc.record({ act: fc.constant('spawn' as const), pick }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant('requeue' as const), pick }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant('execute' as const), pick }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('retry' as const), pick }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('fork' as const), pick }) },
    { weight: 3, arbitrary: fc.record({ act: fc.constant('config' as const), lists, allowed }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('persona' as const), lists }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('user' as const), tools: fc.option(fc.subarray(tools)) }) },
  ),
  { minLength: 20, maxLength: 50 },
)
type Act = (typeof acts extends fc.Arbitrary<infer T> ? T : never)[number]

describe.each(databases)('random trees of runs on %s', (database) => {
  let office: Office
  beforeAll(async () => {
    const others = models.slice(1).map((name) => scriptedModel(() => ({ text: `from ${name}` }), { name }))
    const model = scriptedModel(() => ({ text: 'from main' }), { name: 'main' })
    const agents = [
      agentNamed('writer', { tools: ['read_file', 'write_file', 'push', 'memory_store'], model: 'big' }),
      agentNamed('reader', { tools: ['read_file', 'web_fetch'] }),
    ]
    const push = testTool('push', 'unsafe', () => 0)
    office = await newOffice(database, {}, { model, others, agents, tools: [push], config: wide })
    await office.stop()
    await office.engine.store.write('owner', async (tx) => {
      await insertOwner(tx, { id: ownerId, pid: 1, startedAt: 1, beatAt: 1 })
      await insertUser(tx, mia(null))
      await putPersona(tx, lotte({}), 1)
    })
  })
  afterAll(() => office.remove())

  test('tools, models, folder, trust and budget only narrow from parent to child, and from claim to claim', async () => {
    await fc.assert(
      fc.asyncProperty(acts, async (history) => {
        const world = new World(office)
        for (const act of history) await world.play(act)
        for (let left = 8; left > 0; left--) await world.play({ act: 'claim' })
      }),
      { numRuns: database === 'sqlite' ? 40 : 10 },
    )
  })
})

/** A history of acts upon the real rows, and what it has seen of each run. */
class World {
  readonly #office: Office
  readonly #label = `l${crypto.randomUUID().slice(0, 8)}`
  readonly #running: ClaimedRun[] = []
  readonly #seen = new Map<string, Run>()
  readonly #labels: string[] = []
  readonly #turns: string[] = []
  readonly #ended: string[] = []

  constructor(office: Office) {
    this.#office = office
  }

  async play(act: Act): Promise<void> {
    const { engine, folder } = this.#office
    switch (act.act) {
      case 'ask': {
        const label = this.#labels[act.pick % 7] ?? (act.pick % 5 === 0 ? 'lotte:main' : `${this.#label}${act.pick}`)
        if (!this.#labels.includes(label)) this.#labels.push(label)
        const agent = ['general', 'coordinator', 'writer', undefined][act.pick % 4]
        const principal: Principal | undefined =
          act.pick % 6 === 1 ? { kind: 'user', id: 'mia', role: 'admin' } : undefined
        const model = [...models, undefined][act.pick % 4]
        await submit(engine, {
          ...{ folder, label, content: 'go' },
          ...(agent && { agent }),
          ...(model && { model }),
          ...(principal && { principal }),
          ...(act.tools && { ceiling: { tools: act.tools } }),
        }).catch(() => undefined)
        return
      }
      case 'claim': {
        const claimed = await claimNext(engine, { ownerId })
        if (!claimed) return
        this.#running.push(claimed)
        await this.#check(claimed)
        this.#seen.set(claimed.run.id, claimed.run)
        return
      }
      case 'spawn': {
        const parent =
          this.#pick(this.#running, act.pick)?.run ?? this.#seen.get(this.#pick(this.#ended, act.pick) ?? '')
        if (!parent) return
        const model = [...models, undefined][act.pick % 4]
        await engine.store.write('step', async (tx) => {
          const now = (await findRun(tx, parent.id)) as Run
          const [parentSession] = await findSessions(tx, { id: now.sessionId ?? '' })
          if (!parentSession) return
          await beginChild(
            tx,
            engine,
            { parent: now, parentSession },
            {
              ...{ content: 'do it', via: 'spawn_agent', callId: null },
              agent: ['writer', 'reader', 'general'][act.pick % 3] as string,
              ...(model && { options: { model } }),
              ...(act.pick % 4 === 0 && { label: { integrity: 'untrusted', sources: ['web'] } }),
            },
          )
        })
        return
      }
      case 'requeue': {
        const claimed = this.#take(act.pick)
        if (claimed) await engine.store.write('step', (tx) => requeueRun(tx, claimed.run.id))
        return
      }
      case 'execute': {
        const claimed = this.#take(act.pick)
        if (!claimed) return
        const worker = { signal: new AbortController().signal, leaseAtRisk: () => false, claimant: () => undefined }
        await executeRun(engine, claimed, worker)
        this.#ended.push(claimed.run.id)
        const [session] = await engine.store.read((rows) => findSessions(rows, { id: claimed.session.id }))
        if (session?.headTurnId) this.#turns.push(session.headTurnId)
        return
      }
      case 'retry': {
        const id = this.#pick(this.#ended, act.pick)
        if (id) await retry(engine, id).catch(() => undefined)
        return
      }
      case 'fork': {
        const turnId = this.#pick(this.#turns, act.pick)
        if (!turnId) return
        const made = await fork(engine, { folder, turnId, ...(act.pick % 2 === 0 && { personaId: 'lotte' }) })
        this.#labels.push(made.label)
        return
      }
      case 'config':
        Object.assign(engine.policy, { allow: act.lists.allow, deny: act.lists.deny, models: act.allowed })
        return
      case 'persona':
        await engine.store.write('append', (tx) => putPersona(tx, lotte(act.lists), 1))
        return
      case 'user':
        await engine.store.write('access', (tx) => updateUser(tx, mia(act.tools)))
    }
  }

  async #check({ run, actor, session }: ClaimedRun): Promise<void> {
    const { engine } = this.#office
    const { tools: most = [], models: mayAsk } = run.ceiling
    expectWithin(run.effectiveTools, most)
    expect(actor.tools.map(({ name }) => name)).toEqual(run.effectiveTools)
    for (const name of [actor.model.name, ...actor.model.fallbacks])
      if (mayAsk && name !== null) expect(mayAsk).toContain(name)
    // What is allowed now, told apart from the code under test.
    for (const name of most) {
      expect([name, isNamed(name, engine.policy)]).toEqual([name, true])
      expect([name, isNamed(name, actor.persona?.permissions.tools ?? {})]).toEqual([name, true])
    }
    if (engine.policy.models && mayAsk) expectWithin(mayAsk, engine.policy.models)
    if (run.options.ceiling?.tools) expectWithin(most, run.options.ceiling.tools)
    const before = this.#seen.get(run.id)
    if (before) {
      expectWithin(run.effectiveTools, before.effectiveTools)
      expectNarrower(run, before)
    }
    const [parent, root] = await engine.store.read(async (rows) => [
      run.parentRunId === null ? undefined : await findRun(rows, run.parentRunId),
      run.rootRunId === run.id ? undefined : await findRun(rows, run.rootRunId),
    ])
    if (!parent) {
      if (root && run.via !== 'retry' && root.sessionId === run.sessionId && root.epoch > 0) expectNarrower(run, root)
      return
    }
    expectNarrower(run, parent)
    if (parent.agent === 'general') expectWithin(most, parent.effectiveTools)
    const [place] = await engine.store.read((rows) => findSessions(rows, { id: parent.sessionId ?? '' }))
    expect(session.folder).toBe(place?.folder)
    expect(run.principal).toBe(parent.principal)
    // All runs of a request share its budget.
    expect(run.rootRunId).toBe(parent.rootRunId)
    const atSpawn = this.#seen.get(parent.id)
    if (atSpawn?.label.integrity === 'untrusted') expect(run.label.integrity).toBe('untrusted')
  }

  #pick<T>(of: readonly T[], pick: number): T | undefined {
    return of.length === 0 ? undefined : of[pick % of.length]
  }

  #take(pick: number): ClaimedRun | undefined {
    return this.#running.splice(pick % Math.max(1, this.#running.length), 1)[0]
  }
}

function expectWithin(names: readonly string[], most: readonly string[]): void {
  expect(names.filter((name) => !most.includes(name))).toEqual([])
}

function expectNarrower(run: Run, wider: Run): void {
  if (wider.ceiling.tools) expectWithin(run.ceiling.tools ?? ['anything'], wider.ceiling.tools)
  if (wider.ceiling.models) expectWithin(run.ceiling.models ?? ['anything'], wider.ceiling.models)
}

function isNamed(name: string, { allow, deny }: NameLists): boolean {
  return isAllowed(name, { ...(deny && { deny }), ...(allow && !kept.includes(name) && { allow }) })
}

function wide(config: Parameters<NonNullable<Parameters<typeof newOffice>[2]>['config'] & object>[0]): void {
  config.engine.maxRunning = 100_000
  config.agents.maxConcurrent = 100_000
  config.tools.subagents = { ...config.tools.subagents, maxConcurrent: 100_000, maxSpawnDepth: 3 }
}

function lotte({ allow, deny }: NameLists): Persona {
  const lists = { ...(allow && { allow: [...allow] }), ...(deny && { deny: [...deny] }) }
  return { id: 'lotte', identity: { name: 'Lotte', soul: '' }, permissions: { tools: lists } }
}

function mia(tools: string[] | null) {
  const role = 'admin' as const
  return {
    ...{ id: 'mia', role, isTrusted: false, tools, folder: '/here' },
    perDayUsd: null,
    createdAt: 1,
    removedAt: null,
  }
}
