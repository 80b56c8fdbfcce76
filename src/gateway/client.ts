import type { IncomingMessage } from 'node:http'
import type { Answered } from '../api/views/question.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'
import { type Client, type Health, type Refusal, routeNames } from './api.ts'
import { readEventStream } from './event-reader.ts'
import { findSocket } from './socket-place.ts'

const healthTimeout: Millis = 5_000
const pollSeconds = 25
const maxReplyLength = 64 * 1024 * 1024

/** Client of a daemon that answers, and the daemon's identity. */
export interface Daemon extends Client {
  health: Health
  /** The socket it answers on. */
  socket: string
}

/** Finds the running daemon of a home. Calls `onSilence` if there is one but it does not answer in time. */
export async function findDaemon(
  runFolder: string,
  clock: Clock,
  onSilence: () => void = () => undefined,
): Promise<Daemon | undefined> {
  const socket = findSocket(runFolder)
  if (socket === undefined) return undefined
  const answered = new AbortController()
  const expired = new AbortController()
  void clock.sleep(healthTimeout, answered.signal).then(() => answered.signal.aborted || expired.abort())
  try {
    const health = await ask<Health>(socket, 'GET', routeNames.health, { signal: expired.signal })
    return { ...socketClient(socket, clock), health, socket }
  } catch (error) {
    if (!isDaemonGone(error)) throw error
    if (expired.signal.aborted) onSilence()
    return undefined
  } finally {
    answered.abort()
  }
}

/** Whether the daemon ended or does not answer: the request may or may not have taken effect. */
export function isDaemonGone(error: unknown): boolean {
  return error instanceof HeddleError && error.code === 'daemon_gone'
}

/** Client over a unix socket, with the same results and errors as the App. */
export function socketClient(socket: string, clock: Clock): Client {
  const get = <T>(route: string, query: Record<string, unknown> = {}, signal?: AbortSignal) =>
    ask<T>(socket, 'GET', withQuery(route, query), { ...(signal && { signal }) })
  const post = async <T>(route: string, body: object) => {
    const { ok: _, ...done } = await ask<T & { ok: true }>(socket, 'POST', route, { body })
    return done as T
  }
  return {
    submit: (folder, question) => post(routeNames.inputs, { folder, ...question }),
    async answer(folder, itemId, signal) {
      const route = pathFor(routeNames.answer, itemId)
      while (!signal.aborted) {
        const reply = get<Answered>(route, { folder, wait: pollSeconds }, signal)
        const answered = await reply.catch((error) => (signal.aborted ? undefined : Promise.reject(error)))
        if (answered && (answered.status !== 'waiting' || answered.approvals)) return answered
      }
      return get(route, { folder })
    },
    runs: async (filter = {}) =>
      (await get<{ runs: Awaited<ReturnType<Client['runs']>> }>(routeNames.runs, filter)).runs,
    run: (name) => get(pathFor(routeNames.run, name)),
    cancel: (name, reason) => post(pathForAny(cancelRoutes, name), { reason }),
    retry: (name) => post(pathForAny(retryRoutes, name), {}),
    plans: async (filter = {}) =>
      (await get<{ plans: Awaited<ReturnType<Client['plans']>> }>(routeNames.plans, filter)).plans,
    plan: (name) => get(pathFor(routeNames.plan, name, 'plan')),
    tasks: async (filter = {}) =>
      (await get<{ tasks: Awaited<ReturnType<Client['tasks']>> }>(routeNames.tasks, filter)).tasks,
    task: (name) => get(pathFor(routeNames.task, name, 'task')),
    changeTask: (name, change) => post(pathFor(routeNames.task, name, 'task'), change),
    results: async (filter = {}) =>
      (await get<{ results: Awaited<ReturnType<Client['results']>> }>(routeNames.results, filter)).results,
    approvals: async () =>
      (await get<{ approvals: Awaited<ReturnType<Client['approvals']>> }>(routeNames.approvals)).approvals,
    decide: (name, decision) => post(pathFor(routeNames.decide, name, 'approval'), decision),
    grants: async () => (await get<{ grants: Awaited<ReturnType<Client['grants']>> }>(routeNames.grants)).grants,
    revokeGrant: (id) => post(routeNames.revoke.replace(':id', String(id)), {}),
    undo: (name, options = {}) => ask(socket, 'POST', pathFor(routeNames.undo, name), { body: options }),
    status: (folder, since) => get(routeNames.status, { folder, since }),
    usage: (by, options = {}) => get(routeNames.usage, { by, ...options }),
    cursor: async () => (await get<{ cursor: string | null }>(routeNames.cursor)).cursor,
    stream: ({ after, run, signal }) =>
      readEventStream({
        clock,
        signal,
        ...(after !== undefined && { after }),
        open: (from, until) =>
          sendRequest(socket, 'GET', withQuery(routeNames.events, { after: from, run }), { signal: until }),
      }),
  }
}

