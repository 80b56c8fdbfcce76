import { z } from 'zod'
import { spendingKeys } from '../api/views/run.ts'
import { decisions } from '../domain/approval.ts'
import { taskActions, taskStatuses } from '../domain/plan.ts'
import { runOptions } from '../domain/run-options.ts'
import { routeNames } from './api.ts'

const maxWaitSeconds = 60

const folder = z.string().startsWith('/', 'must be a whole path').max(4096)
const part = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('image'),
    path: z.string().max(4096).exactOptional(),
    mediaType: z.string().max(200),
    data: z.string(),
  }),
  z.strictObject({
    type: z.literal('file'),
    path: z.string().max(4096),
    mediaType: z.string().max(200),
    data: z.string(),
  }),
])
export const question = z.strictObject({
  folder,
  session: z.string().max(200),
  content: z.string(),
  parts: z.array(part).max(100).optional(),
  kind: z.enum(['message', 'steer', 'interrupt']).optional(),
  ...runOptions.omit({ timeoutMs: true, deadline: true }).shape,
  priority: z.int().min(-1000).max(1000).exactOptional(),
  from: z.string().max(200).optional(),
  timeoutSeconds: z.number().nonnegative().max(1_000_000).optional(),
  dedupeKey: z.string().min(1).max(200).optional(),
})
export const answerQuery = z.strictObject({ folder, wait: z.coerce.number().min(0).max(maxWaitSeconds).default(0) })
export const runsQuery = z.strictObject({ all: z.stringbool().default(false) })
export const reason = z.strictObject({ reason: z.string().max(1000).default('cancelled by the user') })
export const decision = z.strictObject({
  answer: z.enum(decisions),
  reason: z.string().max(1000).optional(),
  hash: z.string().max(200).optional(),
})
export const emptyBody = z.strictObject({})
export const plansQuery = z.strictObject({ folder: folder.optional() })
export const tasksQuery = z.strictObject({
  plan: z.string().max(100).optional(),
  status: z.enum(taskStatuses).optional(),
})
export const resultsQuery = z.strictObject({ unprocessed: z.stringbool().default(false) })
export const taskChange = z.strictObject({
  action: z.enum(taskActions),
  context: z.string().min(1).optional(),
  skill: z.string().min(1).max(200).optional(),
  reason: z.string().max(1000).optional(),
})
export const undoOptions = z.strictObject({ dryRun: z.boolean().default(false) })
export const usageQuery = z.strictObject({
  by: z.enum(spendingKeys).default('model'),
  today: z.stringbool().default(false),
})
export const statusQuery = z.strictObject({ folder, since: z.coerce.number().int().min(0).default(0) })
export const eventsQuery = z.strictObject({
  after: z.string().max(500).optional(),
  run: z.string().max(100).optional(),
})

/** Schemas of a route's body and query. */
interface RouteInputs {
  body?: z.ZodObject
  query?: z.ZodObject
}

/** Every route, by method and path: tests send hostile values into each field of each of them. */
export const routeInputs: ReadonlyMap<string, RouteInputs> = new Map<string, RouteInputs>([
  [`GET ${routeNames.health}`, {}],
  [`POST ${routeNames.inputs}`, { body: question }],
  [`GET ${routeNames.answer}`, { query: answerQuery }],
  [`GET ${routeNames.runs}`, { query: runsQuery }],
  [`GET ${routeNames.run}`, {}],
  [`POST ${routeNames.cancel}`, { body: reason }],
  [`POST ${routeNames.retry}`, { body: emptyBody }],
  [`GET ${routeNames.plans}`, { query: plansQuery }],
  [`GET ${routeNames.plan}`, {}],
  [`POST ${routeNames.cancelPlan}`, { body: reason }],
  [`GET ${routeNames.tasks}`, { query: tasksQuery }],
  [`GET ${routeNames.task}`, {}],
  [`POST ${routeNames.task}`, { body: taskChange }],
  [`POST ${routeNames.cancelTask}`, { body: reason }],
  [`POST ${routeNames.retryTask}`, { body: emptyBody }],
  [`GET ${routeNames.results}`, { query: resultsQuery }],
  [`GET ${routeNames.approvals}`, {}],
  [`POST ${routeNames.decide}`, { body: decision }],
  [`GET ${routeNames.grants}`, {}],
  [`POST ${routeNames.revoke}`, { body: emptyBody }],
  [`POST ${routeNames.undo}`, { body: undoOptions }],
  [`GET ${routeNames.status}`, { query: statusQuery }],
  [`GET ${routeNames.usage}`, { query: usageQuery }],
  [`GET ${routeNames.cursor}`, {}],
  [`GET ${routeNames.events}`, { query: eventsQuery }],
])
