import { expect, test } from 'vitest'
import { z } from 'zod'
import { spawnAgent } from '../../src/engine/plans/spawn-agent.ts'
import { defineTool } from '../../src/tools/define-tool.ts'

const tool = defineTool(
  z
    .strictObject({
      id: z.int().positive().describe('which one'),
      offset: z.int().min(0).default(0),
      size: z.int().optional(),
      tags: z.array(z.string().min(1).max(100)).max(50).exactOptional(),
      mode: z.enum(['fast', 'slow']).optional(),
      text: z.string().trim().min(1).max(10).optional(),
    })
    .refine(({ id }) => id !== 7, 'seven is taken'),
  {
    name: 'look',
    description: 'Looks.',
    effect: 'pure',
    run: async ({ id, offset }) => ({ status: 'ok', output: id + offset }),
  },
)

test('a model is shown types, limits, defaults and descriptions of the schema that checks its input', () => {
  expect(tool.inputSchema).toEqual({
    type: 'object',
    properties: {
      id: { type: 'integer', minimum: 1, description: 'which one' },
      offset: { type: 'integer', minimum: 0, default: 0 },
      size: { type: 'integer' },
      tags: { type: 'array', maxItems: 50, items: { type: 'string', minLength: 1, maxLength: 100 } },
      mode: { type: 'string', enum: ['fast', 'slow'] },
      text: { type: 'string', minLength: 1, maxLength: 10 },
    },
    required: ['id'],
    additionalProperties: false,
  })
})

test('input that fits is read with its defaults, and what does not fit is told by parameter', () => {
  expect(tool.parse({ id: 1 })).toEqual({ ok: true, value: { id: 1, offset: 0 } })
  expect(tool.parse({ id: 0, tags: [''] })).toEqual({ ok: false, why: expect.stringMatching(/^id: .*; tags: 0: /) })
  expect(tool.parse({ id: 7 })).toEqual({ ok: false, why: 'seven is taken' })
})

test('spawn_agent takes a task of a plan alone, or a task and its agent, and is shown as one object', () => {
  const spawn = spawnAgent({} as never)
  const either = { ok: false, why: 'give either task and skill, or task_id alone' }
  expect(spawn.parse({ task_id: 3 })).toEqual({ ok: true, value: { task_id: 3 } })
  expect(spawn.parse({ task: ' look ', skill: 'researcher' })).toEqual({
    ok: true,
    value: { task: 'look', skill: 'researcher' },
  })
  expect(spawn.parse({ task_id: 3, context: 'x' })).toEqual(either)
  expect(spawn.parse({ task: 'look' })).toEqual(either)
  expect(spawn.parse({})).toEqual(either)
  expect(spawn.inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
})
