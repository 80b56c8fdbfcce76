import type { App } from '../api/app.ts'
import type { RequestAnswer } from '../api/views/question.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import type { Client, Health, Me, StreamItem } from './api.ts'
import { type Address, ask, type DaemonRequest, isDaemonGone, sendRequest, streamedLines } from './daemon-request.ts'
import { readEventStream } from './event-reader.ts'
import { namedViews } from './named-views.ts'
import type { AnswerForm, Route, SentFields } from './routes/route.ts'
import { ownRoutes, type RoutedMethod, routeTable } from './routes/table.ts'
import { findSocket } from './socket-place.ts'

const healthTimeout: Millis = 5_000
const pollSeconds = 25

/** Client of a daemon that answers, and the daemon's identity. */
export interface Daemon extends Client {
  health: Health
  /** The socket or the address that it answers on. */
  place: string
}

/** Finds the running daemon of a home. Calls `onSilence` if there is one but it does not answer in time. */
export async function findDaemon(
  runFolder: string,
  { clock, token, onSilence = () => undefined }: { clock: Clock; token?: string; onSilence?(): void },
): Promise<Daemon | undefined> {
  const socket = findSocket(runFolder)
  if (socket === undefined) return undefined
  const answered = new AbortController()
  const expired = new AbortController()
  void clock.sleep(healthTimeout, answered.signal).then(() => answered.signal.aborted || expired.abort())
  const address = { socket, ...(token !== undefined && { token }) }
  try {
    const health = await ask<Health>(address, { verb: 'GET', path: ownRoutes.health, signal: expired.signal })
    return { ...daemonClient(address, clock), health, place: socket }
  } catch (error) {
    if (!isDaemonGone(error)) throw error
    if (expired.signal.aborted) onSilence()
    return undefined
  } finally {
    answered.abort()
  }
}

/** A daemon on another machine. */
interface RemoteDaemon extends Daemon {
  /** Folder there to work in; null for an admin, who has none. */
  folder: string | null
}

/** The daemon at an address of another machine; throws if none answers there, or the token is not good. */
export async function remoteDaemon(url: string, token: string, clock: Clock): Promise<RemoteDaemon> {
  const address = { url, token }
  const expired = new AbortController()
  const answered = new AbortController()
  void clock.sleep(healthTimeout, answered.signal).then(() => answered.signal.aborted || expired.abort())
  try {
    const [health, { folder }] = await Promise.all([
      ask<Health>(address, { verb: 'GET', path: ownRoutes.health, signal: expired.signal }),
      ask<Me>(address, { verb: 'GET', path: ownRoutes.me, signal: expired.signal }),
    ])
    return { ...daemonClient(address, clock), health, place: url, folder }
  } finally {
    answered.abort()
  }
}

/** Client over a unix socket or TCP, made from the table of routes: the same results and errors as the App. */
export function daemonClient(address: Address, clock: Clock): Client {
  const methods = Object.keys(routeTable) as RoutedMethod[]
  // Each method is built from its own routes; the table's type has one for every method.
  const routed = Object.fromEntries(
    methods.map((method) => [method, (...args: unknown[]) => call(address, method, args)]),
  ) as unknown as Pick<App, RoutedMethod>
  const stream: Client['stream'] = ({ after, run, signal }) =>
    readEventStream({
      clock,
      signal,
      ...(after !== undefined && { after }),
      open: (from, until) =>
        sendRequest(address, {
          verb: 'GET',
          path: withQuery(ownRoutes.events, { after: from, run }),
          signal: until,
        }),
    })
  return {
    ...routed,
    answer: (folder, itemId, signal) => pollAnswer(address, { folder, id: itemId }, signal),
    follow: (query) => eventsOf(stream(query)),
    ...namedViews(routed),
    stream,
  }
}

/** Calls a method by the first of its routes that its arguments fit. */
function call(address: Address, method: RoutedMethod, args: unknown[]): unknown {
  for (const route of routeTable[method]) {
    const fields = route.fieldsOf(args)
    if (fields) return send(address, route, fields, args)
  }
  throw new Error(`no route of ${method} takes these arguments`)
}

function send(address: Address, route: Route, fields: SentFields, args: readonly unknown[]): unknown {
  const request = requestFor(route, fields, args)
  if (route.answer === 'lines') return linesFrom(address, request)
  if (route.answer === 'pieces') return piecesFrom(address, request)
  return ask(address, request).then((answer) => fromWire(answer, route.answer))
}

async function* linesFrom(address: Address, request: DaemonRequest): AsyncIterable<string> {
  yield* streamedLines(await sendRequest(address, request))
}

async function* piecesFrom(address: Address, request: DaemonRequest): AsyncIterable<string> {
  for await (const line of linesFrom(address, request)) yield JSON.parse(line)
}

function requestFor({ verb, path, takesLines }: Route, fields: SentFields, args: readonly unknown[]): DaemonRequest {
  const { id = '', ...rest } = fields
  const at = path.replace(':id', () => encodeURIComponent(id.toWellFormed()))
  if (verb === 'GET') return { verb, path: withQuery(at, rest) }
  return takesLines ? { verb, path: at, lines: args[0] as AsyncIterable<string> } : { verb, path: at, body: rest }
}

/** Asks again and again, each time for as long as the daemon waits, until there is an answer or the caller has enough. */
async function pollAnswer(address: Address, fields: { folder: string; id: string }, signal: AbortSignal) {
  const [route] = routeTable.answer
  const poll = (wait: number, until?: AbortSignal) =>
    ask<RequestAnswer>(address, { ...requestFor(route, { ...fields, wait }, []), ...(until && { signal: until }) })
  while (!signal.aborted) {
    const answered = await poll(pollSeconds, signal).catch((error) =>
      signal.aborted ? undefined : Promise.reject(error),
    )
    if (answered && (answered.status !== 'waiting' || answered.approvals)) return answered
  }
  return poll(0)
}

async function* eventsOf(stream: AsyncIterable<StreamItem>) {
  for await (const item of stream) if (item.kind === 'event') yield item.event
}

function fromWire(answer: unknown, form: AnswerForm): unknown {
  if (typeof form === 'object' && 'key' in form) return (answer as Record<string, unknown>)[form.key]
  if (typeof form === 'object') {
    const { [form.rows]: rows, ...next } = answer as Record<string, unknown>
    return { rows, ...next }
  }
  if (form !== 'done') return answer
  const { ok: _, ...done } = answer as { ok: true }
  return Object.keys(done).length === 0 ? undefined : done
}

function withQuery(route: string, query: Record<string, unknown>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value))
  return parameters.size === 0 ? route : `${route}?${parameters}`
}
