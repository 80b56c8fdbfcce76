import type { Millis } from '../../domain/clock.ts'
import { HeddleError, StorageFailure } from '../../domain/errors.ts'
import type { DeliveryKind } from '../../domain/jobs/job.ts'
import type { OutboxMessage } from '../../domain/jobs/outbox.ts'
import { labelFor } from '../../domain/session.ts'
import { dueMessages, endAttempt, sendTimes, takeMessage } from '../../store/rows/jobs/outbox.ts'
import type { Tx } from '../../store/store.ts'
import { delimit, newBoundary } from '../run/delimit.ts'
import { resolvePrincipal } from '../run/sender.ts'
import { acceptInput, type InputIds, lockInputSession, newInputIds } from '../run/submit.ts'
import type { DueSource } from '../run/worker/due.ts'
import { batches } from '../run/worker/recover.ts'
import type { Runtime } from '../runtime.ts'
import { retryIfTaken } from '../turns/append.ts'
import { areJobsHeld } from './fire.ts'

/** Why a message did not arrive, and whether trying again can help. */
export interface SendFailure {
  error: string
  isFinal?: boolean
  /** As the receiver asks for it. */
  retryAfter?: Millis
}

/**
 * Sends a message; resolves with why it did not arrive. Must not throw, and must end within `sendTimeout`, soon after
 * `stopping` is aborted.
 */
type MessageSender = (message: OutboxMessage, stopping: AbortSignal) => Promise<SendFailure | undefined>

/** Senders to places outside the database. */
export type Senders = Record<Exclude<DeliveryKind, 'session'>, MessageSender>

/** Max time of one attempt. */
export const sendTimeout: Millis = 30_000
/** After this time an attempt without an end is taken for lost with its process, and the message is sent again. */
const lostAfter: Millis = 2 * sendTimeout
const maxAttempts = 8
const firstPause: Millis = 10_000
const maxSendPause: Millis = 3_600_000
const maxDue = 200
/** Max messages that are being sent at once. */
const maxUnderWay = 16

/**
 * Messages that wait to be sent. One is sent at least once: a process that dies between sending and its commit leaves it to
 * be sent again, with the same id, by which the receiver can tell. To a session of this database it goes exactly once.
 * Sending is not waited for: a receiver that does not answer must not delay whatever else is due.
 */
export function timedMessages(
  runtime: Runtime,
  { senders, onError }: { senders: Senders; onError(error: unknown): void },
): DueSource {
  const { store } = runtime
  const underWay = new Map<number, Promise<void>>()
  const stopping = new AbortController()
  const send = (message: OutsideMessage) =>
    sendMessage(runtime, message, (attempt) => senders[attempt.kind](attempt, stopping.signal))
      .catch(onError)
      .finally(() => underWay.delete(message.id))
  return {
    async next(rows, now) {
      const times = await sendTimes(rows)
      if (times === undefined || (await areJobsHeld(rows))) return undefined
      return times.last > latestRetry(now) ? now : times.first
    },
    async handle(now) {
      const due = await store.read((rows) => dueMessages(rows, { now, latest: latestRetry(now), limit: maxDue }))
      for (const batch of batches(due.filter(({ kind }) => kind === 'session')))
        await Promise.all(batch.map((message) => deliverToSession(runtime, message)))
      for (const message of due)
        if (isOutside(message) && !underWay.has(message.id) && underWay.size < maxUnderWay)
          underWay.set(message.id, send(message))
    },
    async stop() {
      stopping.abort()
      await Promise.all(underWay.values())
    },
  }
}

type OutsideMessage = OutboxMessage & { kind: keyof Senders }

/** No message waits longer than to this time: a later one was set by a clock that was ahead. */
function latestRetry(now: Millis): Millis {
  return now + maxSendPause
}

async function sendMessage(
  { store, clock }: Runtime,
  message: OutsideMessage,
  send: (attempt: OutsideMessage) => Promise<SendFailure | undefined>,
): Promise<void> {
  const lostAt = clock.now() + lostAfter
  if (!(await store.write('send', (tx) => takeMessage(tx, message, lostAt)))) return
  const attempt = nextAttempt(message)
  const failure = await send(attempt)
  await store.write('send', (tx) => endAttempt(tx, attempt, endOf(attempt, failure, clock.now())))
}

function isOutside(message: OutboxMessage): message is OutsideMessage {
  return message.kind !== 'session'
}

function nextAttempt<T extends OutboxMessage>(message: T): T {
  return { ...message, attempts: message.attempts + 1 }
}

function endOf({ attempts }: OutboxMessage, failure: SendFailure | undefined, now: Millis) {
  if (!failure) return { state: 'sent' as const, at: now }
  const { error } = failure
  if (failure.isFinal || attempts >= maxAttempts) return { state: 'dead' as const, error }
  const pause = Math.max(firstPause * 3 ** (attempts - 1), failure.retryAfter ?? 0)
  return { state: 'queued' as const, nextAt: now + Math.min(pause, maxSendPause), error }
}

/** Gives a message to a session; the input and the message's end commit together. */
async function deliverToSession(runtime: Runtime, message: OutboxMessage): Promise<void> {
  const { store, clock } = runtime
  const ids = newInputIds(runtime)
  const boundary = newBoundary(runtime)
  try {
    await retryIfTaken(runtime, 'send', (tx) => acceptMessage(tx, message, { ids, boundary, now: clock.now() }))
  } catch (error) {
    if (!(error instanceof HeddleError) || error instanceof StorageFailure || error.retry === 'later') throw error
    await store.write('send', async (tx) => {
      if (await takeMessage(tx, message, clock.now()))
        await endAttempt(tx, nextAttempt(message), { state: 'dead', error: error.message })
    })
  }
}

async function acceptMessage(
  tx: Tx,
  message: OutboxMessage,
  { ids, boundary, now }: { ids: InputIds; boundary: string; now: Millis },
): Promise<void> {
  const { folder, principal } = message
  const sender = await resolvePrincipal(tx, principal)
  const target = { folder, label: labelFor(principal, message.to), ids, now }
  const session = await lockInputSession(tx, target, sender)
  if (!(await takeMessage(tx, message, now))) return
  await endAttempt(tx, nextAttempt(message), { state: 'sent', at: now })
  await acceptInput(tx, {
    ...target,
    session,
    content: sessionText(message, boundary),
    kind: 'system',
    source: 'cron',
    via: 'cron',
    trust: message.label,
    principal: sender,
    dedupeKey: `outbox:${message.id}`,
    options: {},
  })
}

/** The runtime's own line, then what a model wrote, as data. */
function sessionText({ title, content }: OutboxMessage, boundary: string): string {
  if (content === '') return title
  return [title, '', delimit(content, { boundary, author: "the job's run" })].join('\n')
}
