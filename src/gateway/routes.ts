import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono } from 'hono'
import type { z } from 'zod'
import type { App } from '../api/app.ts'
import type { Heddle } from '../api/heddle.ts'
import type { Clock } from '../domain/clock.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'
import { type Health, routeNames } from './api.ts'
import type { EventHub } from './event-hub.ts'
import { Follower, type FollowerLimits, refusalOf } from './follower.ts'
import type { LiveTexts } from './live-texts.ts'
import {
  answerQuery,
  decision,
  emptyBody,
  eventsQuery,
  plansQuery,
  question,
  reason,
  resultsQuery,
  runsQuery,
  statusQuery,
  taskChange,
  tasksQuery,
  undoOptions,
  usageQuery,
} from './route-inputs.ts'
import { streamTo } from './stream.ts'

// Attachments are base64 in the body.
const maxBodyBytes = 32 * 1024 * 1024

/** Dependencies of the routes. */
interface RouteContext {
  heddle: Heddle
  health: Health
  clock: Clock
  hub: EventHub
  live: LiveTexts
  followerLimits: FollowerLimits
  /** Receives bugs: clients get no details of them. */
  onError(error: unknown): void
  /** All followers, so that the server can end their streams. */
  followers: Set<Follower>
}

type HttpContext = Context<{ Bindings: HttpBindings }>

/** HTTP routes of the App. */
export function routes(app: App, context: RouteContext): Hono<{ Bindings: HttpBindings }> {
  const http = new Hono<{ Bindings: HttpBindings }>()
  http.onError((error, c) => refuse(c, error, context))
  http.notFound((c) => refuse(c, noRoute(c), context))

  http.get(routeNames.health, (c) => c.json(context.health))
  http.post(routeNames.inputs, async (c) => {
    const { folder, ...input } = await body(c, question)
    return c.json({ ok: true, ...(await app.submit(folder, withoutUndefined(input))) }, 202)
  })
  http.get(routeNames.answer, async (c) => {
    const { folder, wait } = query(c, answerQuery)
    return c.json(await answerWithin(app, folder, id(c), wait, c.req.raw.signal, context.clock))
  })
  http.get(routeNames.runs, async (c) => c.json({ runs: await app.runs(query(c, runsQuery)) }))
  http.get(routeNames.run, async (c) => c.json(await app.show('/', `run:${id(c)}`)))
  http.post(routeNames.cancel, async (c) =>
    c.json({ ok: true, ...(await app.cancel(id(c), (await body(c, reason)).reason)) }),
  )
  http.post(routeNames.retry, async (c) => {
    await body(c, emptyBody)
    return c.json({ ok: true, ...(await app.retry(id(c))) }, 202)
  })
  planRoutes(http, app)
  http.get(routeNames.approvals, async (c) => c.json({ approvals: await app.approvals() }))
  http.post(routeNames.decide, async (c) => {
    const answer = withoutUndefined(await body(c, decision))
    return c.json({ ok: true, ...(await app.decide(c.req.param('id'), answer)) })
  })
  http.get(routeNames.grants, async (c) => c.json({ grants: await app.grants() }))
  http.post(routeNames.revoke, async (c) => {
    await body(c, emptyBody)
    await app.revokeGrant(Number(number(c)))
    return c.json({ ok: true })
  })
  http.post(routeNames.undo, async (c) => c.json(await app.undo(id(c), await body(c, undoOptions))))
  http.get(routeNames.status, async (c) => {
    const { folder, since } = query(c, statusQuery)
    return c.json(await app.status(folder, since))
  })
  http.get(routeNames.usage, async (c) => {
    const { by, today } = query(c, usageQuery)
    return c.json(await app.usage(by, { today }))
  })
  http.get(routeNames.cursor, async (c) => c.json({ cursor: await app.cursor() }))
  http.get(routeNames.events, async (c) => {
    const { after, run } = query(c, eventsQuery)
    // Refuse an invalid cursor before the stream starts.
    if (after !== undefined) await app.events({ after, limit: 1 })
    const streamQuery = { ...(after !== undefined && { after }), ...(run !== undefined && { run }) }
    const follower = new Follower(app, context, streamQuery, context)
    context.followers.add(follower)
    follower.gone.addEventListener('abort', () => context.followers.delete(follower))
    void streamTo(c.env.outgoing, follower)
    return RESPONSE_ALREADY_SENT
  })
  return http
}

