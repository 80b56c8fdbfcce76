import type { Clock, Millis } from '../domain/clock.ts'
import type { RequestedCall } from '../domain/model.ts'
import type { CallContext, ToolOutcome } from '../domain/tool.ts'
import { makeCall, type ReadyCall } from '../tools/call.ts'
import type { Journal } from './journal.ts'

const usualDeadline: Millis = 600_000
/** Calls of one reply that reach out of the rows: how many are made, and how many at a time. */
const mostCalls = 64
const mostAtOnce = 8
/** The same call with the same answer: from so many on it is not made, and from so many on the run ends. */
const mostRepeats = 5
export const hopelessRepeats = 10

/** Whatever a tool does, its call ends: when its time is up it is told to stop, and nobody waits for it any longer. */
export async function makeInTime(clock: Clock, ready: ReadyCall, context: CallContext): Promise<ToolOutcome> {
  const [over, late] = [new AbortController(), new AbortController()]
  const limit = ready.tool.deadlineMs ?? usualDeadline
  const signal = AbortSignal.any([context.signal, late.signal])
  const timeUp = clock.sleep(limit, over.signal).then(() => {
    if (!over.signal.aborted) late.abort()
    return tooLate(ready, limit)
  })
  try {
    return await Promise.race([makeCall(ready, { ...context, signal }), timeUp])
  } catch (error) {
    if (late.signal.aborted && !context.signal.aborted) return tooLate(ready, limit)
    throw error
  } finally {
    over.abort()
  }
}

/** Makes calls side by side, then one by one those that rest on a grant which could lapse, then those that come last. */
export async function sideBySide(calls: ReadyCall[], make: (call: ReadyCall) => Promise<void>): Promise<void> {
  await together(
    calls.filter(({ tool, grant }) => !tool.comesLast && !grant),
    make,
  )
  for (const call of calls.filter(({ grant }) => grant)) await make(call)
  await together(
    calls.filter(({ tool }) => tool.comesLast),
    make,
  )
}

/** Those that reach out of the rows only some at a time; fails with the first that fails. */
async function together(calls: ReadyCall[], make: (call: ReadyCall) => Promise<void>): Promise<void> {
  const waiting = calls.filter(({ tool }) => tool.effect !== 'transactional')
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await make(next)
  }
  const rows = calls.filter(({ tool }) => tool.effect === 'transactional').map(make)
  const results = await Promise.allSettled([...rows, ...Array.from({ length: mostAtOnce }, lane)])
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

/** Why a call is not made although it could be: it leads nowhere, or there are too many beside it. */
export function whyNotMade(journal: Journal, { tool, call }: ReadyCall, before: number): ToolOutcome | undefined {
  if (tool.effect !== 'transactional' && before >= mostCalls) return tooMany
  return journal.repeatsOf(call) >= mostRepeats ? repeated(call) : undefined
}

function tooLate({ tool, call }: ReadyCall, limit: Millis): ToolOutcome {
  const status = tool.effect === 'unsafe' ? 'unknown' : 'error'
  const error = `${call.name} took longer than ${Math.round(limit / 1000)} s and was told to stop`
  const remedy =
    status === 'unknown' ? 'it may have happened, wholly or partly: check before you repeat it' : 'ask for less'
  return { status, output: { status, error, remedy } }
}

function repeated({ name }: RequestedCall): ToolOutcome {
  const error = `you have made this very call of ${name} ${mostRepeats} times in a row, always with the same answer`
  const remedy = 'do something else, or answer with what you know'
  return { status: 'error', output: { status: 'error', error, remedy }, repeated: true }
}

const tooMany: ToolOutcome = {
  status: 'error',
  output: {
    status: 'error',
    error: `only ${mostCalls} calls of one reply are made`,
    remedy: 'make the others in your next reply, as far as they are needed',
  },
}
