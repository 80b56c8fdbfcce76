import { type Agent, builtInAgents } from '../../domain/agent.ts'
import { type Decision, minHashLength } from '../../domain/approval.ts'
import { partRefusal } from '../../domain/attachment.ts'
import { UsageError } from '../../domain/errors.ts'
import type { Part } from '../../domain/message.ts'
import type { Model } from '../../domain/model.ts'
import { nearest } from '../../domain/text/nearest.ts'

/** Names of the agents in a folder. */
export interface AgentLookup {
  /** Usable agents. */
  names(): string[]
  /** The agent of this name, if it cannot be used; its diagnostics say why. */
  unusable(name: string): Agent | undefined
}

/** Parses a leading `@name …` as the addressed agent, in any case; any other `@` is plain text. */
export function parseAddress(
  text: string,
  agent: string | undefined,
  agents: AgentLookup,
): { content: string; agent?: string } {
  const [, written = '', content = ''] = /^\s*@([\w-]+)(?:[\s,:]+(\S[\s\S]*)?)?$/i.exec(text) ?? []
  // Names of agents are in lower case.
  const name = written.toLowerCase()
  if (agent !== undefined || name === '') return { content: text }
  const isAgent = agents.names().includes(name) || agents.unusable(name) !== undefined
  if (isAgent && content === '') throw nothingAsked(name)
  return isAgent ? { content, agent: name } : { content: text }
}

function nothingAsked(name: string): UsageError {
  return new UsageError(
    `no message for @${name}`,
    `write it after the name: heddle ask "@${name} …"`,
    'missing_argument',
  )
}

/** Throws if an agent does not exist or cannot be used. Called before the input is stored. */
export function assertAgentUsable(name: string, agents: AgentLookup): void {
  const names = agents.names()
  if (names.includes(name)) return
  const unusable = agents.unusable(name)
  if (unusable) throw unusableAgent(unusable)
  const close = nearest(name, names)
  throw new UsageError(
    `there is no agent "@${name}"`,
    close ? `did you mean @${close}?` : 'heddle agents lists them',
    'agent_unknown',
  )
}

/** Why the agent in `agent.default` cannot answer; undefined if it can. */
export function defaultAgentProblem(name: string, agents: AgentLookup): UsageError | undefined {
  // Asked for each input: those that are always there need no look at the folders of agents.
  if (builtInAgents.some((agent) => agent.name === name)) return undefined
  const names = agents.names()
  if (names.includes(name)) return undefined
  const unusable = agents.unusable(name)
  if (unusable) return unusableAgent(unusable)
  const close = nearest(name, names)
  const set = `heddle config set agent.default @${close ?? 'coordinator'}`
  return new UsageError(
    `agent.default is @${name}, but there is no such agent`,
    close ? `did you mean @${close}? ${set}` : `name one that heddle agents lists: ${set}`,
    'agent_unknown',
  )
}

function unusableAgent({ name, diagnostics, path }: Agent): UsageError {
  const [first] = diagnostics
  const location = first?.line === undefined ? path : `${path}:${first.line}`
  return new UsageError(
    `@${name} cannot be used: ${first?.message ?? 'its file is broken'}`,
    `${first?.remedy ?? 'fix it'} (${location})`,
    'agent_unusable',
  )
}

/** Throws if the model does not support an attachment. */
export function assertPartSupported(part: Part, model: Model): void {
  const why = partRefusal(part, model)
  if (why !== undefined)
    throw new UsageError(`${why}.`, 'leave it out, or name a model that can: heddle models', 'part_refused')
}

/** A yes from any client must include the hash of the question it was shown, since the question may have changed. */
export function assertHashGiven(approval: string, { answer, hash }: Decision): void {
  if (answer === 'no' || hash !== undefined) return
  throw new UsageError(
    'approving needs the hash of what was shown',
    `heddle approvals --json and GET /v1/approvals tell the hash of ${approval}; at least ${minHashLength} of its characters`,
    'bad_request',
  )
}
