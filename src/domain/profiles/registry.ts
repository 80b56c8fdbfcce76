import { z } from 'zod'
import { builtInAgents } from '../agent.ts'
import { lazy } from '../lazy.ts'
import { isStorable } from '../text/storable.ts'
import { type PolicyProblem, problemsOf } from './problem.ts'

/** Id of the policy record that holds the registry. */
export const registryId = 'agent-registry:default'

const agentIdPattern = /^@[a-z0-9_-]{2,32}$/
const maxDescription = 300
const maxAgents = 10_000

/** Line breaks, controls, marks of direction and all that is not seen. */
const unseen = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u

const line = (max: number) =>
  z
    .string()
    .refine(isStorable, 'must be well-formed text')
    .transform((text) => text.normalize('NFKC').trim())
    .refine((text) => text !== '', 'must not be empty')
    .refine((text) => text.length <= max, `must have at most ${max} characters`)
    .refine((text) => !unseen.test(text), 'must be one line without invisible characters')

const names = () => z.array(line(200)).max(100, 'must have at most 100 names').default([])

/** An agent that work can be delegated to. */
const agentEntry = lazy(() =>
  z.strictObject({
    agentId: z
      .string()
      .regex(agentIdPattern, 'must be @ and 2 to 32 small letters, digits, _ and -, such as @writer')
      .refine((id) => !isTaken(id), 'is the name of an agent that is always there'),
    profileId: z.string(),
    description: line(maxDescription),
    defaultForwardSkills: names(),
    /** Left out: nothing may be forwarded. */
    allowedForwardSkills: names(),
    defaultMcpServers: names(),
    allowedMcpServers: names(),
    tags: z.array(line(40)).max(20, 'must have at most 20 tags').default([]),
  }),
)
export type AgentEntry = z.infer<ReturnType<typeof agentEntry>>
/** An entry as it is written: lists may be left out. */
export type AgentEntryInput = z.input<ReturnType<typeof agentEntry>>

const agentRegistry = lazy(() =>
  z.strictObject({
    version: z.literal(1, 'must be 1'),
    agents: z.array(agentEntry()).max(maxAgents, `must have at most ${maxAgents} agents`),
  }),
)
export type AgentRegistry = z.infer<ReturnType<typeof agentRegistry>>

export const emptyRegistry: AgentRegistry = { version: 1, agents: [] }

/** Reads a registry; all that is wrong with it at once, each problem with its path. */
export function checkRegistry(
  value: unknown,
  profileIds: ReadonlySet<string>,
): { registry: AgentRegistry; problems: [] } | { registry?: undefined; problems: PolicyProblem[] } {
  const read = agentRegistry().safeParse(value)
  const problems = [...(read.success ? [] : problemsOf(read.error)), ...problemsBetween(value, profileIds)]
  return read.success && problems.length === 0 ? { registry: read.data, problems: [] } : { problems }
}

/** What no entry shows by itself: ids that occur twice, and profiles that do not exist. Looks at whatever it is given. */
function problemsBetween(value: unknown, profileIds: ReadonlySet<string>): PolicyProblem[] {
  const agents: unknown = (value as { agents?: unknown } | null | undefined)?.agents
  if (!Array.isArray(agents)) return []
  const first = new Map<string, number>()
  return agents.slice(0, maxAgents).flatMap((entry: unknown, at) => {
    const { agentId, profileId } = (entry ?? {}) as { agentId?: unknown; profileId?: unknown }
    const problems: PolicyProblem[] = []
    if (typeof agentId === 'string') {
      const before = first.get(agentId)
      if (before === undefined) first.set(agentId, at)
      else problems.push({ path: `agents[${at}].agentId`, message: `is the same as agents[${before}].agentId` })
    }
    if (typeof profileId === 'string' && !profileIds.has(profileId))
      problems.push({ path: `agents[${at}].profileId`, message: 'is not an existing profile' })
    return problems
  })
}

function isTaken(id: string): boolean {
  return ['narrator', ...builtInAgents.map(({ name }) => name)].includes(id.slice(1))
}
