import type { PinView } from '../api/profiles.ts'
import { HeddleError } from '../domain/errors.ts'
import { type PinScope, pinScopes } from '../domain/profiles/pin.ts'
import { nearest } from '../domain/text/nearest.ts'
import { type ChatContext, defineCommand } from './command.ts'
import { factsBlock, tableOutcome, textOutcome } from './outcome.ts'
import type { Words } from './words.ts'

const maxListed = 40
const scopeFlags = ['--session', '--user', '--workspace', '--global'] as const
const scopeUsage = `[${scopeFlags.join('|')}]`

/** Commands about agents: those of the registry and of files, and which one is pinned. */
export const agentCommands = [
  defineCommand({
    name: 'agents',
    usage: '/agents',
    summary: 'agents you can give work to, from the registry and from files',
    example: '/agents',
    action: 'agent.list',
    async run(context) {
      const agents = await knownAgents(context)
      const left = agents.length - maxListed
      return tableOutcome(agents.slice(0, maxListed), {
        columns: {
          agent: ({ agentId }) => agentId,
          profile: ({ profileId }) => profileId,
          for: ({ description }) => description,
        },
        wide: 'for',
        empty: 'no agents here    /agents register @writer | profile:writer:v1 | Writes clear docs.',
        next: left > 0 ? `${left} more: heddle agents` : '/agents show @writer    /agents pin @writer',
      })
    },
  }),
  defineCommand({
    name: 'agents show',
    usage: '/agents show @agent',
    summary: 'one agent: its profile, tags, and what may be forwarded to it',
    example: '/agents show @writer',
    action: 'agent.list',
    parse: agentIdIn,
    async run(context, agentId) {
      const agents = await knownAgents(context)
      const found = agents.find((each) => each.agentId === agentId)
      if (!found) throw unknownAgent(agentId, agents)
      const { entry } = found
      return {
        blocks: [
          factsBlock({
            agent: agentId,
            for: found.description,
            profile: entry?.profileId ?? 'the default one: it is a file, and not in the registry',
            tags: entry?.tags.join(', '),
            skills: entry && forwarded(entry.defaultForwardSkills, entry.allowedForwardSkills),
            mcp: entry && forwarded(entry.defaultMcpServers, entry.allowedMcpServers),
          }),
        ],
        ...(entry && { next: `/agents pin ${agentId}` }),
      }
    },
  }),
  defineCommand({
    name: 'agents register',
    usage: '/agents register @agent | profile | description',
    summary: 'add an agent to the registry, with an existing profile',
    example: '/agents register @editor | profile:writer:v1 | Shortens texts without losing a fact.',
    action: 'agent.register',
    parse(words) {
      const [agentId = '', profileId = '', description = ''] = words.parts(['agent', 'profile', 'description'])
      return { agentId, profileId, description }
    },
    async run({ app }, entry) {
      const { version } = await app.registerAgent(entry)
      return textOutcome(
        `${entry.agentId} is registered with ${entry.profileId}; the registry is at version ${version}`,
        {
          next: `/agents pin ${entry.agentId}`,
        },
      )
    },
  }),
  defineCommand({
    name: 'agents unregister',
    usage: '/agents unregister @agent',
    summary: 'remove an agent from the registry; its profile and its file stay',
    example: '/agents unregister @editor',
    action: 'agent.register',
    parse: agentIdIn,
    async run({ app }, agentId) {
      const { version } = await app.unregisterAgent(agentId)
      return textOutcome(`${agentId} is no longer registered; the registry is at version ${version}`, {
        next: '/agents',
      })
    },
  }),
  defineCommand({
    name: 'agents pin',
    usage: `/agents pin @agent ${scopeUsage}`,
    summary: "make an agent's profile the default, here in this session or more widely",
    example: '/agents pin @writer --session',
    action: 'pin.set',
    parse: (words) => ({ scope: scopeIn(words), agentId: agentIdIn(words) }),
    async run({ app, folder, session }, { scope, agentId }) {
      const pin = await app.setPin(folder, { scope, agentId, ...(scope === 'session' && { session }) })
      return textOutcome(`${agentId} (${pin.profileId}) is pinned for ${placeWords(scope, session)}`, {
        next: '/agents pins',
      })
    },
  }),
  defineCommand({
    name: 'agents unpin',
    usage: `/agents unpin ${scopeUsage}`,
    summary: 'remove a pin',
    example: '/agents unpin --session',
    action: 'pin.set',
    parse: scopeIn,
    async run({ app, folder, session }, scope) {
      const { removed } = await app.removePin(folder, { scope, ...(scope === 'session' && { session }) })
      const place = placeWords(scope, session)
      return textOutcome(removed ? `nothing is pinned for ${place} any more` : `nothing was pinned for ${place}`, {
        next: '/agents pins',
      })
    },
  }),
  defineCommand({
    name: 'agents pins',
    usage: '/agents pins',
    summary: 'the pins here, which one is used, and why',
    example: '/agents pins',
    action: 'pin.read',
    async run({ app, folder, session }) {
      const isNew = (await app.sessions({ folder, label: session })).rows.length === 0
      const { pins } = await app.pins(folder, isNew ? undefined : session)
      const { blocks } = tableOutcome<PinView>(pins, {
        columns: {
          '': ({ effective }) => (effective ? '*' : ''),
          scope: ({ scope }) => scope,
          agent: ({ agentId }) => agentId,
          profile: ({ profileId }) => profileId,
        },
        wide: 'profile',
        empty: 'nothing is pinned here: the default profile is used    /agents pin @writer',
      })
      // Facts are wrapped, and a cell of a table is cut.
      const reasons = factsBlock(Object.fromEntries(pins.map(({ scope, why }) => [scope, why])))
      return { blocks: pins.length === 0 ? blocks : [...blocks, reasons] }
    },
  }),
  defineCommand({
    name: 'skills',
    usage: '/skills',
    summary: 'the files of agents that can be used here, with what they are for',
    example: '/skills',
    action: 'agent.list',
    run: async ({ app, folder }) =>
      tableOutcome(await app.agents(folder), {
        columns: { skill: ({ name }) => `@${name}`, for: ({ description }) => description },
        wide: 'for',
        empty: 'no skills here    heddle agents new',
      }),
  }),
]