interface RequestOptions {
  body?: object
  signal?: AbortSignal
}

async function ask<T>(socket: string, method: string, path: string, options: RequestOptions = {}): Promise<T> {
  return readJson<T>(await sendRequest(socket, method, path, options))
}

/** Sends a request and resolves with a successful response; a refusal is thrown as its error. */
async function sendRequest(
  socket: string,
  method: string,
  path: string,
  { body, signal }: RequestOptions,
): Promise<IncomingMessage> {
  // Loaded only when there is a daemon: loading it takes longer than starting Node.
  const { request } = await import('node:http')
  const text = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const sent = request({
      socketPath: socket,
      method,
      path,
      agent: false,
      headers:
        text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
      ...(signal && { signal }),
    })
    sent.on('error', (error) => reject(daemonGone(error)))
    sent.once('response', (response) => {
      if ((response.statusCode ?? 500) < 400) return resolve(response)
      readJson<Refusal>(response).then((refusal) => reject(errorFrom(refusal, response.statusCode)), reject)
    })
    sent.end(text)
  })
}

async function readJson<T>(response: IncomingMessage): Promise<T> {
  let text = ''
  try {
    for await (const piece of response.setEncoding('utf8')) {
      text += piece
      if (text.length > maxReplyLength) throw new Error('the answer is too long')
    }
    return JSON.parse(text)
  } catch (error) {
    throw daemonGone(error)
  }
}

function errorFrom({ error }: Refusal, status = 500): HeddleError {
  if (!error?.code) return daemonGone(new Error(`status ${status}`))
  if (status === 400 || status === 413) return new UsageError(error.message, error.remedy, error.code)
  return new HeddleError(error.code, error.message, error.remedy, { retry: error.retry })
}

function daemonGone(cause: unknown): HeddleError {
  return new HeddleError('daemon_gone', 'the daemon no longer answers', 'start it again: heddle up', {
    retry: 'later',
    cause,
  })
}

/** Path of a route for a reference as the user wrote it: `run:ID`, or part of an id. */
function pathFor(route: string, name: string, kind = 'run'): string {
  const id = name.startsWith(`${kind}:`) ? name.slice(kind.length + 1) : name
  return route.replace(':id', encodeURIComponent(id))
}

const cancelRoutes = { run: routeNames.cancel, task: routeNames.cancelTask, plan: routeNames.cancelPlan }
const retryRoutes = { run: routeNames.retry, task: routeNames.retryTask }

/** Path of the route for a reference of any kind; a bare id or an unsupported kind is treated as a run. */
function pathForAny(routes: { run: string; task: string; plan?: string }, name: string): string {
  if (name.startsWith('task:')) return pathFor(routes.task, name, 'task')
  if (routes.plan !== undefined && name.startsWith('plan:')) return pathFor(routes.plan, name, 'plan')
  return pathFor(routes.run, name)
}

function withQuery(route: string, query: Record<string, unknown>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value))
  return parameters.size === 0 ? route : `${route}?${parameters}`
}
