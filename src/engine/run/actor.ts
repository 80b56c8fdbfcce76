import { rankOf } from '../../domain/access/authorize.ts'
import { type Ceiling, intersectCeilings } from '../../domain/access/ceiling.ts'
import { actingFor, type RunAccess } from '../../domain/access/principal.ts'
import type { Permissions, Persona } from '../../domain/persona.ts'
import { forwardCeilingOfEntry, forwardDefaults } from '../../domain/profiles/forward.ts'
import type { AgentEntry } from '../../domain/profiles/registry.ts'
import type { Run, RunError } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import { findPersona } from '../../store/rows/personas.ts'
import { findRun } from '../../store/rows/runs.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { type ChosenModel, chooseModel } from '../model/choose-model.ts'
import { toolSpecs } from '../model/model-request.ts'
import { type AgentRole, isBuiltIn, roleOf } from '../model/role.ts'
import { type RunPolicies, readRunPolicies } from '../policies/run-policies.ts'
import { profileCeiling, profileOfRun, type RunProfile, smallestLimit } from '../policies/run-profile.ts'
import type { Engine } from '../runtime.ts'
import type { CallingRun, NewChild } from './calls/calling-run.ts'
import type { Actor, ProfileLimits } from './claimed-run.ts'
import { ceilingBelow, ceilingOf, effectiveTools } from './policy.ts'
import { accessOf } from './sender.ts'

/** Resolves who a run is, once per claim and in its transaction; nothing looks it up again while the claim lasts. */
export async function resolveActor(tx: Tx, engine: Engine, run: Run, session: Session): Promise<Actor> {
  return decideActor(tx, engine, run, await readActor(tx, engine, { run, session }))
}

/** Stored facts that decide the actor of a run, independent of its inputs. */
export interface StoredActor {
  folder: string
  persona: Persona | null
  /** Personas that bind its thread; undefined for one that is gone. */
  bounds: (Persona | undefined)[]
  parent: Run | undefined
  access: RunAccess
  policies: RunPolicies
}

/** Reads who a run is, all at once. */
export async function readActor(
  tx: Tx,
  { registry }: Engine,
  { run, session, ...known }: { run: Run; session: Session; parent?: Run },
): Promise<StoredActor> {
  const { id: sessionId, folder, personaId, boundBy, principalId } = session
  const access = accessOf(tx, run, { principalId })
  const [persona, bounds, parent, policies] = await Promise.all([
    personaId === null ? null : findPersona(tx, personaId),
    Promise.all(boundBy.map((id) => findPersona(tx, id))),
    known.parent ?? (run.parentRunId === null ? undefined : findRun(tx, run.parentRunId)),
    access.then(({ principal }) => readRunPolicies(tx, registry, { sessionId, principal, folder })),
  ])
  return { folder, persona: persona ?? null, bounds, parent, access: await access, policies }
}

/** The same for a new child. All that one transaction starts differ by nothing but their ids, and perhaps by their personas. */
export async function readChildActor(
  tx: Tx,
  engine: Engine,
  caller: CallingRun,
  { run, session }: NewChild,
): Promise<StoredActor> {
  const { access, ...actor } = await caller.once(`actor with persona ${session.personaId}`, () =>
    readActor(tx, engine, { run, session, parent: caller.run }),
  )
  return { ...actor, access: { ...access, principal: { kind: 'run', id: run.id, of: actingFor(access.principal) } } }
}

/** Fields of a run that decide its actor, besides what is stored. */
export type ActorQuery = Pick<
  Run,
  | 'agent'
  | 'modelRequested'
  | 'options'
  | 'profile'
  | 'epoch'
  | 'depth'
  | 'parentRunId'
  | 'ceiling'
  | 'effectiveTools'
  | 'subagent'
>

