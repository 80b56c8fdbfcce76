import type { ProviderRequest, WireMessage } from './provider-wire.ts'

/** A request as a mediocre model understands it: its role, its task and its progress. */
export interface MediocreRequest {
  part: 'coordinator' | 'planner' | 'worker'
  /** Task of the user or of the requester. */
  task: string
  /** Last message to the model. */
  lastMessage: string
  /** Tool calls made for this task, oldest first. */
  made: { name: string; answer: string }[]
  /** Names of its tools. */
  tools: string[]
  /** Names of the agents in its prompt. */
  agents: string[]
  /** Max tokens of the reply. */
  maxTokens: number
  /** Pseudo-random number from 0 to `below` (exclusive), the same for the same seed and task. */
  chance(below: number): number
}

const defaultTokens = 4096

/** Reads a request as a model would: only from its tools and messages. */
export function readMediocreRequest({ messages, tools, maxTokens }: ProviderRequest, seed: number): MediocreRequest {
  const names = tools.map(({ name }) => name)
  const part = names.includes('spawn_agent') ? 'coordinator' : names.includes('plan_tasks') ? 'planner' : 'worker'
  const conversation = messages.filter(({ role }) => role !== 'system')
  const last = conversation.findLastIndex(({ role }) => role === 'user')
  const before = conversation.findLastIndex(({ role }, at) => at < last && role !== 'user')
  const lastMessage = textOf(conversation.slice(before + 1, last + 1))
  const task =
    part === 'coordinator'
      ? lastUserMessage(conversation)
      : (conversation.find(({ role }) => role === 'user')?.content ?? '')
  return {
    part,
    task,
    lastMessage,
    // A coordinator has earlier turns; the others have one turn, in which they may be steered.
    made: callsIn(part === 'coordinator' ? conversation.slice(last + 1) : conversation),
    tools: names,
    agents: agentsIn(textOf(messages.filter(({ role }) => role === 'system'))),
    maxTokens: maxTokens ?? defaultTokens,
    chance: (below) => textHash(`${seed} ${task}`) % below,
  }
}

/** Whether the message comes from the runtime, not from a user. */
export function isNews(text: string): boolean {
  return /\[agent_result:\d+\]|\bplan:\d+\b|all started agents/.test(text)
}

/** Whether a call was refused because its input could not be parsed. */
export function isUnreadable({ answer }: MediocreRequest['made'][number]): boolean {
  return answer.includes('invalid input for ')
}

/** Last message of the user. */
function lastUserMessage(conversation: readonly WireMessage[]): string {
  return conversation.findLast(({ role, content }) => role === 'user' && !isNews(content))?.content ?? ''
}

function callsIn(conversation: readonly WireMessage[]): MediocreRequest['made'] {
  const answers = new Map(
    conversation.flatMap(({ callId, content }) => (callId === null ? [] : [[callId, content] as const])),
  )
  return conversation.flatMap(({ calls }) => calls.map(({ id, name }) => ({ name, answer: answers.get(id) ?? '' })))
}

function textOf(messages: readonly WireMessage[]): string {
  return messages.map(({ content }) => content).join('\n')
}

/** Agent names below the heading of the runtime's agent list. */
function agentsIn(prompt: string): string[] {
  const [, list = ''] = /## Agents\n((?:- .*\n?)*)/.exec(prompt) ?? []
  return [...list.matchAll(/^- @([\w-]+):/gm)].map(([, name = '']) => name)
}

/** FNV-1a. */
function textHash(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}
