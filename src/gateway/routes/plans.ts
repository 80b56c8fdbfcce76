import { z } from 'zod'
import type { PlanApp } from '../../api/plans.ts'
import { taskActions, taskStatuses } from '../../domain/plan.ts'
import { flag, folder } from './fields.ts'
import { get, idIn, post, type RoutesOf } from './route.ts'

export const planRoutes: RoutesOf<PlanApp> = {
  plans: [
    get('plans', {
      path: '/v1/plans',
      summary: 'Plans of a folder, or of all, newest first; with `needsYou`, only those that wait for a decision.',
      input: z.strictObject({ folder: folder.exactOptional(), needsYou: flag.exactOptional() }),
      answer: { key: 'plans' },
      call: (app, { id: _, ...filter }) => app.plans(filter),
      fields: (filter = {}) => ({ ...filter }),
    }),
  ],
  tasks: [
    get('tasks', {
      path: '/v1/tasks',
      summary: 'Tasks of plans.',
      input: z.strictObject({
        plan: z.string().max(100).exactOptional(),
        status: z.enum(taskStatuses).exactOptional(),
      }),
      answer: { key: 'tasks' },
      call: (app, { id: _, ...filter }) => app.tasks(filter),
      fields: (filter = {}) => ({ ...filter }),
    }),
  ],
  results: [
    get('results', {
      path: '/v1/results',
      summary: 'Results of agents, newest first.',
      input: z.strictObject({ unprocessed: flag.default(false), undelivered: flag.default(false) }),
      answer: { key: 'results' },
      call: (app, { id: _, ...filter }) => app.results(filter),
      fields: (filter = {}) => ({ ...filter }),
    }),
  ],
  changeTask: [
    post('changeTask', {
      path: '/v1/tasks/:id',
      summary: 'Decides about a task: retry, skip, cancel or edit.',
      idForm: 'number',
      input: z.strictObject({
        action: z.enum(taskActions),
        context: z.string().min(1).exactOptional(),
        skill: z.string().min(1).max(200).exactOptional(),
        expectedBrief: z.string().max(100).exactOptional(),
        reason: z.string().max(1000).exactOptional(),
      }),
      call: (app, { id, ...change }) => app.changeTask(`task:${id}`, change),
      fields: (task, change) => ({ id: idIn(task, 'task') ?? task, ...change }),
    }),
  ],
}
