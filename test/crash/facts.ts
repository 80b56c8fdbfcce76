import { createHash } from 'node:crypto'
import { splitNote } from '../../src/testing/trailing-note.ts'
import type { Evidence, Moment, ProviderLine, Row } from './evidence.ts'

/** Notes a problem unless the first argument holds. */
export type Expect = (holds: boolean, invariant: string, problem: string) => void

export const terminal = ['completed', 'failed', 'timeout', 'cancelled']

export function isTerminal(run: Row): boolean {
  return terminal.includes(String(run['state']))
}

/** What was worked at; turns made by hand have runs, too, which nobody ran. */
export function runsIn({ rows }: Moment): Row[] {
  return rows.runs.filter(({ kind }) => kind !== 'import')
}

/** A request to the provider, and whose it is. */
export interface Asked extends ProviderLine {
  runId: string
  epoch: number
  call: number
}

/** What the provider was asked, in order, by run and call. The time, which ends each request, is no part of it. */
export function requestsIn({ provider }: Moment): Asked[] {
  return provider
    .filter(({ kind }) => kind === 'received')
    .map((line) => ({
      ...line,
      ...(line.body && { body: splitNote(line.body).body as typeof line.body }),
      ...idOf(line),
    }))
}

/** Came after that moment. */
export function isLate({ n }: Asked, moment: Moment): boolean {
  return !moment.provider.some((line) => line.n === n)
}

/**
 * Was paid for by that moment: a request that is on its way when its process falls asleep arrives when it wakes. Nothing
 * can call it back, and it counts as lost.
 */
export function wasUnderWay({ runId, call }: Asked, { rows, isAsleep }: Moment): boolean {
  return isAsleep && rows.usage.some((row) => row['run_id'] === runId && row['call'] === call)
}

/** What the provider was asked, without what had long been on its way when it arrived. */
export function inTimeIn(evidence: Evidence): Asked[] {
  const isUnderWay = (request: Asked) =>
    evidence.moments.some((moment) => isLate(request, moment) && wasUnderWay(request, moment))
  return requestsIn(evidence).filter((request) => !isUnderWay(request))
}

/** `run/epoch/call`, as the header of each request says. */
export function idOf({ run }: ProviderLine): { runId: string; epoch: number; call: number } {
  const [runId = '', epoch, call] = (run ?? '').split('/')
  return { runId, epoch: Number(epoch), call: Number(call) }
}

export function userTexts(request: ProviderLine | undefined): string[] {
  const users = request?.body?.messages.filter(({ role }) => role === 'user') ?? []
  return users.map(({ content }) =>
    typeof content === 'string' ? content : (content as { text: string }[]).map(({ text }) => text).join(''),
  )
}

/** The events of a run, in their order. */
export function eventsOf({ rows }: Moment, run: string): Row[] {
  return rows.events.filter(({ subject }) => subject === `run:${run}`)
}

/** Steps of a run that begin or end a call, with what they say. */
export function callSteps({ rows }: Moment, kind: 'begun' | 'ended') {
  return rows.steps
    .filter((step) => step['kind'] === kind)
    .map((step) => ({ runId: String(step['run_id']), ...json(step, 'payload_json') }))
}

// biome-ignore lint/suspicious/noExplicitAny: the checker knows the columns' shapes from the schema alone.
export function json(row: Row, column: string): any {
  return JSON.parse(String(row[column]))
}

/** Whether a stored text is this one, or the tombstone of it. */
export function isStored(text: string, stored: string): boolean {
  const hash = createHash('sha256').update(text).digest('hex')
  return stored === text || stored === `[removed: ${text.length} characters, sha256 ${hash}]`
}
