import { z } from 'zod'
import type { SubagentApp } from '../../api/subagents.ts'
import { flag, page } from './fields.ts'
import { get, idIn, type RoutesOf } from './route.ts'

export const subagentRoutes: RoutesOf<SubagentApp> = {
  subagents: [
    get('subagents', {
      path: '/v1/subagents',
      summary: 'Sub-agents that work; with `all`, those that have ended too. Newest first.',
      input: z.strictObject({ all: flag.default(false), ...page }),
      answer: { rows: 'subagents' },
      call: (app, { id: _, ...filter }) => app.subagents(filter),
      fields: (filter = {}) => ({ ...filter }),
    }),
  ],
  subagent: [
    get('subagent', {
      path: '/v1/subagents/:id',
      summary: 'A sub-agent, named by its run, with its result.',
      call: (app, { id }) => app.subagent(id),
      fields: (reference) => ({ id: idIn(reference, 'run') ?? reference }),
    }),
  ],
}
