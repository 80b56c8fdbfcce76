import { expect } from 'vitest'
import type { Principal } from '../../src/domain/access/principal.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import type { Persona } from '../../src/domain/persona.ts'
import type { ProfileValue } from '../../src/domain/profiles/profile.ts'
import type { Run } from '../../src/domain/run.ts'
import { isAllowed, type NameLists } from '../../src/domain/tools/permission.ts'
import type { CallContext, ToolOutcome } from '../../src/domain/tools/tool.ts'
import { delegatingTools } from '../../src/domain/tools/tool-names.ts'
import { startNarrator } from '../../src/engine/knowledge/narrator.ts'
import { deleteProfile } from '../../src/engine/policies/profiles.ts'
import { unregisterAgent } from '../../src/engine/policies/registry.ts'
import type { ClaimedRun } from '../../src/engine/run/claimed-run.ts'
import { executeRun } from '../../src/engine/run/loop.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { beginChild } from '../../src/engine/run/spawn.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import type { ScriptedModel } from '../../src/models/scripted.ts'
import { updateUser } from '../../src/store/rows/access/users.ts'
import { putPersona } from '../../src/store/rows/personas.ts'
import { listPolicyVersions } from '../../src/store/rows/policies/policies.ts'
import { requeueRun } from '../../src/store/rows/released-runs.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { findTurn } from '../../src/store/rows/threads.ts'
import { claimNext } from './claim-next.ts'
import { type Act, models, profileFrom } from './narrowing-acts.ts'
import { pin, register, writeProfile } from './policies.ts'
import type { Office } from './test-team.ts'

export const workerId = 'claimer'
const kept: readonly string[] = [...delegatingTools, 'read_result']
const told = 'We move the orders to PostgreSQL in March because the reports are slow; Ada writes, Bela checks.'
/** Of which one makes the first model fail, and others fill small windows. */
const contents = ['go', 'fall back', `${told} ${'word '.repeat(400)}`, told]

/** A history of acts upon the real rows, and what it has seen of each run. */
export class World {
  readonly #office: Office
  readonly #label = `l${crypto.randomUUID().slice(0, 8)}`
  readonly #running: ClaimedRun[] = []
  readonly #seen = new Map<string, Run>()
  readonly #labels: string[] = []
  readonly #turns: string[] = []
  readonly #ended: string[] = []
  /** Models that each claim may ask, by run and epoch. */
  readonly #mayAsk = new Map<string, readonly string[] | undefined>()

  constructor(office: Office) {
    this.#office = office
  }

