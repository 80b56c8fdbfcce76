import { sql } from 'kysely'
import type { Run } from '../../domain/run.ts'
import type { PlacedTurn } from '../../domain/turn.ts'
import { raw } from '../raw.ts'
import { statement } from '../statement.ts'
import type { Reading } from '../store.ts'
import { type RunRow, runFrom } from './run-rows.ts'
import { type PlacedRow, placedFrom } from './threads.ts'

/** An input with what became of it so far. */
interface InputState {
  session: { id: string; label: string }
  /** The run that took the input; undefined while it waits for one. */
  run: Run | undefined
  /** The turn that answers it. */
  turnId: string | null
  /** Whether its request has a run that has not ended, or an unanswered input that wakes a session. */
  isUnfinished: boolean
  /** Whether it has an unfinished run that does not wait for an approval or a budget. */
  isActive: boolean
  hasPlans: boolean
}

/** Reads an input with its run and whether anything of its request is left to do. */
export async function findInputState(rows: Reading, itemId: string): Promise<InputState | undefined> {
  const row = await rows.first(state({ itemId }))
  return (
    row && {
      session: { id: row.input_session_id, label: row.label },
      run: row.id === null ? undefined : runFrom(row as RunRow),
      turnId: row.consumed_by_turn,
      isUnfinished: row.is_unfinished === 1,
      isActive: row.is_active === 1,
      hasPlans: row.has_plans === 1,
    }
  )
}

/** The request of a running run with this input: no run of it has ended or waits for the user. */
export async function requestUnderWay(rows: Reading, itemId: string): Promise<string | undefined> {
  return (await rows.first(running({ itemId })))?.root_run_id
}

/** Turns of a request in its own session, oldest first: the first answers the question, the last is the final answer. */
export async function turnsOfRequest(
  rows: Reading,
  root: Pick<Run, 'id' | 'rootRunId' | 'sessionId'>,
): Promise<string[]> {
  const found = await rows.all(
    answeredIn({ runId: root.id, rootRunId: root.rootRunId, sessionId: root.sessionId ?? '' }),
  )
  return found.map(({ turn }) => turn)
}

/** The same with what the last of them says; undefined if there is none. */
export async function answerOfRequest(
  rows: Reading,
  root: Pick<Run, 'id' | 'rootRunId' | 'sessionId'>,
): Promise<{ turnIds: string[]; answer: PlacedTurn } | undefined> {
  const args = { runId: root.id, rootRunId: root.rootRunId, sessionId: root.sessionId ?? '' }
  const found = await rows.all(answeredBy(args))
  const last = found.at(-1)
  return last && { turnIds: found.map(({ turn_id }) => turn_id), answer: placedFrom(last) }
}

type StateRow = { [K in keyof RunRow]: RunRow[K] | null } & {
  input_session_id: string
  label: string
  consumed_by_turn: string | null
  is_unfinished: number
  is_active: number
  has_plans: number
}

/** Whether a request has an unfinished run. */
export async function hasUnfinished(rows: Reading, rootRunId: string): Promise<boolean> {
  return (await rows.first(unfinished({ rootRunId }))) !== undefined
}

/** Whether a request has an unfinished run that does not wait for an approval or a budget. */
export async function hasActiveRun(rows: Reading, rootRunId: string): Promise<boolean> {
  return (await rows.first(activeRun({ rootRunId }))) !== undefined
}

/** Number of a request's runs that wait for a retry. */
export async function countRetrying(rows: Reading, rootRunId: string): Promise<number> {
  return Number((await rows.first(retrying({ rootRunId })))?.count ?? 0)
}

/** Condition on an unfinished run: it does not wait for an approval or a budget. */
const isActive = sql<boolean>`(waiting_for IS NULL OR waiting_for NOT IN ('approval', 'budget'))`

const state = statement((db, arg: { itemId: string }) =>
  raw<StateRow>(
    db,
    sql`SELECT runs.*, input.session_id AS input_session_id, input.consumed_by_turn, sessions.label,
               CASE WHEN EXISTS (SELECT 1 FROM runs AS other
                                 WHERE other.root_run_id = runs.root_run_id AND other.finished_at IS NULL)
                      OR EXISTS (SELECT 1 FROM inbox AS other
                                 WHERE other.root_run_id = runs.root_run_id AND other.wake = 1
                                   AND other.consumed_by_turn IS NULL)
                    THEN 1 ELSE 0 END AS is_unfinished,
               CASE WHEN EXISTS (SELECT 1 FROM runs AS other
                                 WHERE other.root_run_id = runs.root_run_id AND other.finished_at IS NULL
                                   AND (other.waiting_for IS NULL OR other.waiting_for NOT IN ('approval', 'budget')))
                    THEN 1 ELSE 0 END AS is_active,
               CASE WHEN EXISTS (SELECT 1 FROM projects WHERE projects.root_run_id = runs.root_run_id)
                    THEN 1 ELSE 0 END AS has_plans
        FROM inbox AS input
        JOIN sessions ON sessions.id = input.session_id
        LEFT JOIN runs ON runs.id = input.run_id
        WHERE input.id = ${arg.itemId}`,
  ),
)

const running = statement((db, arg: { itemId: string }) =>
  db
    .selectFrom('inbox')
    .innerJoin('runs', 'runs.id', 'inbox.run_id')
    .select('runs.root_run_id')
    .where('inbox.id', '=', arg.itemId)
    .where('runs.state', '=', sql.lit('running')),
)

// UNION of two index lookups: with OR, SQLite would scan the table.
const answeringTurns = (arg: { runId: string; rootRunId: string; sessionId: string }) => sql`
  SELECT consumed_by_turn FROM inbox
  WHERE run_id = ${arg.runId} AND session_id = ${arg.sessionId} AND consumed_by_turn IS NOT NULL
  UNION
  SELECT consumed_by_turn FROM inbox
  WHERE root_run_id = ${arg.rootRunId} AND session_id = ${arg.sessionId} AND consumed_by_turn IS NOT NULL`

const answeredIn = statement((db, arg: { runId: string; rootRunId: string; sessionId: string }) =>
  raw<{ turn: string }>(
    db,
    sql`SELECT turn_id AS turn FROM threads WHERE turn_id IN (${answeringTurns(arg)}) ORDER BY depth`,
  ),
)

const answeredBy = statement((db, arg: { runId: string; rootRunId: string; sessionId: string }) =>
  raw<PlacedRow>(
    db,
    sql`SELECT threads.*, turns.* FROM threads JOIN turns ON turns.id = threads.turn_id
        WHERE threads.turn_id IN (${answeringTurns(arg)}) ORDER BY threads.depth`,
  ),
)

const activeRun = statement((db, arg: { rootRunId: string }) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('root_run_id', '=', arg.rootRunId)
    .where('finished_at', 'is', null)
    .where(isActive)
    .limit(sql.lit(1)),
)

const retrying = statement((db, arg: { rootRunId: string }) =>
  db
    .selectFrom('runs')
    .select(sql<number>`count(*)`.as('count'))
    .where('root_run_id', '=', arg.rootRunId)
    .where('waiting_for', '=', sql.lit('retry')),
)

const unfinished = statement((db, arg: { rootRunId: string }) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('root_run_id', '=', arg.rootRunId)
    .where('finished_at', 'is', null)
    .limit(sql.lit(1)),
)
