import { z } from 'zod'
import type { Tool } from '../domain/tool.ts'
import { countChildren } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { spawnChild } from './spawn.ts'
import type { World } from './world.ts'

const input = z.strictObject({ task: z.string().min(1), model: z.string().optional() })

/**
 * Lets an agent hand a task to another that starts with nothing but that task. It answers at once; the results come
 * when all that were started have ended.
 */
export function sessionsSpawn(world: World, limits: { children: number; knowsModel(name: string): boolean }): Tool {
  return {
    name: 'sessions_spawn',
    sink: 'agents',
    description:
      'Starts another agent on a task, in a fresh session that knows nothing but the task: write down all it needs. ' +
      'Answers at once; end your turn, and you are woken with the results when all that you started have ended.',
    inputSchema: {
      type: 'object',
      properties: {
        task: { type: 'string' },
        model: { type: 'string', description: 'another of the configured models' },
      },
      required: ['task'],
      additionalProperties: false,
    },
    effect: 'transactional',
    parse(value) {
      const parsed = input.safeParse(value)
      if (!parsed.success) return { ok: false, why: parsed.error.issues.map(({ message }) => message).join('; ') }
      const { model } = parsed.data
      if (model !== undefined && !limits.knowsModel(model)) return { ok: false, why: `there is no model "${model}"` }
      return { ok: true, value: parsed.data }
    },
    async write(tx, value, call) {
      const { task, model } = value as z.output<typeof input>
      const begun = await countChildren(tx as Tx, call.runId)
      if (begun >= limits.children)
        return {
          status: 'forbidden',
          output: { status: 'forbidden', error: `you have started ${begun} agents, the most that is allowed` },
        }
      return spawnChild(tx as Tx, world, call, {
        content: task,
        agent: 'general',
        model: model ?? null,
      })
    },
  }
}
