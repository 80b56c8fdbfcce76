import type { IncomingMessage } from 'node:http'
import type { Answered } from '../domain/app.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { type Door, type Health, type Refusal, routeNames } from './api.ts'
import { readTellings } from './event-reader.ts'
import { findSocket } from './socket-place.ts'

const healthWithin: Millis = 5_000
const pollSeconds = 25
const longestReply = 64 * 1024 * 1024

/** A daemon that answers: what can be asked of it, and who it is. */
export interface Daemon extends Door {
  health: Health
  /** The socket it answers on. */
  socket: string
}

/** The daemon of a home, if one is up and answers. One that is there and keeps silent is told of. */
export async function findDaemon(
  runFolder: string,
  clock: Clock,
  onSilence: () => void = () => undefined,
): Promise<Daemon | undefined> {
  const socket = findSocket(runFolder)
  if (socket === undefined) return undefined
  const answered = new AbortController()
  const tooLate = new AbortController()
  void clock.sleep(healthWithin, answered.signal).then(() => answered.signal.aborted || tooLate.abort())
  try {
    const health = await ask<Health>(socket, 'GET', routeNames.health, { signal: tooLate.signal })
    return { ...doorOn(socket, clock), health, socket }
  } catch (error) {
    if (!isGone(error)) throw error
    if (tooLate.signal.aborted) onSilence()
    return undefined
  } finally {
    answered.abort()
  }
}

/** The daemon's process ended or does not answer; what it was asked for may have happened, or not. */
export function isGone(error: unknown): boolean {
  return error instanceof HeddleError && error.code === 'daemon_gone'
}

/** The calls of an App over a socket, with the same answers and the same errors. */
export function doorOn(socket: string, clock: Clock): Door {
  const get = <T>(route: string, query: Record<string, unknown> = {}, signal?: AbortSignal) =>
    ask<T>(socket, 'GET', withQuery(route, query), { ...(signal && { signal }) })
  const post = async <T>(route: string, body: object) => {
    const { ok: _, ...done } = await ask<T & { ok: true }>(socket, 'POST', route, { body })
    return done as T
  }
  return {
    submit: (folder, question) => post(routeNames.inputs, { folder, ...question }),
    async answer(folder, itemId, signal) {
      const route = to(routeNames.answer, itemId)
      while (!signal.aborted) {
        const asked = get<Answered>(route, { folder, wait: pollSeconds }, signal)
        const answered = await asked.catch((error) => (signal.aborted ? undefined : Promise.reject(error)))
        if (answered && (answered.status !== 'waiting' || answered.approvals)) return answered
      }
      return get(route, { folder })
    },
    runs: async (filter = {}) => (await get<{ runs: Awaited<ReturnType<Door['runs']>> }>(routeNames.runs, filter)).runs,
    run: (name) => get(to(routeNames.run, name)),
    cancel: (name, reason) => post(toAny(cancelRoutes, name), { reason }),
    retry: (name) => post(toAny(retryRoutes, name), {}),
    plans: async (filter = {}) =>
      (await get<{ plans: Awaited<ReturnType<Door['plans']>> }>(routeNames.plans, filter)).plans,
    plan: (name) => get(to(routeNames.plan, name, 'plan')),
    tasks: async (filter = {}) =>
      (await get<{ tasks: Awaited<ReturnType<Door['tasks']>> }>(routeNames.tasks, filter)).tasks,
    task: (name) => get(to(routeNames.task, name, 'task')),
    changeTask: (name, change) => post(to(routeNames.task, name, 'task'), change),
    results: async (filter = {}) =>
      (await get<{ results: Awaited<ReturnType<Door['results']>> }>(routeNames.results, filter)).results,
    approvals: async () =>
      (await get<{ approvals: Awaited<ReturnType<Door['approvals']>> }>(routeNames.approvals)).approvals,
    decide: (name, said) => post(to(routeNames.decide, name, 'approval'), said),
    grants: async () => (await get<{ grants: Awaited<ReturnType<Door['grants']>> }>(routeNames.grants)).grants,
    revokeGrant: (id) => post(routeNames.revoke.replace(':id', String(id)), {}),
    undo: (name, options = {}) => ask(socket, 'POST', to(routeNames.undo, name), { body: options }),
    status: (folder, since) => get(routeNames.status, { folder, since }),
    usage: (by, options = {}) => get(routeNames.usage, { by, ...options }),
    cursor: async () => (await get<{ cursor: string | null }>(routeNames.cursor)).cursor,
    stream: ({ after, run, signal }) =>
      readTellings({
        clock,
        signal,
        ...(after !== undefined && { after }),
        open: (from, until) =>
          open(socket, 'GET', withQuery(routeNames.events, { after: from, run }), { signal: until }),
      }),
  }
}

interface Asked {
  body?: object
  signal?: AbortSignal
}

async function ask<T>(socket: string, method: string, path: string, asked: Asked = {}): Promise<T> {
  return readJson<T>(await open(socket, method, path, asked))
}

/** Sends a request and resolves with a response whose status is good; a refusal becomes the error that it tells. */
export async function open(
  socket: string,
  method: string,
  path: string,
  { body, signal }: Asked,
): Promise<IncomingMessage> {
  // Only where there is a daemon: Node takes longer to load it than to start.
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
    sent.on('error', (error) => reject(gone(error)))
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
      if (text.length > longestReply) throw new Error('the answer is too long')
    }
    return JSON.parse(text)
  } catch (error) {
    throw gone(error)
  }
}

function errorFrom({ error }: Refusal, status = 500): HeddleError {
  if (!error?.code) return gone(new Error(`status ${status}`))
  if (status === 400 || status === 413) return new Misuse(error.message, error.remedy, error.code)
  return new HeddleError(error.code, error.message, error.remedy, { retry: error.retry })
}

function gone(cause: unknown): HeddleError {
  return new HeddleError('daemon_gone', 'the daemon does not answer any more', 'start it again: heddle up', {
    retry: 'later',
    cause,
  })
}

/** A name that a person wrote, `run:ID` or a part of an id, as a part of a path. */
function to(route: string, name: string, kind = 'run'): string {
  const id = name.startsWith(`${kind}:`) ? name.slice(kind.length + 1) : name
  return route.replace(':id', encodeURIComponent(id))
}

const cancelRoutes = { run: routeNames.cancel, task: routeNames.cancelTask, plan: routeNames.cancelPlan }
const retryRoutes = { run: routeNames.retry, task: routeNames.retryTask }

/** The route for what a name of any kind means; a bare one, or of a kind that nothing can be done to, is a run's. */
function toAny(routes: { run: string; task: string; plan?: string }, name: string): string {
  if (name.startsWith('task:')) return to(routes.task, name, 'task')
  if (routes.plan !== undefined && name.startsWith('plan:')) return to(routes.plan, name, 'plan')
  return to(routes.run, name)
}

function withQuery(route: string, query: Record<string, unknown>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? route : `${route}?${given}`
}
