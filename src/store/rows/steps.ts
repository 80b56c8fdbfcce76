import type { Step } from '../../domain/run.ts'
import type { ToolCall, ToolCallEntry } from '../../domain/turn.ts'
import { statement, statementOfRows } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'

/** A step to store. `touchedFolder` is the folder in which the call that it ends changed files, or may have. */
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

/** A run's journal, oldest first. */
export async function readSteps(rows: Reading, runId: string): Promise<Step[]> {
  return (await rows.all(ofRun({ runId }))).map(stepFrom)
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

const ofRun = statement((db, arg: { runId: string }) =>
  db.selectFrom('steps').selectAll().where('run_id', '=', arg.runId).orderBy('seq'),
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
