import type { IncomingMessage } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import type { z } from 'zod'
import type { App } from '../api/app.ts'
import type { Heddle } from '../api/heddle.ts'
import type { ListPage } from '../api/views/page.ts'
import type { Clock } from '../domain/clock.ts'
import { UsageError } from '../domain/errors.ts'
import type { Health } from './api.ts'
import { etagOf, isTooLate, refuseLateChange, withExpected } from './etags.ts'
import type { EventHub } from './event-hub.ts'
import { Follower, type FollowerLimits } from './follower.ts'
import { keyedRequest } from './keyed-request.ts'
import type { LiveTexts } from './live-texts.ts'
import { openapi } from './openapi.ts'
import { noRoute, refuse } from './refusals.ts'
import { type HttpContext, type HttpEnv, jsonBody, lineBody } from './request-body.ts'
import { type RightsWatch, type Sender, whileAllowed } from './rights.ts'
import { streamQuery } from './routes/events.ts'
import type { AnswerForm, Fields, Route, VersionedAnswer } from './routes/route.ts'
import { allRoutes, ownRoutes } from './routes/table.ts'
import { sendJson } from './send-json.ts'
import { sendLines, streamTo } from './stream.ts'

/** Dependencies of the routes. */
export interface RouteContext {
  heddle: Heddle
  /** Sender of a request. */
  senderOf(request: IncomingMessage): Promise<Sender>
  health: Health
  clock: Clock
  hub: EventHub
  live: LiveTexts
  rights: RightsWatch
  followerLimits: FollowerLimits
  /** Receives bugs: clients get no details of them. */
  onError(error: unknown): void
  /** All followers, so that the server can end their streams. */
  followers: Set<Follower>
}

/** HTTP routes of a Heddle, made from the table. Each request gets the App of its own principal. */
export function routes(context: RouteContext): Hono<HttpEnv> {
  const http = new Hono<HttpEnv>()
  http.onError((error, c) => refuse(c, error, context.onError))
  http.notFound((c) => refuse(c, noRoute(c), context.onError))
  http.get(ownRoutes.health, (c) => sendJson(c, context.health))
  http.get(ownRoutes.openapi, (c) => sendJson(c, openapi(context.health.version)))
  http.get(ownRoutes.events, (c) => streamEvents(c, context))
  // Fixed paths first: `/v1/memories/search` is not the memory "search".
  const byForm = allRoutes.toSorted((a, b) => Number(a.route.idForm !== null) - Number(b.route.idForm !== null))
  for (const { route } of byForm) http.on(route.verb, route.path, (c) => answerRequest(c, route, context))
  return http
}

/** Answers one request. No byte of a body is read before it is known who asks. */
async function answerRequest(c: HttpContext, route: Route, context: RouteContext): Promise<Response> {
  const sender = await caller(c, context)
  const { lost, end } = context.rights.begin(sender)
  try {
    return await callApp(c, route, context, { ...sender, lost })
  } catch (error) {
    if (!route.newest || !isTooLate(error)) throw error
    return refuseLateChange(c, error, await route.newest(sender.app))
  } finally {
    end()
  }
}

/** Calls the App. What takes its time ends when the sender's rights do, and tells nothing more. */
async function callApp(
  c: HttpContext,
  route: Route,
  { heddle, clock }: RouteContext,
  { app, principal, lost }: RequestSender & { lost: AbortSignal },
): Promise<Response> {
  const id = route.idForm === null ? {} : { id: idOf(c, route) }
  const fields = route.takesLines ? {} : await fieldsOf(c, route, clock)
  const lines = whileAllowed(lineBody(c, clock, route.takesLines), lost)
  const request = keyedRequest(c, route, { ...fields, ...id })
  // Few routes wait, and signals of both kinds are dear.
  const gone = () => AbortSignal.any([c.req.raw.signal, lost])
  const call = () => route.call(app, request.fields, { clock, gone, lines })
  if (route.answer === 'lines' || route.answer === 'pieces') {
    await sendLines(c.env.outgoing, whileAllowed(call() as AsyncIterable<string>, lost), route.answer)
    return RESPONSE_ALREADY_SENT
  }
  const act = async () => toWire(await call(), route.answer)
  const done =
    request.key === undefined ? await act() : await heddle.once(principal, { ...request, key: request.key }, act)
  // What was changed is told to the caller.
  if (route.verb === 'GET') lost.throwIfAborted()
  if (route.newest) {
    const tag = etagOf(done as VersionedAnswer)
    c.env.outgoing.setHeader('etag', tag)
    if (route.verb === 'GET' && c.req.header('if-none-match') === tag) return c.body(null, 304)
  }
  return sendJson(c, done, route.status)
}

/** On whose behalf a request comes, and the App that this principal has. */
async function caller(c: HttpContext, { heddle, senderOf }: RouteContext): Promise<RequestSender> {
  const sender = await senderOf(c.env.incoming)
  return { ...sender, app: heddle.as(sender.principal) }
}

interface RequestSender extends Sender {
  app: App
}

async function streamEvents(c: HttpContext, context: RouteContext): Promise<Response> {
  const { followers } = context
  const sender = await caller(c, context)
  const { app, principal } = sender
  const { after: asked, ...rest } = parseFields(streamQuery, c.req.query())
  // A browser that reconnects repeats the URL and sends Last-Event-ID.
  const after = parseFields(streamQuery.shape.after.optional(), c.req.header('last-event-id') || asked)
  const query = { ...rest, ...(after !== undefined && { after }) }
  // Refuse an invalid cursor, and a principal who may see nothing, before the stream starts.
  await app.events({ limit: 1, ...(after !== undefined && { after }) })
  const { lost, end } = context.rights.begin(sender)
  const follower = new Follower(app, context, { ...query, principal }, context)
  followers.add(follower)
  follower.gone.addEventListener('abort', () => followers.delete(follower))
  lost.addEventListener('abort', () => follower.revoke(lost.reason))
  follower.gone.addEventListener('abort', end)
  void streamTo(c.env.outgoing, follower)
  return RESPONSE_ALREADY_SENT
}

async function fieldsOf(c: HttpContext, route: Route, clock: Clock): Promise<Fields> {
  const given = route.verb === 'GET' ? c.req.query() : await jsonBody(c, clock)
  return parseFields(route.input, route.verb === 'POST' && route.newest ? withExpected(given, c) : given)
}

function idOf(c: HttpContext, { idForm }: Route): string {
  const id = c.req.param('id') ?? ''
  if (idForm === 'id' && !/^[0-9a-z]{3,20}$/.test(id))
    throw new UsageError(`"${id.slice(0, 40)}" is not an id`, 'write an id, or its end')
  if (idForm === 'number' && !/^\d{1,15}$/.test(id))
    throw new UsageError(`"${id.slice(0, 40)}" is not a number`, 'use the number from the list')
  return id
}

/** Checks the fields of a request. */
export function parseFields<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const path = issue?.path.length ? `${issue.path.join('.')}: ` : ''
  const message = `${path}${issue?.message ?? 'not as expected'}`
  throw new UsageError(message, `docs/guide/http.md and ${ownRoutes.openapi} list the routes`, 'bad_request')
}

function toWire(value: unknown, form: AnswerForm): unknown {
  if (form === 'done') return { ok: true, ...(value as object | undefined) }
  if (typeof form !== 'object') return value
  if ('key' in form) return { [form.key]: value }
  const { rows, ...next } = value as ListPage<unknown>
  return { [form.rows]: rows, ...next }
}
