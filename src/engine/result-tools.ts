import { z } from 'zod'
import type { Tool } from '../domain/tool.ts'
import { findResult } from '../store/results.ts'
import { findRun } from '../store/runs.ts'
import { parsedBy } from '../tools/tool-input.ts'
import { callerOf, refused } from './plan-call.ts'
import type { AgentIndex, World } from './world.ts'

const usualPage = 2000
const largestPage = 20_000

/** Reads on where a summary ends. */
export function readResult({ store }: World): Tool<z.output<typeof pageInput>> {
  return {
    name: 'read_result',
    description: `A page of an agent's output: offset and limit in characters (${usualPage} unless you say so).`,
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'integer' }, offset: { type: 'integer' }, limit: { type: 'integer' } },
      required: ['id'],
      additionalProperties: false,
    },
    effect: 'pure',
    parse: parsedBy(pageInput),
    run: ({ id, offset, limit }, { runId }) =>
      store.read(async (rows) => {
        const { run, home } = await callerOf(rows, runId)
        const result = await findResult(rows, id)
        const by = result && (await findRun(rows, result.runId))
        const mine = [home.id, run.sessionId]
        if (!result || !by || !mine.includes(by.requesterSessionId))
          return refused(`there is no result ${id} here`, 'a result is there when its agent has ended')
        const page = result.output.slice(offset, offset + limit).toWellFormed()
        const left = result.output.length - offset - page.length
        const more = left > 0 ? `\n… [cut: ${left} more characters; read on with offset=${offset + page.length}]` : ''
        return { status: 'ok', output: `${page}${more}`, label: by.label }
      }),
  }
}

const pageInput = z.strictObject({
  id: z.int().positive(),
  offset: z.int().min(0).default(0),
  limit: z.int().min(1).max(largestPage).default(usualPage),
})

/** Everyone who can be given work, by name and one line. */
export function listAgents({ store }: World, agents: AgentIndex): Tool<object> {
  return {
    name: 'list_agents',
    description: 'Everyone who can be given work: name and one line.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    effect: 'pure',
    parse: parsedBy(z.strictObject({})),
    async run(_, { runId }) {
      const { home } = await store.read((rows) => callerOf(rows, runId))
      const found = agents.list(home.folder).map(({ name, description }) => ({ name, description }))
      return { status: 'ok', output: { agents: found } }
    },
  }
}
