import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono } from 'hono'
import type { z } from 'zod'
import type { App } from '../domain/app.ts'
import type { Clock } from '../domain/clock.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import {
  answerQuery,
  decision,
  eventsQuery,
  nothing,
  plansQuery,
  question,
  reason,
  resultsQuery,
  runsQuery,
  statusQuery,
  taskChange,
  tasksQuery,
  undoing,
  usageQuery,
} from './accepted.ts'
import { type Health, routeNames } from './api.ts'
import type { EventHub } from './event-hub.ts'
import { Follower, type Patience, refusalOf } from './follower.ts'
import type { LiveTexts } from './live-texts.ts'
import { sendTo } from './stream.ts'

// Files come in base64, beside the words.
const mostBytes = 32 * 1024 * 1024

export interface Doorway {
  health: Health
  clock: Clock
  hub: EventHub
  live: LiveTexts
  patience: Patience
  /** Told of what no caller can be told of. */
  onTrouble(error: unknown): void
  /** Every follower, so that all can be sent away. */
  followers: Set<Follower>
}

type Here = Context<{ Bindings: HttpBindings }>

/** What can be asked over HTTP, in terms of the App: every door to the outside serves these routes. */
export function routes(app: App, doorway: Doorway): Hono<{ Bindings: HttpBindings }> {
  const http = new Hono<{ Bindings: HttpBindings }>()
  http.onError((error, c) => refuse(c, error, doorway))
  http.notFound((c) => refuse(c, noRoute(c), doorway))

  http.get(routeNames.health, (c) => c.json(doorway.health))
  http.post(routeNames.inputs, async (c) => {
    const { folder, ...asked } = await body(c, question)
    return c.json({ ok: true, ...(await app.submit(folder, withoutGaps(asked))) }, 202)
  })
  http.get(routeNames.answer, async (c) => {
    const { folder, wait } = query(c, answerQuery)
    return c.json(await answerWithin(app, folder, id(c), wait, c.req.raw.signal, doorway.clock))
  })
  http.get(routeNames.runs, async (c) => c.json({ runs: await app.runs(query(c, runsQuery)) }))
  http.get(routeNames.run, async (c) => c.json(await app.show('/', `run:${id(c)}`)))
  http.post(routeNames.cancel, async (c) =>
    c.json({ ok: true, ...(await app.cancel(id(c), (await body(c, reason)).reason)) }),
  )
  http.post(routeNames.retry, async (c) => {
    await body(c, nothing)
    return c.json({ ok: true, ...(await app.retry(id(c))) }, 202)
  })
  planRoutes(http, app)
  http.get(routeNames.approvals, async (c) => c.json({ approvals: await app.approvals() }))
  http.post(routeNames.decide, async (c) => {
    const said = withoutGaps(await body(c, decision))
    return c.json({ ok: true, ...(await app.decide(c.req.param('id'), said)) })
  })
  http.get(routeNames.grants, async (c) => c.json({ grants: await app.grants() }))
  http.post(routeNames.revoke, async (c) => {
    await body(c, nothing)
    await app.revokeGrant(Number(number(c)))
    return c.json({ ok: true })
  })
  http.post(routeNames.undo, async (c) => c.json(await app.undo(id(c), await body(c, undoing))))
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
    // A cursor that means nothing is refused as such, before a stream begins.
    if (after !== undefined) await app.events({ after, limit: 1 })
    const asked = { ...(after !== undefined && { after }), ...(run !== undefined && { run }) }
    const follower = new Follower(app, doorway, asked, doorway)
    doorway.followers.add(follower)
    follower.gone.addEventListener('abort', () => doorway.followers.delete(follower))
    void sendTo(c.env.outgoing, follower)
    return RESPONSE_ALREADY_SENT
  })
  return http
}

