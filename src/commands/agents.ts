import { defineCommand } from './command.ts'
import { listed } from './outcome.ts'

export const agentCommands = [
  defineCommand({
    name: 'skills',
    usage: '/skills',
    summary: 'the agents that can be given work here, with what they are for',
    example: '/skills',
    action: 'agent.list',
    run: async ({ app, folder }) =>
      listed(await app.agents(folder), {
        columns: { agent: ({ name }) => `@${name}`, for: ({ description }) => description },
        wide: 'for',
        empty: 'no agents here    heddle agents new',
      }),
  }),
]
