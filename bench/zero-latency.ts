import type { Model, ModelReply, ModelRequest, RequestedCall } from '../src/domain/model.ts'
import type { Tool } from '../src/domain/tools/tool.ts'
import { draftOf } from './scratch.ts'

/** What everybody who is measured talks about. */
export interface Conversation {
  question: string
  answer: string
  /** What an agent is given that shall make one tool call before it answers. */
  task: string
}

const task = 'Look it up.'
const short = draftOf(670)

/** A conversation of short turns: a question of a hundred characters, an answer of six hundred. */
export const conversation: Conversation = {
  question: short.query[0]?.content ?? '',
  answer: short.response.content,
  task,
}

/** Asks for this many agents, each with that task. */
export function startAgents(count: number): string {
  return `Start ${count} agents.`
}

/** A model that answers at once and looks at nothing but the last message, so that only the runtime takes time. */
export function zeroLatencyModel(answer = conversation.answer): Model {
  return {
    name: 'zero-latency',
    window: 200_000_000,
    price: { input: 0, output: 0 },
    async reply(request) {
      const calls = callsFor(request)
      return replyOf(calls.length > 0 ? '' : answer, calls)
    },
  }
}

/** A model that never answers, and tells of each request. */
export function silentModel(onRequest: (request: ModelRequest) => void): Model {
  return {
    ...zeroLatencyModel(),
    reply(request) {
      onRequest(request)
      return new Promise<never>(() => undefined)
    },
  }
}

/** A tool that knows at once. */
export const lookUp: Tool = {
  name: 'look_up',
  description: 'Looks something up.',
  inputSchema: { type: 'object', properties: { about: { type: 'string' } }, required: ['about'] },
  effect: 'pure',
  parse: (value) => ({ ok: true, value }),
  run: async () => ({ status: 'ok', output: 'It is as it was.' }),
}

function callsFor({ messages }: ModelRequest): RequestedCall[] {
  const last = messages.at(-1)
  if (last?.role !== 'user') return []
  if (last.content === task) return [{ id: 'call-1', name: lookUp.name, input: { about: 'it' } }]
  const count = Number(/^Start (\d+) agents\.$/.exec(last.content)?.[1] ?? 0)
  return Array.from({ length: count }, (_, at) => ({ id: `call-${at + 1}`, name: 'sessions_spawn', input: { task } }))
}

function replyOf(text: string, calls: RequestedCall[]): ModelReply {
  return {
    text,
    calls,
    finish: calls.length > 0 ? 'calls' : 'stop',
    usage: { inputTokens: 100, outputTokens: 100, cachedTokens: 0, costUsd: 0 },
    model: 'zero-latency',
  }
}
