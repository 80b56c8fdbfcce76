import type { Run, Step } from '../domain/run.ts'
import type { ToolCall, ToolCallEntry } from '../domain/turn.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'
import type { Tables } from './tables.ts'

type RunRow = Tables['runs']

export async function insertRun(tx: Tx, run: Run): Promise<void> {
  await tx.run(
    insert({
      id: run.id,
      kind: run.kind,
      state: run.state,
      session_id: run.sessionId,
      created_at: run.createdAt,
      finished_at: run.finishedAt,
    }),
  )
}

export async function findRun(rows: Reading, id: string): Promise<Run | undefined> {
  const row = await rows.first(rows.build.selectFrom('runs').selectAll().where('id', '=', id))
  return row && runFrom(row)
}

/** Ids of runs that begin or end like this; at most a few, enough to say that it is not clear. */
export async function runIdsLike(rows: Reading, part: string): Promise<string[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('runs')
      .select('id')
      .where((where) => where.or([where('id', 'like', `${part}%`), where('id', 'like', `%${part}`)]))
      .orderBy('id', 'desc')
      .limit(5),
  )
  return found.map(({ id }) => id)
}

export async function insertStep(tx: Tx, step: Step): Promise<void> {
  await tx.run(
    insertStepRow({ run_id: step.runId, seq: step.seq, kind: step.kind, payload_json: JSON.stringify(step.payload) }),
  )
}

/** A run's journal, oldest first. */
export async function readSteps(rows: Reading, runId: string): Promise<Step[]> {
  const found = await rows.all(rows.build.selectFrom('steps').selectAll().where('run_id', '=', runId).orderBy('seq'))
  return found.map((row) => ({
    runId: row.run_id,
    seq: row.seq,
    kind: row.kind,
    payload: JSON.parse(row.payload_json),
  }))
}

/** The tool calls behind a turn's entries, with what went in and what came out. */
export function toolCallsOf(entries: ToolCallEntry[], steps: Step[]): ToolCall[] {
  const payload = (seq: number) =>
    steps.find((step) => step.seq === seq)?.payload as Record<string, unknown> | undefined
  return entries.map(({ id, name, status, begun, ended }) => ({
    id,
    name,
    input: payload(begun)?.['input'] ?? null,
    output: payload(ended)?.['output'] ?? null,
    status,
  }))
}

const insert = statement((db, row: RunRow) =>
  db.insertInto('runs').values({
    id: row.id,
    kind: row.kind,
    state: row.state,
    session_id: row.session_id,
    created_at: row.created_at,
    finished_at: row.finished_at,
  }),
)

const insertStepRow = statement((db, row: Tables['steps']) =>
  db.insertInto('steps').values({ run_id: row.run_id, seq: row.seq, kind: row.kind, payload_json: row.payload_json }),
)

function runFrom(row: RunRow): Run {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    sessionId: row.session_id,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  }
}
