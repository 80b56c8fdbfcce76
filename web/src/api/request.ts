import { asSentence } from '../text/format.ts'
import { noteServerTime } from './server-time.ts'
import type { Refusal } from './wire.ts'

/** A refused request: what went wrong and what to do about it, a sentence each. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly status: number
  readonly code: string
  readonly remedy: string
  /** When it was refused, by the clock of the browser. */
  readonly at = Date.now()
  /** Whether the same request may succeed later. */
  readonly canRetry: boolean
  /** The current version, on a conflict. */
  readonly newest: unknown

  constructor(status: number, { code, message, remedy, retry }: Refusal['error'], newest?: unknown) {
    super(asSentence(message))
    this.status = status
    this.code = code
    this.remedy = asSentence(remedy)
    this.canRetry = retry === 'later'
    this.newest = newest
  }
}

type Fields = Record<string, string | number | boolean | undefined>

/** Reads a route of the gateway. Fields without a value are left out. */
export function get<T>(path: string, fields: Fields = {}, signal?: AbortSignal): Promise<T> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value))
  const address = query.size === 0 ? path : `${path}?${query}`
  return send<T>(address, { headers: { accept: 'application/json' }, ...(signal && { signal }) })
}

/** Changes something. A key makes it safe to send the same request twice. */
export function post<T>(path: string, body: object = {}, key?: string): Promise<T> {
  const headers = { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) }
  return send<T>(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function send<T>(address: string, init: RequestInit): Promise<T> {
  const response = await fetch(address, { ...init, credentials: 'same-origin', cache: 'no-store' }).catch(
    refuseUnreachable,
  )
  noteServerTime(response.headers.get('date'))
  // Heddle may also end in the middle of an answer.
  const answer = parseJson(await response.text().catch(refuseUnreachable))
  if (response.ok && answer !== undefined) return answer as T
  if (isRefusal(answer)) throw new RequestError(response.status, answer.error, answer.newest)
  throw new RequestError(response.status, unexpected(response.status))
}

function refuseUnreachable(): never {
  throw new RequestError(0, unreachable)
}

const unreachable = {
  code: 'unreachable',
  message: 'Heddle does not answer',
  remedy: 'start it with heddle up; this page connects by itself',
  retry: 'later',
} as const

function unexpected(status: number): Refusal['error'] {
  return {
    code: 'unexpected_answer',
    message: `Heddle gave an answer that this page does not understand (status ${status})`,
    remedy: 'reload the page; if that does not help, heddle doctor says more',
    retry: 'later',
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isRefusal(answer: unknown): answer is Refusal {
  return typeof answer === 'object' && answer !== null && 'error' in answer && typeof answer.error === 'object'
}

/** A random key, also where the page is not a secure context. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join('')
}
