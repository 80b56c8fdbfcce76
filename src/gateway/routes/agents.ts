import { z } from 'zod'
import type { AgentApp } from '../../api/agents.ts'
import { folder } from './fields.ts'
import { get, post, type RoutesOf } from './route.ts'

export const agentRoutes: RoutesOf<AgentApp> = {
  agents: [
    get('agents', {
      path: '/v1/agents',
      summary: 'Agents that can be given work in a folder.',
      input: z.strictObject({ folder }),
      answer: { key: 'agents' },
      call: (app, { folder }) => app.agents(folder),
      fields: (folder) => ({ folder }),
    }),
  ],
  agent: [
    get('agent', {
      path: '/v1/agents/show',
      summary: 'One agent: its file, profile, tools and model, and why.',
      input: z.strictObject({ folder, name: z.string().max(1000) }),
      call: (app, { folder, name }) => app.agent(folder, name),
      fields: (folder, name) => ({ folder, name }),
    }),
  ],
  skills: [
    get('skills', {
      path: '/v1/skills',
      summary: 'All agent files, with who gets their instructions, and their problems.',
      input: z.strictObject({ folder }),
      call: (app, { folder }) => app.skills(folder),
      fields: (folder) => ({ folder }),
    }),
  ],
  checkAgent: [
    post('checkAgent', {
      path: '/v1/agents/check',
      summary: 'Refuses an agent that does not exist or cannot be given work.',
      key: 'ignored',
      input: z.strictObject({ folder, name: z.string().max(1000) }),
      call: (app, { folder, name }) => app.checkAgent(folder, name),
      fields: (folder, name) => ({ folder, name }),
    }),
  ],
}
