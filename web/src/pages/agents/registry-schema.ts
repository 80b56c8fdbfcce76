import type { Schema } from '@cfworker/json-schema'

const names = { type: 'array', maxItems: 100, items: { type: 'string', minLength: 1, maxLength: 200 } } as const

/** What the registry of agents looks like, for findings while it is typed. Heddle checks all of it again before it is saved. */
export const registrySchema: Schema = {
  type: 'object',
  required: ['version', 'agents'],
  additionalProperties: false,
  properties: {
    version: { const: 1 },
    agents: {
      type: 'array',
      items: {
        type: 'object',
        required: ['agentId', 'profileId', 'description'],
        additionalProperties: false,
        properties: {
          agentId: { type: 'string', pattern: '^@[a-z0-9_-]{2,32}$' },
          profileId: { type: 'string' },
          description: { type: 'string', minLength: 1, maxLength: 300 },
          defaultForwardSkills: names,
          allowedForwardSkills: names,
          defaultMcpServers: names,
          allowedMcpServers: names,
          tags: { type: 'array', maxItems: 20, items: { type: 'string', minLength: 1, maxLength: 40 } },
        },
      },
    },
  },
}
