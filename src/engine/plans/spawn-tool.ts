import { z } from 'zod'
import type { Tool } from '../../domain/tools/tool.ts'
import { countChildren } from '../../store/rows/runs.ts'
import type { Tx } from '../../store/store.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { spawnChild } from '../run/spawn.ts'
import type { Engine } from '../runtime.ts'

/**
 * Tool that starts an agent which knows nothing but its task. Returns at once; the results are delivered when all started
 * agents have ended.
 */
export function sessionsSpawn(engine: Engine, limits: { children: number }): Tool {
  const input = z.strictObject({
    task: z.string().min(1),
    model: z
      .string()
      .refine((name) => engine.knowsModel(name), { error: ({ input }) => `there is no model "${input}"` })
      .optional()
      .describe('another of the configured models'),
  })
  return defineTool(input, {
    name: 'sessions_spawn',
    startsAgent: true,
    description:
      'Starts another agent on a task, in a new session that sees only the task: include everything it needs. Returns ' +
      'immediately; end your turn, and you are called again with the results when all that you started have ended.',
    effect: 'transactional',
    action: 'run.spawn',
    async write(tx, { task, model }, call) {
      const started = await countChildren(tx as Tx, call.runId)
      if (started >= limits.children)
        return {
          status: 'forbidden',
          output: { status: 'forbidden', error: `you have started ${started} agents, which is the limit` },
        }
      return spawnChild(tx as Tx, engine, call, {
        content: task,
        via: 'sessions_spawn',
        agent: 'general',
        ...(model !== undefined && { options: { model } }),
      })
    },
  }) as Tool
}
