import type { Clock, Millis } from '../domain/clock.ts'
import type { RequestedCall } from '../domain/model.ts'
import type { CallContext, ToolOutcome } from '../domain/tool.ts'
import { makeCall, type ReadyCall } from '../tools/call.ts'
import type { Circle, Journal } from './journal.ts'
import type { Limits } from './world.ts'

const usualDeadline: Millis = 600_000
/** Calls of one reply that reach out of the rows: how many are made, and how many at a time. */
const mostCalls = 64
const mostAtOnce = 8
/** The same call with the same answer: from so many on it is not made, and from so many on the run ends. */
const mostRepeats = 5
const hopelessRepeats = 10

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

/** Why a call is not made although it could be: it leads nowhere, or there are too many beside it or before it. */
export function whyNotMade(
  { journal, engine }: { journal: Journal; engine: { limits: Limits } },
  { tool, call }: ReadyCall,
  before: readonly ReadyCall[],
): ToolOutcome | undefined {
  if (tool.effect !== 'transactional' && before.length >= mostCalls) return tooMany
  const spawns = before.filter((each) => each.tool.sink === 'agents').length
  const most = engine.limits.maxSpawnsPerTurn
  if (tool.sink === 'agents' && journal.spawns.begun + spawns >= most) return tooManySpawns(most)
  const circle = journal.circleOf(call)
  return circle.times >= mostRepeats ? repeated(call, circle) : undefined
}

/** Why a run ends that goes on although it is told, now again, that it leads nowhere. Before these are in its journal. */
export function whyHopeless(
  { journal, engine }: { journal: Journal; engine: { limits: Limits } },
  refused: readonly { call: RequestedCall; outcome: ToolOutcome }[],
): string | undefined {
  const most = engine.limits.maxSpawnsPerTurn
  const spawns = journal.spawns.refused + refused.filter(({ outcome }) => outcome.overLimit).length
  if (spawns >= most) return `the model went on trying to start more than ${most} agents in one turn`
  const circles = refused.map(({ call }) => ({ call, ...journal.circleOf(call) }))
  const found = circles.find(({ times }) => times + 1 >= hopelessRepeats)
  if (!found) return undefined
  const { call, length } = found
  if (length === 1) return `the model made the same call of ${call.name} ${hopelessRepeats} times in a row`
  return `the model made the same ${length} calls by turns, ${hopelessRepeats} times in a row, with the same answers`
}

function tooLate({ tool, call }: ReadyCall, limit: Millis): ToolOutcome {
  const status = tool.effect === 'unsafe' ? 'unknown' : 'error'
  const error = `${call.name} took longer than ${Math.round(limit / 1000)} s and was told to stop`
  const remedy =
    status === 'unknown' ? 'it may have happened, wholly or partly: check before you repeat it' : 'ask for less'
  return { status, output: { status, error, remedy } }
}

function repeated({ name }: RequestedCall, { length }: Circle): ToolOutcome {
  const how = length === 1 ? 'in a row' : `in a row, by turns with ${length - 1} other`
  const error = `you have made this very call of ${name} ${mostRepeats} times ${how}, always with the same answer`
  const remedy = 'do something else, or answer with what you know'
  return { status: 'error', output: { status: 'error', error, remedy }, repeated: true }
}

function tooManySpawns(most: number): ToolOutcome {
  const error = `you have started ${most} agents in this turn, the most that is allowed (tools.subagents.maxPerTurn)`
  const remedy = 'end your turn: you are woken with their results, and can start others then'
  return { status: 'error', output: { status: 'error', error, remedy }, overLimit: true }
}

const tooMany: ToolOutcome = {
  status: 'error',
  output: {
    status: 'error',
    error: `only ${mostCalls} calls of one reply are made`,
    remedy: 'make the others in your next reply, as far as they are needed',
  },
}
