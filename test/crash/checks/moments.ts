import type { Evidence, Moment, Row, Rows } from '../evidence.ts'
import { type Expect, isLate, isTerminal, requestsIn, runsIn, wasUnderWay } from '../facts.ts'
import { checkOrphans } from './children.ts'
import { checkBudget, checkTotals } from './ledger.ts'
import { checkChains, checkSteps } from './tree.ts'

// Rows that are written once. Others change as their run goes on, and stand still when it has ended.
const written = { turns: ['id'], steps: ['run_id', 'seq'], events: ['seq'], agent_results: ['id'] }
const callKeys = ['run_id', 'call']

/** What a process left when it died or fell asleep is sound by itself, and nothing that was final then is other now. */
export function checkMoments(evidence: Evidence, expect: Expect): void {
  const later: Moment[] = [...evidence.moments.slice(1), evidence]
  evidence.moments.forEach((moment, at) => {
    const atThatTime: Expect = (holds, invariant, problem) => expect(holds, invariant, `${problem} (moment ${at + 1})`)
    checkSteps(moment, atThatTime)
    checkChains(moment, atThatTime)
    checkOrphans(moment, atThatTime)
    checkBudget({ rows: moment.rows, budget: evidence.budget }, atThatTime)
    checkTotals(moment, atThatTime)
    checkOwners(moment, atThatTime)
    const next = later[at]
    if (!next) return
    checkKept(moment, next, atThatTime)
    checkCounted(moment, next, atThatTime)
  })
}

/** I3: a run has an owner exactly while it runs, and a session at most one run that has not ended. */
function checkOwners(moment: Moment, expect: Expect): void {
  const live = runsIn(moment).filter((run) => !isTerminal(run))
  for (const { id, state, owner_id } of live)
    expect((state === 'running') === (owner_id !== null), 'I3', `run ${id} is ${state} and its owner ${owner_id}`)
  const sessions = new Set(live.map(({ session_id }) => session_id))
  expect(sessions.size === live.length, 'I3', `${live.length} runs have not ended in ${sessions.size} sessions`)
}

/** I12: a call that was added to the total of its request stays in it. */
function checkCounted(before: Moment, after: Moment, expect: Expect): void {
  const isCounted = (rows: Row[], call: Row) =>
    rows.some((row) => keyOf(row, callKeys) === keyOf(call, callKeys) && row['counted'] === 1)
  for (const call of before.rows.usage.filter(({ counted }) => counted === 1))
    expect(isCounted(after.rows.usage, call), 'I12', `call ${keyOf(call, callKeys)} is no longer in the total`)
}

/** I2, I3: what was written stays, and a run that had ended neither changes, nor asks, nor does anything any more. */
function checkKept(before: Moment, after: Moment, expect: Expect): void {
  const removed = removedRuns(after)
  for (const [table, keys] of Object.entries(written) as [keyof Rows, string[]][]) {
    const now = new Map(after.rows[table].map((row) => [keyOf(row, keys), row]))
    for (const row of before.rows[table]) {
      if (table !== 'agent_results' && removed.has(row['run_id'] ?? null)) continue
      const isSame = same(lasting(row), lasting(now.get(keyOf(row, keys))))
      expect(
        isSame,
        'I2',
        `${table} ${keyOf(row, keys)} was written, and is now ${JSON.stringify(now.get(keyOf(row, keys)))}`,
      )
    }
  }
  for (const run of runsIn(before).filter(isTerminal)) {
    const { id } = run
    expect(
      same(
        run,
        after.rows.runs.find((each) => each['id'] === id),
      ),
      'I2',
      `run ${id} had ended, and is other now`,
    )
    // Calls of large requests are added to a total later on: see `checkTotals`.
    const ofRun = (rows: Row[]) =>
      JSON.stringify(rows.filter(({ run_id }) => run_id === id).map(({ counted: _, ...row }) => row))
    for (const table of removed.has(id ?? null) ? (['usage'] as const) : (['steps', 'usage', 'inbox'] as const))
      expect(
        ofRun(before.rows[table]) === ofRun(after.rows[table]),
        'I3',
        `run ${id} had ended, and its ${table} are other`,
      )
    const late = requestsIn(after).filter((request) => request.runId === id && isLate(request, before))
    const areUnderWay = late.every((request) => wasUnderWay(request, before))
    expect(areUnderWay, 'I3', `run ${id} had ended, and asked a model after that`)
    const done = (moment: Moment) => moment.tools.filter(({ runId }) => runId === id).length
    expect(done(before) === done(after), 'I3', `run ${id} had ended, and a tool was called for it after that`)
  }
}

/** Runs whose transcript was removed: what they said is a tombstone, and what they were, cost and returned stays. */
function removedRuns({ rows }: Moment): Set<Row[string] | null> {
  const sessions = new Set(rows.sessions.filter(({ removed_at }) => removed_at !== null).map(({ id }) => id ?? null))
  return new Set(rows.runs.filter(({ session_id }) => sessions.has(session_id ?? null)).map(({ id }) => id ?? null))
}

function keyOf(row: Row, keys: string[]): string {
  return keys.map((key) => row[key]).join('/')
}

/** Whether a result was read is noted on it later; what it says is not touched. */
function lasting(row: Row | undefined): Row | undefined {
  // An event that was restored has the transaction that restored it.
  const { processed: _, xid: __, ...rest } = row ?? {}
  return row && rest
}

function same(a: Row | undefined, b: Row | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