function agentIdIn(words: Words): string {
  const word = words.word('agent')
  return word.startsWith('@') ? word : `@${word}`
}

function scopeIn(words: Words): PinScope {
  const flag = words.oneFlag(scopeFlags)
  return pinScopes.find((scope) => `--${scope}` === flag) ?? 'session'
}

function placeWords(scope: PinScope, session: string): string {
  if (scope === 'session') return `session ${session}`
  if (scope === 'user') return 'you'
  return scope === 'workspace' ? 'this folder' : 'everything'
}

/** Agents of the registry, then those that are only files. */
export async function knownAgents({ app, folder }: Pick<ChatContext, 'app' | 'folder'>) {
  const { registry } = await app.agentRegistry()
  const ids = new Set(registry.agents.map(({ agentId }) => agentId))
  const all = await app.agents(folder)
  const described = new Map(all.map(({ name, description }) => [`@${name}`, description]))
  const files = all.filter(({ name }) => !ids.has(`@${name}`))
  return [
    ...registry.agents.map((entry) => {
      const { agentId, profileId } = entry
      const description = described.get(agentId) ?? entry.description
      return { agentId, profileId, description, entry }
    }),
    ...files.map(({ name, description }) => ({ agentId: `@${name}`, profileId: null, description, entry: undefined })),
  ]
}

function forwarded(usual: readonly string[], allowed: readonly string[]): string {
  const names = allowed.length > 0 ? allowed : usual
  if (names.length === 0) return 'none may be forwarded'
  return `${names.join(', ')}${usual.length > 0 ? `; by default ${usual.join(', ')}` : ''}`
}

function unknownAgent(agentId: string, agents: readonly { agentId: string }[]): HeddleError {
  const close = nearest(
    agentId,
    agents.map((each) => each.agentId),
  )
  return new HeddleError(
    'agent_unknown',
    `there is no agent ${agentId}`,
    close ? `did you mean ${close}?` : '/agents lists them',
  )
}
