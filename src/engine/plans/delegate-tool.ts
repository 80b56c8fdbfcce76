import { z } from 'zod'
import type { Ceiling } from '../../domain/access/ceiling.ts'
import { intersectCeilings } from '../../domain/access/ceiling.ts'
import {
  bareNames,
  type ForwardKind,
  forwardCeilingOfEntry,
  forwardCeilingOfProfile,
  forwardDefaults,
} from '../../domain/profiles/forward.ts'
import type { Profile } from '../../domain/profiles/profile.ts'
import type { AgentEntry } from '../../domain/profiles/registry.ts'
import { nearest } from '../../domain/text/nearest.ts'
import type { Tool, ToolOutcome } from '../../domain/tools/tool.ts'
import { delegateTool } from '../../domain/tools/tool-names.ts'
import type { Tx } from '../../store/store.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { listProfiles } from '../policies/profiles.ts'
import { startableAgents } from '../policies/registered-agent.ts'
import { readAgents } from '../policies/run-policies.ts'
import { ceilingBelow } from '../run/policy.ts'
import { beginCalledChild, childModel, findSpawner, stoppingOutcome } from '../run/spawn.ts'
import type { Engine } from '../runtime.ts'
import { composeCallBrief } from './call-brief.ts'

/** Max names in an error. */
const maxListed = 60
const names = () => z.array(z.string().trim().min(1).max(200)).max(100).optional()

const input = () =>
  z.strictObject({
    agentId: z.string().trim().min(1).max(64).describe('such as @writer'),
    task: z.string().trim().min(1).describe('everything it needs: it sees only task and context'),
    context: z.string().optional(),
    forwardSkills: names().describe('skills to hand on; left out: its default ones'),
    mcpServers: names().describe('left out: its default ones'),
    model_override: z.string().min(1).max(200).optional().describe('rarely needed; its profile may not allow it'),
  })

/** Tool that hands a task to an agent of the registry, whose profile decides on model, skills and tools. */
export function delegate(engine: Engine): Tool<z.output<ReturnType<typeof input>>> {
  return defineTool(input, {
    name: delegateTool,
    startsAgent: true,
    description:
      'Delegates a task to one of the agents. Returns at once with the model and the skills that the agent has; its ' +
      'result is delivered when it is done. In task and context, [agent_result:ID] is replaced by that full result.',
    effect: 'transactional',
    action: 'run.spawn',
    guarded: true,
    async write(transaction, value, call) {
      const tx = transaction as Tx
      const spawner = await findSpawner(tx, call)
      if (!spawner) return stoppingOutcome
      const { parent, parentSession } = spawner
      const below = ceilingBelow(parent)
      const found = await findDelegate(tx, engine, value.agentId, { folder: parentSession.folder, below })
      if ('refusal' in found) return found.refusal
      const { name, entry, profile } = found
      const skills = forward('skills', value.forwardSkills, found, below)
      if ('refusal' in skills) return skills.refusal
      const mcpServers = forward('mcpServers', value.mcpServers, found, below)
      if ('refusal' in mcpServers) return mcpServers.refusal
      const missing = skills.given.filter((skill) => !engine.agents.find(skill, parentSession.folder))
      if (missing.length > 0 && value.forwardSkills !== undefined)
        return refusalOutcome('error', `there is no skill "${missing.join('", "')}" here`)
      const requested = value.model_override ?? null
      if (requested !== null && !engine.knowsModel(requested) && !engine.freeModels.includes(requested))
        return refusalOutcome(
          'error',
          `there is no model "${requested}"; leave model_override out to use the agent's own`,
        )

      const wish = { agent: name, requested, allow: below.models, profile: profile?.value }
      const model = await childModel(tx, engine, parentSession, wish)
      if (model.model === null)
        return refusalOutcome('forbidden', `@${name} may use none of the models that you may use`)
      const reader = { agent: name, folder: parentSession.folder, requestedModel: requested, profile: profile?.value }
      const brief = await composeCallBrief(tx, engine, parentSession, { ...value, reader })
      if ('refusal' in brief) return brief.refusal
      const delegation = profile && { profileId: profile.id, skills: skills.given, mcpServers: mcpServers.given }
      const { runId, session } = await beginCalledChild(tx, engine, spawner, {
        ...{ ...brief, via: 'delegate', agent: name, call },
        options: { ...(requested !== null && { model: requested }), ...(delegation && { delegation }) },
      })
      return {
        status: 'ok',
        output: {
          ...{ status: 'accepted', runId, sessionKey: session.label },
          ...(entry && { profileId: entry.profileId }),
          ...model,
          skills: skills.given,
          ...(mcpServers.given.length > 0 && {
            mcpServers: mcpServers.given,
            note: 'MCP servers cannot be used yet; their names are kept with the run',
          }),
        },
      }
    },
  })
}

/** An agent that work can be delegated to: registered, or by its file alone. */
interface Delegate {
  name: string
  entry?: AgentEntry
  profile?: Profile
}

async function findDelegate(
  tx: Tx,
  engine: Engine,
  agentId: string,
  { folder, below }: { folder: string; below: Ceiling },
): Promise<Delegate | { refusal: ToolOutcome }> {
  const name = agentId.replace(/^@/, '')
  const agents = await readAgents(tx, engine.registry)
  const entry = agents.find((each) => each.agentId === `@${name}`)
  if (entry) {
    const [profile] = await listProfiles(tx, { ids: [entry.profileId] })
    if (profile) return { name, entry, profile }
    return { refusal: refusalOutcome('error', `the profile of @${name} no longer exists; use another agent`) }
  }
  const startable = await startableAgents(tx, engine, folder, below)
  if (startable.includes(name)) return { name }
  const known = startable.map((each) => `@${each}`)
  const close = nearest(`@${name}`, known)
  const listed = known.slice(0, maxListed)
  const more = known.length > listed.length ? `, and ${known.length - listed.length} more` : ''
  const error = `there is no agent "@${name}"${close ? `; did you mean ${close}?` : ''}`
  return {
    refusal: refusalOutcome('error', `${error} There are: ${listed.join(', ') || 'none'}${more}`, { known: listed }),
  }
}

const kinds: Record<ForwardKind, string> = { skills: 'skill', mcpServers: 'MCP server' }

/** What is forwarded: what is asked for, if all of it is allowed; else the default, as far as it is allowed. */
function forward(
  kind: ForwardKind,
  asked: readonly string[] | undefined,
  { name, entry, profile }: Delegate,
  below: Ceiling,
): { given: string[] } | { refusal: ToolOutcome } {
  const registered = entry ? forwardCeilingOfEntry(entry) : { skills: [], mcpServers: [] }
  const limits = [registered, below, ...(profile ? [forwardCeilingOfProfile(profile.value)] : [])]
  const allowed = intersectCeilings(...limits)[kind] ?? []
  if (asked === undefined)
    return { given: entry ? forwardDefaults(entry)[kind].filter((each) => allowed.includes(each)) : [] }
  const given = bareNames(kind, asked)
  const refused = given.filter((each) => !allowed.includes(each))
  if (refused.length === 0) return { given }
  const which = `the ${kinds[kind]}${refused.length > 1 ? 's' : ''} "${refused.join('", "')}"`
  return {
    refusal: refusalOutcome(
      'forbidden',
      `${which} may not be forwarded to @${name}; allowed: ${allowed.slice(0, maxListed).join(', ') || 'none'}`,
      { allowed: allowed.slice(0, maxListed) },
    ),
  }
}

function refusalOutcome(status: 'error' | 'forbidden', error: string, more: object = {}): ToolOutcome {
  return { status, output: { status, error, ...more } }
}
