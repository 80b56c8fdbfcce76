import { type Model, ModelFailure, type ModelRequest } from '../../src/domain/model.ts'
import type { Effect, Tool } from '../../src/domain/tools/tool.ts'
import { spawnChild } from '../../src/engine/run/spawn.ts'
import type { Engine } from '../../src/engine/runtime.ts'
import { type ScriptedReply, scriptedModel } from '../../src/models/scripted.ts'
import type { Tx } from '../../src/store/store.ts'
import { providerRequestOf, toScriptedReply } from '../../src/testing/model-conversions.ts'
import { mediocreNames, mediocreRule } from '../../src/testing.ts'
import type { Life } from './simulator-schedule.ts'

/** What can be asked of the simulated model; `spawn X` gives X to two children, `tidy X` to two whose transcripts go. */
export const tasks = [
  ...['plain', 'look', 'put', 'push', 'all', 'later', 'never', 'loop', 'chain', 'spawn plain', 'spawn all'],
  ...['press', 'all press', 'spawn press'],
  ...['spawn later', 'spawn never', 'spawn push', 'spawn spawn plain'],
  ...['tidy plain', 'tidy all', 'tidy never', 'tidy tidy plain', 'spawn tidy plain'],
]

/** Jobs for a coordinator: plans that mediocre models carry out, alone or together, and a word in between. */
export const jobs = [
  ...mediocreNames.map((name) => `2 tasks by the ${name}`),
  ...['3 tasks', '3 tasks by the silent and the half-json-caller', '3 tasks by the liar and the looper', 'plain'],
]

/** The tool that nobody may use without being asked. */
export const asking = 'press'

/** What models were asked and tools did, whoever asked: the world outside, which no crash can undo. */
export interface Outside {
  requests: ModelRequest[]
  effects: { name: string; call: string }[]
  /** Told before anything is done for a run: whoever does it must have the run at that moment. */
  act(life: Life, runId: string, what: string): Promise<void>
}

/** Does what the last task says, in its own time. Each reply costs as much as it may. */
export function thinker(life: Life, outside: Outside, maxOutputTokens: number): Model {
  const later = new ModelFailure('provider_busy', 'busy', 'wait', { retry: 'later', retryAfter: 700 })
  const never = new ModelFailure('provider_rejected', 'no', 'ask otherwise', { retry: 'never' })
  const mediocre = mediocreRule()
  const model = scriptedModel(
    (request): ScriptedReply => {
      const usage = { outputTokens: maxOutputTokens }
      // Whoever begins others in its own way does as it is told; who plans, or works for a plan, is a mediocre model.
      if (!request.tools.some(({ name }) => name === 'spawn'))
        return { ...toScriptedReply(mediocre(providerRequestOf(request))), usage }
      const task = taskOf(request)
      const isAnswered = request.messages.at(-1)?.role === 'tool'
      const [run] = request.id.split('/')
      const tries = outside.requests.filter(({ id }) => id.startsWith(`${run}/`)).length
      if (task === 'never') return { fail: never }
      if (task === 'later' && tries % 3 > 0) return { fail: later }
      if (task === 'loop') return { calls: [{ name: 'look' }], usage }
      if (isAnswered) return { text: 'done', usage }
      if (task === 'chain') return { calls: [{ name: 'spawn', input: 'chain' }], usage }
      if (task === 'all') return { calls: ['look', 'put', 'push'].map((name) => ({ name })), usage }
      if (task === 'all press') return { calls: ['look', 'press', 'push', 'press'].map((name) => ({ name })), usage }
      if (['look', 'put', 'push', 'press'].includes(task)) return { calls: [{ name: task }], usage }
      const [, name, given] = /^(spawn|tidy) (.*)$/.exec(task) ?? []
      if (name !== undefined) return { calls: [1, 2].map(() => ({ name, input: given })), usage }
      return { text: 'done', usage }
    },
    { price: { input: 1, output: 1 } },
  )
  return {
    ...model,
    async reply(request, onDelta) {
      await outside.act(life, request.id.split('/')[0] ?? '', 'asks its model')
      outside.requests.push({ ...structuredClone({ ...request, signal: null }), signal: request.signal })
      await life.turn(`model ${request.id}`)
      return model.reply(request, onDelta)
    },
  }
}

export function toolsOf(life: Life, outside: Outside, engine: Engine): Tool[] {
  return [
    acting('look', 'pure', life, outside),
    acting('put', 'idempotent', life, outside),
    acting('push', 'unsafe', life, outside),
    acting(asking, 'unsafe', life, outside),
    {
      ...described('spawn'),
      effect: 'transactional',
      write: (tx, task, call) =>
        spawnChild(tx as Tx, engine, call, { content: task as string, via: 'spawn_agent', agent: 'general' }),
    },
    {
      ...described('tidy'),
      effect: 'transactional',
      write: (tx, task, call) =>
        spawnChild(tx as Tx, engine, call, {
          ...{ content: task as string, via: 'sessions_spawn', agent: 'general' },
          subagent: { title: 'tidy', cleanup: 'delete', shareMode: 'handoff' },
        }),
    },
  ]
}

function acting(name: string, effect: Exclude<Effect, 'transactional'>, life: Life, outside: Outside): Tool {
  return {
    ...described(name),
    effect,
    async run(_input, { runId, callId }) {
      await outside.act(life, runId, `calls ${name}`)
      await life.turn(`tool ${name}`)
      outside.effects.push({ name, call: `${runId}/${callId}` })
      await life.turn(`after ${name}`)
      return { status: 'ok', output: name }
    },
  }
}

function described(name: string) {
  return {
    name,
    description: name,
    inputSchema: { type: 'object' },
    parse: (value: unknown) => ({ ok: true as const, value }),
  }
}

/** The last thing that was asked for, without the number that tells it from others of its kind. */
function taskOf(request: ModelRequest): string {
  const asked = request.messages.findLast(({ role }) => role === 'user')?.content ?? ''
  return asked.replace(/ #\d+$/, '')
}
