import type { AgentApp, AgentFileView, AgentView, SkillView } from '../api/agents.ts'
import { actingFor, isOwner } from '../domain/access/principal.ts'
import { type Agent, builtInAgents, isLive } from '../domain/agent.ts'
import { HeddleError } from '../domain/errors.ts'
import { listAgents } from '../domain/profiles/agent-index.ts'
import { bareNames, forwardCeilingOfEntry, forwardDefaults } from '../domain/profiles/forward.ts'
import type { Profile } from '../domain/profiles/profile.ts'
import type { AgentEntry } from '../domain/profiles/registry.ts'
import { nearest } from '../domain/text/nearest.ts'
import { isAllowed } from '../domain/tools/permission.ts'
import { forbiddenForAgents } from '../domain/tools/tool-names.ts'
import type { ChosenModel } from '../engine/model/choose-model.ts'
import { listProfiles } from '../engine/policies/profiles.ts'
import { readRunPolicies } from '../engine/policies/run-policies.ts'
import { type ActorQuery, decideActor } from '../engine/run/actor.ts'
import { assertAgentUsable } from '../engine/run/check-input.ts'
import type { Actor } from '../engine/run/claimed-run.ts'
import { approvalReason } from '../engine/run/policy.ts'
import { userOf } from '../engine/run/sender.ts'
import type { AppAgents } from './agents.ts'
import { readEntries, withEntries } from './engine/registered-agents.ts'
import type { AppEngine } from './engine.ts'
import type { Caller } from './guard/caller.ts'

/** Max characters of instructions that are shown. */
const maxInstructions = 20_000

export function agentApp(engine: AppEngine, agents: AppAgents, caller: Caller): AgentApp {
  const { store } = engine
  const listed = (entries: readonly AgentEntry[], folder: string) => [
    ...builtInAgents.map((agent) => ({ ...agent, tags: [] })),
    ...listAgents(entries, engine.agents.list(folder)),
  ]
  return {
    agents: async (folder) => listed(await readEntries(engine), folder),
    async agent(folder, written) {
      const name = written.replace(/^@/, '')
      const all = agents.look(folder).agents.filter((agent) => agent.name === name)
      const file = all.find(isLive) ?? all[0]
      await engine.prepare()
      const { actor, entries, profileModel } = await actorOf(engine, caller, { name, folder })
      const named = listed(entries, folder)
      const line = named.find((agent) => agent.name === name) ?? file
      if (!line) throw noAgent(name, named)
      const entry = entries.find(({ agentId }) => agentId === `@${name}`)
      return viewAgent(engine, actor, { line, file, entry, profileModel })
    },
    async skills(folder) {
      const { agents: files, diagnostics } = agents.look(folder)
      const entries = await readEntries(engine)
      const profiles = await store.read((rows) => listProfiles(rows))
      return {
        skills: files.map((file) => viewSkill(file, entries, profiles)),
        diagnostics: [...diagnostics],
        openProfiles: profiles.flatMap(({ id, value }) => (value.allowedSkills ? [] : [id])),
      }
    },
    checkAgent: async (folder, name) =>
      assertAgentUsable(name, withEntries(agents.askable(folder), await readEntries(engine))),
  }
}

/** The actor of a run that would call this agent now, outside of any session. */
async function actorOf(engine: AppEngine, caller: Caller, { name, folder }: { name: string; folder: string }) {
  const principal = actingFor(caller.principal)
  const asked: ActorQuery = {
    ...{ agent: name, modelRequested: null, options: {}, profile: null, epoch: 0, depth: 0 },
    ...{ parentRunId: null, ceiling: {}, effectiveTools: [], subagent: null },
  }
  return engine.store.read(async (rows) => {
    const policies = await readRunPolicies(rows, engine.registry, { sessionId: undefined, principal, folder })
    const tools = (await userOf(rows, caller.text))?.tools ?? null
    const access = { principal, tools, isPrivate: isOwner(caller.principal) }
    const stored = { folder, persona: null, bounds: [], parent: undefined, access, policies }
    const actor = await decideActor(rows, engine, asked, stored)
    const [profile] = actor.profile ? await listProfiles(rows, { ids: [actor.profile.id] }) : []
    return { actor, entries: policies.agents, profileModel: profile?.value.model.model }
  })
}

