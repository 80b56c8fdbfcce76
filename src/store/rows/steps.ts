import { sql } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { Step } from '../../domain/run.ts'
import type { ToolCall, ToolCallEntry } from '../../domain/turn.ts'
import { statement, statementOfRows } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'

/**
 * A step to store. `touchedFolder` is the folder in which the call that it ends changed files, or may have, or in which the
 * call that it begins may do so.
 */
interface NewStep extends Step {
  touchedFolder?: string | null
}

export function insertSteps(tx: Tx, steps: readonly NewStep[]): void {
  const rows = steps.map(({ runId, seq, kind, payload, at, touchedFolder = null }) => ({
    ...{ run_id: runId, seq, kind, payload_json: JSON.stringify(payload), at },
    touched_folder: touchedFolder,
  }))
  for (const insert of inserts(rows)) tx.send(insert)
}

/** Marks the call that this step began as one that changed no file unseen. */
export function clearTouchedFolder(tx: Tx, runId: string, seq: number): void {
  tx.send(clearFolder({ runId, seq }))
}

/** A run's journal, oldest first. */
export async function readSteps(rows: Reading, runId: string): Promise<Step[]> {
  return (await rows.all(ofRun({ runId }))).map(stepFrom)
}

/** Payloads of the calls that a run began with this id in them: at least that call's, if it began it. */
export async function callsLike(rows: Reading, runId: string, callId: string): Promise<unknown[]> {
  return (await begunWith(rows, runId, callId)).map(({ payload_json }) => JSON.parse(payload_json))
}

/** When a call began; undefined if that is not recorded. */
export async function beginOfCall(rows: Reading, runId: string, callId: string): Promise<Millis | undefined> {
  const steps = await begunWith(rows, runId, callId)
  return steps.find(({ payload_json }) => JSON.parse(payload_json).id === callId)?.at ?? undefined
}

function begunWith(rows: Reading, runId: string, callId: string) {
  return rows.all(begunLike({ runId, like: `%"id":${JSON.stringify(callId).replace(/[\\%_]/g, '\\$&')}%` }))
}

export function stepFrom(row: Tables['steps']): Step {
  return { runId: row.run_id, seq: row.seq, kind: row.kind, payload: JSON.parse(row.payload_json), at: row.at }
}

/** Tool calls of a turn with their inputs and outputs. */
export function toolCallsOf(entries: ToolCallEntry[], steps: Step[]): ToolCall[] {
  const payloads = new Map(steps.map(({ seq, payload }) => [seq, payload as Record<string, unknown> | undefined]))
  const payload = (seq: number) => payloads.get(seq)
  return entries.map(({ id, name, status, begun, ended }) => ({
    id,
    name,
    input: payload(begun)?.['input'] ?? null,
    output: payload(ended)?.['output'] ?? null,
    status,
  }))
}

const clearFolder = statement((db, arg: { runId: string; seq: number }) =>
  db.updateTable('steps').set({ touched_folder: null }).where('run_id', '=', arg.runId).where('seq', '=', arg.seq),
)

const ofRun = statement((db, arg: { runId: string }) =>
  db.selectFrom('steps').selectAll().where('run_id', '=', arg.runId).orderBy('seq'),
)

// Compared as text: a run may have begun a thousand calls, and each of its children asks for its own.
const begunLike = statement((db, arg: { runId: string; like: string }) =>
  db
    .selectFrom('steps')
    .select(['payload_json', 'at'])
    .where('run_id', '=', arg.runId)
    .where('kind', '=', sql.lit('begun'))
    .where(sql<boolean>`payload_json LIKE ${arg.like} ESCAPE '\\'`)
    .orderBy('seq'),
)

const inserts = statementOfRows((db, rows: Tables['steps'][]) =>
  db.insertInto('steps').values(
    rows.map((row) => ({
      run_id: row.run_id,
      seq: row.seq,
      kind: row.kind,
      payload_json: row.payload_json,
      at: row.at,
      touched_folder: row.touched_folder,
    })),
  ),
)
