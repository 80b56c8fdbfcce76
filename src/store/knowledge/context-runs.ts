import { sql } from 'kysely'
import type { Thread } from '../../domain/turn.ts'
import { raw } from '../raw.ts'
import { lineage, onPath } from '../rows/threads.ts'
import { statement } from '../statement.ts'
import type { Reading } from '../store.ts'

/** A run whose words a later one of its session may repeat. */
interface ContextRun {
  runId: string
  /** Its turn says that it called no tool of this kind: its journal need not be read. */
  isQuiet: boolean
  /** Depth of the turn by which its words came onto the path. */
  depth: number
}

/**
 * Runs of the turns on a path, from a depth on, and of all agents that worked for them. Those whose turn names no tool like
 * `tools` are quiet.
 */
export async function runsBehind(
  rows: Reading,
  end: Thread,
  { fromDepth = 1, tools }: { fromDepth?: number; tools: readonly string[] },
): Promise<ContextRun[]> {
  const names = JSON.stringify(tools.map((name) => `%"${name}"%`))
  const found = await rows.all(behind({ turnId: end.turnId, above: fromDepth - 1, names }))
  return found.map((row) => ({ runId: row.run_id, depth: Number(row.depth), isQuiet: Number(row.calls) === 0 }))
}

/** A run and all agents that worked for it so far. */
export async function runWithAgents(rows: Reading, runId: string): Promise<string[]> {
  return (await rows.all(below({ runId }))).map(({ run_id }) => run_id)
}

const behind = statement((db, arg: { turnId: string; above: number; names: string }, { textsIn }) =>
  raw<{ run_id: string; depth: number; calls: number }>(
    db,
    sql`${lineage(arg.turnId, arg.above)}, kin (run_id, depth, calls) AS (
          SELECT turns.run_id, threads.depth, CASE WHEN EXISTS (
            SELECT 1 FROM ${textsIn(arg.names)} WHERE turns.tool_calls_json LIKE texts.value
          ) THEN 1 ELSE 0 END
          FROM line CROSS JOIN threads CROSS JOIN turns
          WHERE ${onPath(arg.above)} AND turns.id = threads.turn_id
          UNION
          SELECT runs.id, kin.depth, 1 FROM kin JOIN runs ON runs.parent_run_id = kin.run_id
        )
        SELECT run_id, min(depth) AS depth, max(calls) AS calls FROM kin GROUP BY run_id`,
  ),
)

const below = statement((db, arg: { runId: string }) =>
  raw<{ run_id: string }>(
    db,
    sql`WITH RECURSIVE kin (run_id) AS (
          SELECT id FROM runs WHERE id = ${arg.runId}
          UNION
          SELECT runs.id FROM kin JOIN runs ON runs.parent_run_id = kin.run_id
        )
        SELECT run_id FROM kin`,
  ),
)
