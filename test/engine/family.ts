import type { Tool } from '../../src/domain/tools/tool.ts'
import { spawnChild } from '../../src/engine/run/spawn.ts'
import type { Gate } from '../../src/models/gate.ts'
import { type ScriptedModel, type ScriptedReply, scriptedModel } from '../../src/models/scripted.ts'
import type { Tx } from '../../src/store/store.ts'
import type { TestEngine } from './engine.ts'

export interface FamilyOptions {
  /** Where a child waits before it answers. */
  hold?(task: string): Gate | undefined
  /** What a child answers instead of having done it. */
  answer?(task: string): ScriptedReply
}

/**
 * Agents that begin others. Asked to `go` one begins so many children, and tells what it heard when they have ended; a
 * child that is asked for `child N` does it, and one that is asked for `go`, too, begins children of its own.
 */
export function family(
  count: number,
  of: () => TestEngine,
  { hold = () => undefined, answer = (task) => ({ text: `done: ${task}` }) }: FamilyOptions = {},
): { model: ScriptedModel; tools: Tool[] } {
  const model = scriptedModel((request) => {
    const asked = request.messages.findLast(({ role }) => role === 'user')?.content ?? ''
    const [, task] = /^go(?: (.*))?$/.exec(asked) ?? []
    if (asked.startsWith('child ')) {
      const held = hold(asked)
      return { ...answer(asked), ...(held && { gate: held }) }
    }
    if (!asked.startsWith('go')) return { text: `heard: ${asked}` }
    if (request.messages.at(-1)?.role === 'tool') return { text: 'started' }
    return { calls: Array.from({ length: count }, (_, n) => ({ name: 'spawn', input: task ?? `child ${n + 1}` })) }
  })
  return { model, tools: [spawnTool(of)] }
}

/** A transactional tool that begins a child with its input as the task. */
export function spawnTool(of: () => TestEngine): Tool {
  return {
    name: 'spawn',
    description: 'begins a child',
    inputSchema: { type: 'object' },
    effect: 'transactional',
    parse: (value) => ({ ok: true, value }),
    write: (tx, task, call) =>
      spawnChild(tx as Tx, of().engine, call, { content: task as string, via: 'spawn_agent', agent: 'general' }),
  }
}