  async play(act: Act): Promise<void> {
    const { engine, folder } = this.#office
    switch (act.act) {
      case 'ask': {
        const label = this.#labels[act.pick % 7] ?? (act.pick % 5 === 0 ? 'lotte:main' : `${this.#label}${act.pick}`)
        if (!this.#labels.includes(label)) this.#labels.push(label)
        const agent = ['general', 'coordinator', 'writer', 'poet', undefined][act.pick % 5]
        const principal: Principal | undefined =
          act.pick % 6 === 1 ? { kind: 'user', id: 'mia', role: 'admin' } : undefined
        const model = [...models, undefined][act.pick % 4]
        await submit(engine, {
          ...{ folder, label, content: contents[act.pick % contents.length] as string },
          ...(agent && { agent }),
          ...(model && { model }),
          ...(principal && { principal }),
          ...(act.tools && { ceiling: { tools: act.tools } }),
        }).catch(() => undefined)
        return
      }
      case 'claim': {
        const claimed = await claimNext(engine, { workerId })
        if (!claimed) return
        this.#running.push(claimed)
        this.#mayAsk.set(`${claimed.run.id}/${claimed.run.epoch}`, claimed.run.ceiling.models)
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
        const worker = {
          signal: new AbortController().signal,
          leaseAtRisk: () => false,
          claimant: () => undefined,
          start: () => undefined,
        }
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
      case 'profile':
        await writeProfile(engine, act.profile.id, profileFrom(act.profile))
        return
      case 'drop':
        await engine.store.write('policy', (tx) => deleteProfile(tx, act.id, { by: 'owner', now: 1 })).catch(isExpected)
        return
      case 'entry': {
        const { agentId, profileId, defaults, skills, servers } = act.entry
        const lists = { defaultForwardSkills: defaults, allowedForwardSkills: skills, allowedMcpServers: servers }
        await engine.store
          .write('policy', (tx) => unregisterAgent(tx, agentId, { by: 'owner', now: 1 }))
          .catch(isExpected)
        if (!act.isRemoved) await register(engine, { agentId, profileId, ...lists }).catch(isExpected)
        return
      }
      case 'pin': {
        const label = this.#pick(this.#labels, act.pick) ?? ''
        const [session] = await engine.store.read((rows) => findSessions(rows, { label, folder }))
        const id = { session: session?.id ?? '', user: act.pick % 2 ? 'mia' : '@owner', workspace: folder, global: '' }
        await pin(engine, [act.scope, id[act.scope]], act.profileId)
        return
      }
      case 'delegate': {
        const able = this.#running.filter(({ run }) => run.effectiveTools.includes('delegate'))
        const claimed = this.#pick(able, act.pick)
        if (!claimed) return
        const { agentId, forwardSkills, mcpServers, model } = act
        const lists = { ...(forwardSkills && { forwardSkills }), ...(mcpServers && { mcpServers }) }
        const value = { agentId, task: 'do it', ...lists, ...(model && { model_override: model }) }
        const call = { runId: claimed.run.id, callId: crypto.randomUUID() } as CallContext
        const tool = engine.tools.get('delegate')
        if (tool?.effect !== 'transactional') throw new Error('delegate is not transactional')
        const outcome = await engine.store.write('step', (tx) => tool.write(tx, value, call))
        await this.#checkDelegated(claimed, outcome)
        return
      }
      case 'narrate': {
        const narrator = startNarrator(engine, {
          submit: (input) => submit(engine, input),
          cancel: async () => undefined,
          onError: (error) => expect(error).toBeUndefined(),
        })
        await narrator.whenIdle(folder, AbortSignal.abort())
        await narrator.stop()
        return
      }
      case 'user':
        await engine.store.write('access', (tx) => updateUser(tx, mia(act.tools)))
    }
  }

  /** Every request that was sent since, whatever it was for: answers, summaries, fallbacks, narrations. */
  checkRequests(all: readonly ScriptedModel[]): void {
    for (const { name, requests } of all)
      for (const { id } of requests) {
        const mayAsk = this.#mayAsk.get(id.split('/').slice(0, 2).join('/'))
        if (mayAsk) expect([id, mayAsk]).toEqual([id, expect.arrayContaining([name])])
      }
  }

  /** What the caller is told holds when the child is claimed, unless something is changed meanwhile. */
  async #checkDelegated({ run: parent }: ClaimedRun, { output }: ToolOutcome): Promise<void> {
    const { status, model, skills = [], mcpServers = [] } = output as Record<string, string & string[]>
    if (status !== 'accepted') return
    const { models: mayAsk, skills: maySkill, mcpServers: mayServe } = parent.ceiling
    if (mayAsk) expect(mayAsk).toContain(model)
    if (maySkill) expectWithin(skills, maySkill)
    if (mayServe) expectWithin(mcpServers, mayServe)
  }

  /** What the profile of a run allows, told apart from the code under test. */
  async #checkProfile({ run, actor, items }: ClaimedRun): Promise<void> {
    const { store } = this.#office.engine
    const before = this.#seen.get(run.id)
    if (before) expect(run.profile).toEqual(before.profile)
    if (run.profile) {
      const { id, version } = run.profile
      const versions = await store.read((rows) => listPolicyVersions(rows, 'profile', id, 1000))
      const taken = versions.find((each) => each.version === version)?.value as ProfileValue
      const now = versions[0]?.value as ProfileValue | null
      for (const value of [taken, ...(now ? [now] : [])]) {
        const listed = [...(value.model.model ? [value.model.model] : []), ...(value.allowedModels ?? [])]
        for (const name of [actor.model.name, ...actor.model.fallbacks])
          if (listed.length > 0 && name !== null) expect([...listed, 'rehearsal']).toContain(name)
        if (value.allowedSkills)
          expectWithin(
            (run.ceiling.skills ?? ['anything']).map((name) => `skill:${name}`),
            value.allowedSkills,
          )
        if (value.allowedMcpServers) expectWithin(run.ceiling.mcpServers ?? ['anything'], value.allowedMcpServers)
        expect(run.effectiveTools.filter((name) => value.limits?.permissions?.tools.deny?.includes(name))).toEqual([])
        if (value.contextWindow) expect(actor.model.window).toBeLessThanOrEqual(value.contextWindow)
      }
    }
    if (actor.role.kind === 'agent' && run.ceiling.skills)
      expectWithin(
        actor.role.agent.skills.map(({ name }) => name),
        run.ceiling.skills,
      )
    const told = items.find(({ tells }) => tells)?.tells
    const turn = told && (await store.read((rows) => findTurn(rows, told.turnId)))
    const teller = turn && (await store.read((rows) => findRun(rows, turn.turn.runId)))
    if (teller?.ceiling.models) expectWithin(run.ceiling.models ?? ['anything'], teller.ceiling.models)
  }

  async #check(claimed: ClaimedRun): Promise<void> {
    const { engine } = this.#office
    const { run, actor, session } = claimed
    await this.#checkProfile(claimed)
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
  if (wider.ceiling.skills) expectWithin(run.ceiling.skills ?? ['anything'], wider.ceiling.skills)
  if (wider.ceiling.mcpServers) expectWithin(run.ceiling.mcpServers ?? ['anything'], wider.ceiling.mcpServers)
}

/** Profiles that are in use stay, and agents without a profile are refused. */
function isExpected(error: unknown): void {
  expect(error).toBeInstanceOf(HeddleError)
}

function isNamed(name: string, { allow, deny }: NameLists): boolean {
  return isAllowed(name, { ...(deny && { deny }), ...(allow && !kept.includes(name) && { allow }) })
}

export function lotte({ allow, deny }: NameLists): Persona {
  const lists = { ...(allow && { allow: [...allow] }), ...(deny && { deny: [...deny] }) }
  return { id: 'lotte', identity: { name: 'Lotte', soul: '' }, permissions: { tools: lists } }
}

export function mia(tools: string[] | null) {
  const role = 'admin' as const
  return {
    ...{ id: 'mia', role, isTrusted: false, tools, folder: '/here' },
    perDayUsd: null,
    createdAt: 1,
    removedAt: null,
  }
}