/** Plans, their tasks, and what came of them. */
function planRoutes(http: Hono<{ Bindings: HttpBindings }>, app: App): void {
  http.get(routeNames.plans, async (c) => c.json({ plans: await app.plans(withoutGaps(query(c, plansQuery))) }))
  http.get(routeNames.plan, async (c) => c.json(await app.show('/', `plan:${number(c)}`)))
  http.post(routeNames.cancelPlan, async (c) =>
    c.json({ ok: true, ...(await app.cancel(`plan:${number(c)}`, (await body(c, reason)).reason)) }),
  )
  http.get(routeNames.tasks, async (c) => c.json({ tasks: await app.tasks(withoutGaps(query(c, tasksQuery))) }))
  http.get(routeNames.task, async (c) => c.json(await app.show('/', `task:${number(c)}`)))
  http.post(routeNames.task, async (c) => {
    const change = withoutGaps(await body(c, taskChange))
    return c.json({ ok: true, ...(await app.changeTask(`task:${number(c)}`, change)) })
  })
  http.post(routeNames.cancelTask, async (c) =>
    c.json({ ok: true, ...(await app.cancel(`task:${number(c)}`, (await body(c, reason)).reason)) }),
  )
  http.post(routeNames.retryTask, async (c) => {
    await body(c, nothing)
    return c.json({ ok: true, ...(await app.retry(`task:${number(c)}`)) }, 202)
  })
  http.get(routeNames.results, async (c) => c.json({ results: await app.results(query(c, resultsQuery)) }))
}

/** The answer when it is there, or that it is still under way when the time is up or the caller has gone. */
async function answerWithin(
  app: App,
  folder: string,
  itemId: string,
  seconds: number,
  gone: AbortSignal,
  clock: Clock,
) {
  // Refuses an unknown input at once, instead of waiting for it.
  const now = await app.answer(folder, itemId, AbortSignal.abort())
  if (seconds === 0) return now
  const over = new AbortController()
  const stop = AbortSignal.any([over.signal, gone])
  void clock.sleep(seconds * 1000, stop).then(() => over.abort())
  try {
    return await app.answer(folder, itemId, stop)
  } finally {
    over.abort()
  }
}

function id(c: Here): string {
  const id = c.req.param('id') ?? ''
  if (!/^[0-9a-z]{3,20}$/.test(id)) throw new Misuse(`"${id.slice(0, 40)}" is not an id`, 'write an id, or its end')
  return id
}

function number(c: Here): string {
  const id = c.req.param('id') ?? ''
  if (!/^\d{1,15}$/.test(id))
    throw new Misuse(`"${id.slice(0, 40)}" is not a number`, 'heddle plans and heddle tasks list them')
  return id
}

/** Only JSON that says so: what a page elsewhere can make a browser send does not. */
async function body<T>(c: Here, schema: z.ZodType<T>): Promise<T> {
  if (!/^application\/json(;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new Misuse('the body is not JSON', 'send it with content-type: application/json', 'bad_request')
  const text = await readText(c.env.incoming)
  try {
    return parsed(schema, JSON.parse(text))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Misuse('the body is not JSON', 'send one JSON object', 'bad_request')
  }
}

/** Reads no more than we are willing to hold; what is left is for the server to throw away. */
async function readText(incoming: HttpBindings['incoming']): Promise<string> {
  const pieces: Buffer[] = []
  if (Number(incoming.headers['content-length'] ?? 0) > mostBytes) throw tooLarge()
  let bytes = 0
  try {
    for await (const piece of incoming.iterator({ destroyOnReturn: false })) {
      bytes += piece.length
      if (bytes > mostBytes) throw tooLarge()
      pieces.push(piece)
    }
  } catch (error) {
    throw incoming.complete || error instanceof HeddleError ? error : clientGone(error)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function query<T>(c: Here, schema: z.ZodType<T>): T {
  return parsed(schema, c.req.query())
}

function parsed<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const place = issue?.path.length ? `${issue.path.join('.')}: ` : ''
  throw new Misuse(
    `${place}${issue?.message ?? 'not as expected'}`,
    'docs/guide/daemon.md lists the routes',
    'bad_request',
  )
}

/** Optional fields that were not given are absent, not undefined. */
function withoutGaps<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never
}

function refuse(c: Context, error: unknown, { onTrouble }: Doorway) {
  if (!(error instanceof HeddleError)) onTrouble(error)
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
  if (error instanceof Misuse) return 400
  return error.retry === 'later' ? 503 : 409
}

function noRoute(c: Context): Misuse {
  return new Misuse(
    `there is no ${c.req.method} ${c.req.path.slice(0, 100)}`,
    `there are ${Object.values(routeNames).join(', ')}`,
    'no_route',
  )
}

/** A client that hangs up in the middle of its body ends its own request; nobody is left to be answered. */
function clientGone(cause: unknown): HeddleError {
  return new HeddleError('client_gone', 'the client hung up before its request was complete', 'send it again', {
    retry: 'later',
    cause,
  })
}

function tooLarge(): Misuse {
  return new Misuse(
    `the body is larger than ${mostBytes / 1024 / 1024} MB`,
    'put what is long into a file, and name the file',
    'too_large',
  )
}