interface FoundAgent {
  line: Pick<AgentView, 'name' | 'description'> & { tags?: readonly string[] }
  file: Agent | undefined
  entry: AgentEntry | undefined
  /** The model that its profile names. */
  profileModel: string | undefined
}

function viewAgent(engine: AppEngine, actor: Actor, { line, file, entry, profileModel }: FoundAgent): AgentView {
  const { role, profile, policies, tools, model } = actor
  const working = role.kind === 'agent' ? role.agent : undefined
  const has = new Set(tools.map(({ name }) => name))
  return {
    ...{ name: line.name, description: line.description, tags: line.tags ?? [] },
    file: file ? viewFile(file) : null,
    entry: entry ?? null,
    profile: profile && { ...profile, why: entry ? 'the registry gives it this profile' : policies.pins.why },
    tools: [...has].map((name) => ({ name, asks: approvalReason(engine.policy, name, actor) ?? null })),
    withheld: (file?.tools ?? [])
      .filter((tool) => !has.has(tool))
      .map((tool) => ({ tool, why: whyWithheld(engine, actor, tool) })),
    model: viewModel(model, profileModel),
    instructions: working ? working.body.trim().slice(0, maxInstructions) : null,
    skills: working?.skills.map(({ name }) => name) ?? [],
    ...(role.kind === 'gone' && { error: role.error }),
  }
}

function viewModel(
  { name, fallbacks, clamped, requested }: ChosenModel,
  profileModel: string | undefined,
): AgentView['model'] {
  const asked = requested === null ? profileModel : requested
  const named = requested === null ? 'its profile names it' : 'its file names it'
  return { name, why: asked === undefined ? 'the default model' : named, fallbacks, ...(clamped && { clamped }) }
}

/** Why an agent does not get a tool that its file asks for. */
function whyWithheld({ tools, policy }: AppEngine, { role, permissions }: Actor, tool: string): string {
  if (role.kind === 'gone') return 'it cannot be used'
  if (!tools.has(tool)) return 'this Heddle has no such tool; heddle doctor may say why'
  if (forbiddenForAgents.includes(tool)) return 'agents that are defined by a file cannot use it'
  if (!isAllowed(tool, policy)) return 'tools.allow or tools.deny in heddle.yaml'
  if (permissions.some((each) => !isAllowed(tool, each.tools))) return 'its profile does not allow it'
  return 'you may not use it'
}

function viewFile({ body: _, extra: __, ...file }: Agent): AgentFileView {
  return file
}

function viewSkill(file: Agent, entries: readonly AgentEntry[], profiles: readonly Profile[]): SkillView {
  const isHere = isLive(file)
  return {
    ...viewFile(file),
    givenTo: isHere ? entries.flatMap((entry) => givenBy(entry, file.name)) : [],
    profiles: profiles.flatMap(({ id, value: { allowedSkills } }) =>
      allowedSkills && bareNames('skills', allowedSkills).includes(file.name) ? [id] : [],
    ),
  }
}

function givenBy(entry: AgentEntry, skill: string): SkillView['givenTo'] {
  const { agentId } = entry
  if (forwardDefaults(entry).skills.includes(skill)) return [{ agentId, when: 'always' }]
  return forwardCeilingOfEntry(entry).skills.includes(skill) ? [{ agentId, when: 'asked' }] : []
}

function noAgent(name: string, known: readonly { name: string }[]): HeddleError {
  const close = nearest(
    name,
    known.map((agent) => agent.name),
  )
  const remedy = close ? `did you mean @${close}?` : 'heddle agents lists them'
  return new HeddleError('not_found', `there is no agent @${name.slice(0, 40)} here`, remedy)
}