/** Routes for plans, tasks and results. */
function planRoutes(http: Hono<{ Bindings: HttpBindings }>, app: App): void {
  http.get(routeNames.plans, async (c) => c.json({ plans: await app.plans(withoutUndefined(query(c, plansQuery))) }))
  http.get(routeNames.plan, async (c) => c.json(await app.show('/', `plan:${number(c)}`)))
  http.post(routeNames.cancelPlan, async (c) =>
    c.json({ ok: true, ...(await app.cancel(`plan:${number(c)}`, (await body(c, reason)).reason)) }),
  )
  http.get(routeNames.tasks, async (c) => c.json({ tasks: await app.tasks(withoutUndefined(query(c, tasksQuery))) }))
  http.get(routeNames.task, async (c) => c.json(await app.show('/', `task:${number(c)}`)))
  http.post(routeNames.task, async (c) => {
    const change = withoutUndefined(await body(c, taskChange))
    return c.json({ ok: true, ...(await app.changeTask(`task:${number(c)}`, change)) })
  })
  http.post(routeNames.cancelTask, async (c) =>
    c.json({ ok: true, ...(await app.cancel(`task:${number(c)}`, (await body(c, reason)).reason)) }),
  )
  http.post(routeNames.retryTask, async (c) => {
    await body(c, emptyBody)
    return c.json({ ok: true, ...(await app.retry(`task:${number(c)}`)) }, 202)
  })
  http.get(routeNames.results, async (c) => c.json({ results: await app.results(query(c, resultsQuery)) }))
}

/** Waits for an answer until the time is up or the client hangs up; the status is then 'waiting'. */
async function answerWithin(
  app: App,
  folder: string,
  itemId: string,
  seconds: number,
  gone: AbortSignal,
  clock: Clock,
) {
  // Refuse an unknown input at once instead of waiting for it.
  const now = await app.answer(folder, itemId, AbortSignal.abort())
  if (seconds === 0) return now
  const timedOut = new AbortController()
  const stop = AbortSignal.any([timedOut.signal, gone])
  void clock.sleep(seconds * 1000, stop).then(() => timedOut.abort())
  try {
    return await app.answer(folder, itemId, stop)
  } finally {
    timedOut.abort()
  }
}

function id(c: HttpContext): string {
  const id = c.req.param('id') ?? ''
  if (!/^[0-9a-z]{3,20}$/.test(id)) throw new UsageError(`"${id.slice(0, 40)}" is not an id`, 'write an id, or its end')
  return id
}

function number(c: HttpContext): string {
  const id = c.req.param('id') ?? ''
  if (!/^\d{1,15}$/.test(id))
    throw new UsageError(`"${id.slice(0, 40)}" is not a number`, 'heddle plans and heddle tasks list them')
  return id
}

/** Parses a JSON body. Requires its content type: a foreign web page cannot make a browser send that. */
async function body<T>(c: HttpContext, schema: z.ZodType<T>): Promise<T> {
  if (!/^application\/json(;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new UsageError('the body is not JSON', 'send it with content-type: application/json', 'bad_request')
  const text = await readText(c.env.incoming)
  try {
    return parse(schema, JSON.parse(text))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new UsageError('the body is not JSON', 'send one JSON object', 'bad_request')
  }
}

/** Reads a body up to the limit; the server discards the rest. */
async function readText(incoming: HttpBindings['incoming']): Promise<string> {
  const pieces: Buffer[] = []
  if (Number(incoming.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge()
  let bytes = 0
  try {
    for await (const piece of incoming.iterator({ destroyOnReturn: false })) {
      bytes += piece.length
      if (bytes > maxBodyBytes) throw tooLarge()
      pieces.push(piece)
    }
  } catch (error) {
    throw incoming.complete || error instanceof HeddleError ? error : clientGone(error)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function query<T>(c: HttpContext, schema: z.ZodType<T>): T {
  return parse(schema, c.req.query())
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const path = issue?.path.length ? `${issue.path.join('.')}: ` : ''
  throw new UsageError(
    `${path}${issue?.message ?? 'not as expected'}`,
    'docs/guide/daemon.md lists the routes',
    'bad_request',
  )
}

/** Removes undefined fields. */
function withoutUndefined<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never
}

function refuse(c: Context, error: unknown, { onError }: RouteContext) {
  if (!(error instanceof HeddleError)) onError(error)
  return c.json(refusalOf(error), statusOf(error))
}

const statusByCode = new Map<string, 404 | 410 | 413>([
  ['not_found', 404],
  ['no_route', 404],
  ['too_large', 413],
  ['cursor_expired', 410],
])

function statusOf(error: unknown) {
  if (!(error instanceof HeddleError)) return 500
  const known = statusByCode.get(error.code)
  if (known) return known
  if (error instanceof UsageError) return 400
  return error.retry === 'later' ? 503 : 409
}

function noRoute(c: Context): UsageError {
  return new UsageError(
    `there is no ${c.req.method} ${c.req.path.slice(0, 100)}`,
    `there are ${Object.values(routeNames).join(', ')}`,
    'no_route',
  )
}

/** The client hung up while sending its body. */
function clientGone(cause: unknown): HeddleError {
  return new HeddleError('client_gone', 'the client hung up before its request was complete', 'send it again', {
    retry: 'later',
    cause,
  })
}

function tooLarge(): UsageError {
  return new UsageError(
    `the body is larger than ${maxBodyBytes / 1024 / 1024} MB`,
    'put what is long into a file, and name the file',
    'too_large',
  )
}
