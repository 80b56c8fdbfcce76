import type { Clock, Millis } from '../../../domain/clock.ts'
import type { RequestedCall } from '../../../domain/model.ts'
import type { CallContext, ToolOutcome } from '../../../domain/tools/tool.ts'
import { makeCall, type ReadyCall } from '../../../tools/call.ts'
import type { Limits } from '../../runtime.ts'
import { type CallCycle, type Journal, unknownOutcome } from '../context/journal.ts'

const defaultTimeoutMs: Millis = 600_000
/** Max non-transactional calls of one reply, in total and at a time. */
const maxCalls = 64
const maxConcurrent = 8
/** Max transactional calls of one transaction, so that others do not wait for long. */
const maxTogether = 32
/** Number of identical calls with identical answers after which the call is refused, and after which the run ends. */
const maxRepeats = 5
const hopelessRepeats = 10

/** Makes a tool call with a timeout: the tool's signal aborts, and its outcome is no longer awaited. */
export async function callWithTimeout(clock: Clock, ready: ReadyCall, context: CallContext): Promise<ToolOutcome> {
  const [finished, expired] = [new AbortController(), new AbortController()]
  const limit = ready.tool.deadlineMs ?? defaultTimeoutMs
  const signal = AbortSignal.any([context.signal, expired.signal])
  const timeout = clock.sleep(limit, finished.signal).then(() => {
    if (!finished.signal.aborted) expired.abort()
    return timedOut(ready, limit)
  })
  try {
    return await Promise.race([makeCall(ready, { ...context, signal }), timeout])
  } catch (error) {
    if (expired.signal.aborted && !context.signal.aborted) return timedOut(ready, limit)
    throw error
  } finally {
    finished.abort('finished')
  }
}

/** Max wait for what a stopped command has left: killing it and scanning a folder takes a fraction of that. */
const stoppedWaitMs: Millis = 1500

/**
 * Outcome of a command whose run was stopped: it is killed, and nothing of it runs any more. What it did besides changing files stays
 * unknown. Undefined if the files were not scanned in time.
 */
export async function stoppedOutcome(
  clock: Clock,
  { tool }: ReadyCall,
  making: Promise<ToolOutcome>,
): Promise<ToolOutcome | undefined> {
  if (!tool.touchesFolder) return undefined
  const waited = new AbortController()
  const late = clock.sleep(stoppedWaitMs, waited.signal).then(() => undefined)
  const made = await Promise.race([making.catch(() => undefined), late]).finally(() => waited.abort('over'))
  return made?.touched ? { ...made, status: 'unknown', output: unknownOutcome } : undefined
}

/** How calls are made. */
interface CallMaker {
  one(call: ReadyCall): Promise<void>
  /** Transactional calls, in one transaction. */
  transactional(calls: readonly ReadyCall[]): Promise<void>
}

/** Makes calls concurrently, then one by one those whose grant may lapse, then those that must come last. */
export async function runConcurrently(calls: ReadyCall[], make: CallMaker): Promise<void> {
  await callConcurrently(
    calls.filter(({ tool, grant }) => !tool.runsLast && !grant),
    make,
  )
  for (const call of calls.filter(({ grant }) => grant)) await callConcurrently([call], make)
  await callConcurrently(
    calls.filter(({ tool }) => tool.runsLast),
    make,
  )
}

/** Makes calls concurrently, non-transactional ones up to `maxConcurrent`. Throws the first error once all have finished. */
async function callConcurrently(calls: ReadyCall[], make: CallMaker): Promise<void> {
  const waiting = calls.filter(({ tool }) => tool.effect !== 'transactional')
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await make.one(next)
  }
  const rows = inTransactions(calls).map((group) => make.transactional(group))
  const results = await Promise.allSettled([...rows, ...Array.from({ length: maxConcurrent }, lane)])
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

/** Transactional calls, grouped by the transactions that make them. Those that lock sessions first are made alone. */
function inTransactions(calls: readonly ReadyCall[]): ReadyCall[][] {
  const groups: ReadyCall[][] = []
  let open: ReadyCall[] = []
  for (const call of calls) {
    if (call.tool.effect !== 'transactional') continue
    if (call.tool.guarded) groups.push([call])
    else {
      if (open.length % maxTogether === 0) {
        open = []
        groups.push(open)
      }
      open.push(call)
    }
  }
  return groups
}

/** Refuses a call that exceeds a limit: too many calls in the reply, too many agents in the turn, or a repeated call. */
export function limitRefusal(
  { journal, engine }: { journal: Journal; engine: { limits: Limits } },
  { tool, call }: ReadyCall,
  before: { calls: number; spawns: number },
): ToolOutcome | undefined {
  if (tool.effect !== 'transactional' && before.calls >= maxCalls) return tooMany
  const maxSpawns = engine.limits.maxSpawnsPerTurn
  if (tool.startsAgent && journal.spawns.started + before.spawns >= maxSpawns) return tooManySpawns(maxSpawns)
  const cycle = journal.cycleOf(call)
  return cycle.times >= maxRepeats ? repeated(call, cycle) : undefined
}

/** Why a run must end that keeps making refused calls. Call it before the refusals are journalled. */
export function loopingReason(
  { journal, engine }: { journal: Journal; engine: { limits: Limits } },
  refused: readonly { call: RequestedCall; outcome: ToolOutcome }[],
): string | undefined {
  const maxSpawns = engine.limits.maxSpawnsPerTurn
  const spawns = journal.spawns.refused + refused.filter(({ outcome }) => outcome.overLimit).length
  if (spawns >= maxSpawns) return `the model kept trying to start more than ${maxSpawns} agents in one turn`
  const cycles = refused.map(({ call }) => ({ call, ...journal.cycleOf(call) }))
  const found = cycles.find(({ times }) => times + 1 >= hopelessRepeats)
  if (!found) return undefined
  const { call, length } = found
  if (length === 1) return `the model made the same call of ${call.name} ${hopelessRepeats} times in a row`
  return `the model made the same cycle of ${length} calls ${hopelessRepeats} times in a row, with the same answers`
}

function timedOut({ tool, call }: ReadyCall, limit: Millis): ToolOutcome {
  const status = tool.effect === 'unsafe' ? 'unknown' : 'error'
  const error = `${call.name} took longer than ${Math.round(limit / 1000)} s and was stopped`
  const remedy =
    status === 'unknown' ? 'it may have run completely or partly: check before you repeat it' : 'ask for less'
  return { status, output: { status, error, remedy } }
}

function repeated({ name }: RequestedCall, { length }: CallCycle): ToolOutcome {
  const others = `${length - 1} other call${length === 2 ? '' : 's'}`
  const how = length === 1 ? '' : ` (alternating with ${others})`
  const error = `you called ${name} with the same input ${maxRepeats} times in a row${how} and got the same answer each time`
  const remedy = 'do something else, or answer with what you know'
  return { status: 'error', output: { status: 'error', error, remedy }, repeated: true }
}

function tooManySpawns(maxSpawns: number): ToolOutcome {
  const error = `you have started ${maxSpawns} agents in this turn, which is the limit (tools.subagents.maxPerTurn)`
  const remedy = 'end your turn: you are called again with their results, and can start others then'
  return { status: 'error', output: { status: 'error', error, remedy }, overLimit: true }
}

const tooMany: ToolOutcome = {
  status: 'error',
  output: {
    status: 'error',
    error: `only ${maxCalls} calls of one reply are made`,
    remedy: 'make the others in your next reply, as far as they are needed',
  },
}
