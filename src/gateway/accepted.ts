import { z } from 'zod'
import { spendingKeys } from '../domain/app.ts'
import { decisions } from '../domain/approval.ts'
import { thinkingLevels } from '../domain/message.ts'
import { taskActions, taskStatuses } from '../domain/plan.ts'
import { routeNames } from './api.ts'

const longestWait = 60

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
  model: z.string().max(200).optional(),
  from: z.string().max(200).optional(),
  thinking: z.strictObject({ level: z.enum(thinkingLevels) }).optional(),
  agent: z.string().max(200).optional(),
  attended: z.boolean().optional(),
  waitsForBudget: z.boolean().optional(),
  priority: z.int().min(-1000).max(1000).optional(),
  timeoutSeconds: z.number().positive().max(1_000_000).optional(),
  dedupeKey: z.string().min(1).max(200).optional(),
})
export const answerQuery = z.strictObject({ folder, wait: z.coerce.number().min(0).max(longestWait).default(0) })
export const runsQuery = z.strictObject({ all: z.stringbool().default(false) })
export const reason = z.strictObject({ reason: z.string().max(1000).default('cancelled by hand') })
export const decision = z.strictObject({
  answer: z.enum(decisions),
  reason: z.string().max(1000).optional(),
  hash: z.string().max(200).optional(),
})
export const nothing = z.strictObject({})
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
export const undoing = z.strictObject({ dryRun: z.boolean().default(false) })
export const usageQuery = z.strictObject({
  by: z.enum(spendingKeys).default('model'),
  today: z.stringbool().default(false),
})
export const statusQuery = z.strictObject({ folder, since: z.coerce.number().int().min(0).default(0) })
export const eventsQuery = z.strictObject({
  after: z.string().max(500).optional(),
  run: z.string().max(100).optional(),
})

/** What a route takes besides the id in its path. */
export interface Accepted {
  body?: z.ZodObject
  query?: z.ZodObject
}

/** Every route, by method and path: tests send hostile values into each field of each of them. */
export const accepted: ReadonlyMap<string, Accepted> = new Map<string, Accepted>([
  [`GET ${routeNames.health}`, {}],
  [`POST ${routeNames.inputs}`, { body: question }],
  [`GET ${routeNames.answer}`, { query: answerQuery }],
  [`GET ${routeNames.runs}`, { query: runsQuery }],
  [`GET ${routeNames.run}`, {}],
  [`POST ${routeNames.cancel}`, { body: reason }],
  [`POST ${routeNames.retry}`, { body: nothing }],
  [`GET ${routeNames.plans}`, { query: plansQuery }],
  [`GET ${routeNames.plan}`, {}],
  [`POST ${routeNames.cancelPlan}`, { body: reason }],
  [`GET ${routeNames.tasks}`, { query: tasksQuery }],
  [`GET ${routeNames.task}`, {}],
  [`POST ${routeNames.task}`, { body: taskChange }],
  [`POST ${routeNames.cancelTask}`, { body: reason }],
  [`POST ${routeNames.retryTask}`, { body: nothing }],
  [`GET ${routeNames.results}`, { query: resultsQuery }],
  [`GET ${routeNames.approvals}`, {}],
  [`POST ${routeNames.decide}`, { body: decision }],
  [`GET ${routeNames.grants}`, {}],
  [`POST ${routeNames.revoke}`, { body: nothing }],
  [`POST ${routeNames.undo}`, { body: undoing }],
  [`GET ${routeNames.status}`, { query: statusQuery }],
  [`GET ${routeNames.usage}`, { query: usageQuery }],
  [`GET ${routeNames.cursor}`, {}],
  [`GET ${routeNames.events}`, { query: eventsQuery }],
])
