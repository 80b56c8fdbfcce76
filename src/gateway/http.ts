import { isDeepStrictEqual } from 'node:util'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import type { z } from 'zod'
import type { App } from '../api/app.ts'
import type { Heddle } from '../api/heddle.ts'
import type { ListPage } from '../api/views/page.ts'
import { isOwner, type Principal } from '../domain/access/principal.ts'
import type { Clock } from '../domain/clock.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'
import type { Health } from './api.ts'
import type { EventHub } from './event-hub.ts'
import { Follower, type FollowerLimits } from './follower.ts'
import { keyedRequest } from './keyed-request.ts'
import type { LiveTexts } from './live-texts.ts'
import { openapi } from './openapi.ts'
import { noRoute, refuse } from './refusals.ts'
import { type HttpContext, type HttpEnv, jsonBody, lineBody } from './request-body.ts'
import { streamQuery } from './routes/events.ts'
import type { AnswerForm, Fields, Route } from './routes/route.ts'
import { allRoutes, ownRoutes } from './routes/table.ts'
import { sendLines, streamTo } from './stream.ts'

/** How soon the stream of a revoked token ends. */
const recheckTokenMs = 500

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

/** HTTP routes of a Heddle, made from the table. Each request gets the App of its own principal. */
export function routes(context: RouteContext): Hono<HttpEnv> {
  const http = new Hono<HttpEnv>()
  http.onError((error, c) => refuse(c, error, context.onError))
  http.notFound((c) => refuse(c, noRoute(c), context.onError))
  http.get(ownRoutes.health, (c) => c.json(context.health))
  http.get(ownRoutes.openapi, (c) => c.json(openapi(context.health.version)))
  http.get(ownRoutes.events, (c) => follow(c, context))
  // Fixed paths first: `/v1/memories/search` is not the memory "search".
  const byForm = allRoutes.toSorted((a, b) => Number(a.route.idForm !== null) - Number(b.route.idForm !== null))
  for (const { route } of byForm) http.on(route.verb, route.path, (c) => answer(c, route, context))
  return http
}

/** Calls the App for one request. No byte of a body is read before it is known who asks. */
async function answer(c: HttpContext, route: Route, { heddle, clock }: RouteContext): Promise<Response> {
  const { app, principal } = await caller(c, heddle)
  const id = route.idForm === null ? {} : { id: idOf(c, route) }
  const fields = route.takesLines ? {} : await fieldsOf(c, route, clock)
  const lines = lineBody(c, clock, route.takesLines)
  const request = keyedRequest(c, route, { ...fields, ...id })
  const call = () => route.call(app, request.fields, { clock, gone: c.req.raw.signal, lines })
  if (route.answer === 'lines' || route.answer === 'pieces') {
    await sendLines(c.env.outgoing, call() as AsyncIterable<string>, route.answer)
    return RESPONSE_ALREADY_SENT
  }
  const act = async () => toWire(await call(), route.answer)
  const done =
    request.key === undefined ? await act() : await heddle.once(principal, { ...request, key: request.key }, act)
  return c.json(done as object, route.status)
}

/** On whose behalf a request comes, and the App that this principal has. */
async function caller(c: HttpContext, heddle: Heddle): Promise<Caller> {
  const token = bearerToken(c.req.header('authorization'))
  const principal = await heddle.identify(token)
  return { token, principal, app: heddle.as(principal) }
}

interface Caller {
  token: string | undefined
  principal: Principal
  app: App
}

function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const [, token] = /^Bearer ([\x21-\x7e]{1,500})$/i.exec(header) ?? []
  if (token !== undefined) return token
  throw new UsageError(
    'the authorization is not a token',
    'send Authorization: Bearer TOKEN, or leave it out',
    'bad_token',
  )
}

async function follow(c: HttpContext, context: RouteContext): Promise<Response> {
  const { heddle, followers, clock } = context
  const { app, principal, token } = await caller(c, heddle)
  const query = parse(streamQuery, c.req.query())
  // Refuse an invalid cursor before the stream starts.
  if (query.after !== undefined) await app.events({ after: query.after, limit: 1 })
  const follower = new Follower(app, context, { ...query, seesAll: isOwner(principal) }, context)
  followers.add(follower)
  follower.gone.addEventListener('abort', () => followers.delete(follower))
  if (token !== undefined) void endWithRights(follower, principal, () => heddle.identify(token), clock)
  void streamTo(c.env.outgoing, follower)
  return RESPONSE_ALREADY_SENT
}

/** Ends a stream soon after its token is no longer good, or stands for other rights than those that it began with. */
async function endWithRights(
  follower: Follower,
  principal: Principal,
  identify: () => Promise<Principal>,
  clock: Clock,
): Promise<void> {
  while (!follower.gone.aborted) {
    await clock.sleep(recheckTokenMs, follower.gone)
    if (follower.gone.aborted) return
    try {
      if (!isDeepStrictEqual(await identify(), principal)) throw rightsChanged()
    } catch (error) {
      return follower.revoke(error)
    }
  }
}

function rightsChanged(): HeddleError {
  return new HeddleError(
    'rights_changed',
    'the rights of this user have changed',
    'follow again, with what it may see now',
    { retry: 'later' },
  )
}

async function fieldsOf(c: HttpContext, { verb, input }: Route, clock: Clock): Promise<Fields> {
  return parse(input, verb === 'GET' ? c.req.query() : await jsonBody(c, clock))
}

function idOf(c: HttpContext, { idForm }: Route): string {
  const id = c.req.param('id') ?? ''
  if (idForm === 'id' && !/^[0-9a-z]{3,20}$/.test(id))
    throw new UsageError(`"${id.slice(0, 40)}" is not an id`, 'write an id, or its end')
  if (idForm === 'number' && !/^\d{1,15}$/.test(id))
    throw new UsageError(`"${id.slice(0, 40)}" is not a number`, 'the list of these things has it')
  return id
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const path = issue?.path.length ? `${issue.path.join('.')}: ` : ''
  const message = `${path}${issue?.message ?? 'not as expected'}`
  throw new UsageError(message, `docs/guide/daemon.md and ${ownRoutes.openapi} list the routes`, 'bad_request')
}

function toWire(value: unknown, form: AnswerForm): unknown {
  if (form === 'done') return { ok: true, ...(value as object | undefined) }
  if (typeof form !== 'object') return value
  if ('key' in form) return { [form.key]: value }
  const { rows, ...next } = value as ListPage<unknown>
  return { [form.rows]: rows, ...next }
}
