import { createHmac } from 'node:crypto'
import { request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import type { Clock, Millis } from '../../domain/clock.ts'

const minSecretBytes = 24

/** A webhook to send: an address that the owner configured, and what is sent there. */
interface WebhookRequest {
  url: string
  /** `whsec_` and the key in base64. */
  secret: string
  /** The same for every attempt of one message. */
  id: string
  body: string
  timeoutMs: Millis
  /** Aborted when the process stops. */
  stopping: AbortSignal
}

/** The status that the receiver answered with, or why there was none. */
type WebhookAnswer = { status: number; retryAfter?: Millis } | { error: string }

/**
 * Posts a message to an address of the owner, signed as Standard Webhooks say. Follows no redirect and reads no body. Unlike
 * tools, it reaches private addresses: only the owner names them.
 */
export function postWebhook(hook: WebhookRequest, clock: Clock): Promise<WebhookAnswer> {
  const { promise, resolve } = Promise.withResolvers<WebhookAnswer>()
  const timestamp = String(Math.floor(clock.now() / 1000))
  const url = new URL(hook.url)
  const over = new AbortController()
  const request = (url.protocol === 'https:' ? overHttps : overHttp)(url, {
    method: 'POST',
    agent: false,
    rejectUnauthorized: true,
    signal: AbortSignal.any([over.signal, hook.stopping]),
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(hook.body),
      'user-agent': 'heddle (webhook)',
      'webhook-id': hook.id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signWebhook(hook.secret, { id: hook.id, timestamp, body: hook.body }),
    },
  })
  const answered = new AbortController()
  void clock.sleep(hook.timeoutMs, answered.signal).then(() => {
    if (answered.signal.aborted) return
    resolve({ error: `it did not answer within ${hook.timeoutMs / 1000} s` })
    over.abort()
  })
  request.on('response', (response) => {
    response.resume()
    const seconds = Number(response.headers['retry-after'])
    resolve({ status: response.statusCode ?? 0, ...(seconds > 0 && { retryAfter: seconds * 1000 }) })
    // What else it has to say is of no use, and may be endless.
    response.once('data', () => over.abort())
  })
  request.on('error', (error: NodeJS.ErrnoException) =>
    resolve({
      error: hook.stopping.aborted ? 'heddle stopped before it answered' : `it cannot be reached (${error.code})`,
    }),
  )
  request.end(hook.body)
  return promise.finally(() => answered.abort())
}

/** The signature of a message, in the form of Standard Webhooks. */
export function signWebhook(
  secret: string,
  { id, timestamp, body }: { id: string; timestamp: string; body: string },
): string {
  const key = webhookKey(secret)
  if (!key) throw new Error('the secret of this webhook is not valid')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

/** The key in a secret; undefined if it is too short or not of this form. */
export function webhookKey(secret: string): Buffer | undefined {
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? []
  const key = text === undefined ? undefined : Buffer.from(text, 'base64')
  return key && key.length >= minSecretBytes ? key : undefined
}