/** Decides who a run is that was asked like this. */
export async function decideActor(
  rows: Reading,
  engine: Engine,
  run: ActorQuery,
  { folder, persona, bounds, parent, access, policies }: StoredActor,
): Promise<Actor> {
  const { policy, tools: known } = engine
  const agent = run.agent ?? defaultAgentFor(access, engine.defaultAgent)
  const entry = policies.agents.find(({ agentId }) => agentId === `@${agent}`)
  const found = await profileOfRun(rows, { ...run, agent }, policies, entry)
  const profile = found && 'gone' in found ? null : found
  const permissions = [
    ...(persona ? [persona.permissions] : []),
    // A thread that is bound by a persona which is gone may do nothing.
    ...bounds.map((each) => each?.permissions ?? nothing),
    ...(profile?.limits ?? []).flatMap(({ limits }) => limits?.permissions ?? []),
    ...(run.options.permissions ?? []),
  ]
  const given = givenCeiling(run, parent)
  const own = intersectCeilings(
    profileCeiling(engine, profile?.limits ?? []),
    entry ? forwardCeilingOfEntry(entry) : {},
  )
  const ceiling = ceilingOf(policy, known, run, { permissions, access, given: [given, own] })
  const isRegistered =
    entry !== undefined ||
    run.options.delegation !== undefined ||
    // It was registered when the run began.
    (run.profile !== null && !isBuiltIn(agent) && !engine.agents.find(agent, folder))
  const registered = isRegistered ? registeredAgent(run, entry, { profile, ceiling }) : undefined
  const role =
    found && 'gone' in found
      ? { kind: 'gone' as const, name: agent, error: profileGone(found.gone, agent) }
      : mayWork(roleOf(engine.agents, agent, folder, registered), given, isRegistered)
  const tools = effectiveTools(policy, known, run, { role, ceiling })
  return {
    ...{ agent, role, persona, permissions, access, policies, ceiling },
    profile: profile && { id: profile.id, version: profile.version },
    profilePrompt: registered ? null : (profile?.value.systemPrompt ?? null),
    limits: profileLimits(
      profile,
      run.options.maxTokens ?? persona?.defaultModelConfig?.maxTokens ?? engine.limits.maxOutputTokens,
    ),
    model: modelOf(engine, run, { role, persona, profile, ceiling }),
    tools: toolSpecs(known, tools),
  }
}

const nothing: Permissions = { tools: { allow: [] } }

/** The coordinator only delegates: who may start no agents talks with one that works alone. */
function defaultAgentFor({ principal }: RunAccess, configured: string): string {
  const rank = rankOf(principal)
  return rank === 'public' || rank === 'operator' ? 'general' : configured
}

/** Limits that a run got from the run or job that started it. */
function givenCeiling(run: ActorQuery, parent: Run | undefined): Ceiling {
  return intersectCeilings(run.options.ceiling ?? {}, parent ? ceilingBelow(parent) : {})
}

/** What the registry says of an agent, with the skills that are forwarded to it: those of its delegation, or the default. */
function registeredAgent(
  { options: { delegation }, ceiling: { skills: before = [] } }: ActorQuery,
  entry: AgentEntry | undefined,
  { profile, ceiling }: { profile: RunProfile | null; ceiling: Ceiling },
) {
  const { skills } = delegation ?? (entry ? forwardDefaults(entry) : { skills: before })
  return {
    instructions: profile?.value.systemPrompt,
    skills: skills.filter((name) => ceiling.skills?.includes(name) !== false),
  }
}

/** An agent that has only a file is a skill: the run that starts it must be allowed to use it. */
function mayWork(role: AgentRole, { skills }: Ceiling, isRegistered: boolean): AgentRole {
  if (role.kind !== 'agent' || isRegistered || skills?.includes(role.agent.name) !== false) return role
  return { kind: 'gone', name: role.agent.name, error: agentNotAllowed(role.agent.name, skills) }
}

function agentNotAllowed(name: string, allowed: readonly string[]): RunError {
  return {
    code: 'agent_not_allowed',
    message: `the run that started "${name}" may not use it`,
    remedy: allowed.length === 0 ? 'its profile allows no skills' : `its profile allows: ${allowed.join(', ')}`,
  }
}

function profileGone(id: string, agent: string): RunError {
  return {
    code: 'profile_gone',
    message: `the profile ${id} of @${agent} no longer exists`,
    remedy: 'bring it back (heddle profiles set), or register the agent with another one: heddle profiles lists them',
  }
}

/** The least that the versions of a profile set; of the tokens of a reply, no more than are asked for. */
function profileLimits(profile: RunProfile | null, askedTokens: number): ProfileLimits {
  const limits = profile?.limits ?? []
  const timeoutSeconds = smallestLimit(limits, (value) => value.limits?.timeoutSeconds)
  const maxTokens = smallestLimit(limits, (value) => value.limits?.maxTokens)
  return {
    ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
    ...(maxTokens !== undefined && { maxTokens: Math.min(maxTokens, askedTokens) }),
  }
}

function modelOf(
  engine: Engine,
  run: ActorQuery,
  {
    role,
    persona,
    profile,
    ceiling,
  }: { role: AgentRole; persona: Persona | null; profile: RunProfile | null; ceiling: Ceiling },
): ChosenModel {
  const limits = profile?.limits ?? []
  const window = smallestLimit(limits, ({ contextWindow }) => contextWindow)
  const chosen = chooseModel(engine, {
    requested: requestedModel(run, role),
    profileModel: profile?.value.model.model,
    persona,
    allow: { owner: engine.policy.models, profile: profileCeiling(engine, limits).models, ceiling: ceiling.models },
  })
  return { ...chosen, ...(window !== undefined && { window }) }
}

/** The model that was asked for: by the spawning call or the input, else by the agent's file at the first claim. */
function requestedModel({ modelRequested, epoch }: ActorQuery, role: AgentRole): string | null {
  return modelRequested ?? (epoch === 0 && role.kind === 'agent' ? role.agent.model : null)
}
