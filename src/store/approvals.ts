import type { Selectable } from 'kysely'
import type { Answer, Approval, Grant } from '../domain/approval.ts'
import type { Millis } from '../domain/clock.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'
import type { Tables } from './tables.ts'

/** Asks about a call; the run's row must be locked. Answers the small number people name the question by. */
export async function insertApproval(
  tx: Tx,
  asked: Omit<Approval, 'id' | 'answer' | 'answerReason' | 'answeredAt'>,
): Promise<number> {
  const row = await tx.first(
    tx.build
      .insertInto('approvals')
      .values({
        run_id: asked.runId,
        call_id: asked.callId,
        tool: asked.tool,
        input_json: JSON.stringify(asked.input ?? null),
        change_text: asked.change,
        reason: asked.reason,
        hash: asked.hash,
        pattern: asked.pattern,
        integrity: asked.label.integrity,
        sources_json: JSON.stringify(asked.label.sources),
        asked_at: asked.askedAt,
        answer: null,
        answer_reason: null,
        answered_at: null,
      })
      .returning('id'),
  )
  return Number(row?.id)
}

export async function findApproval(rows: Reading, id: number): Promise<Approval | undefined> {
  const row = await rows.first(rows.build.selectFrom('approvals').selectAll().where('id', '=', id))
  return row && approvalFrom(row)
}

/** What a run has asked, oldest first. */
export async function approvalsOf(rows: Reading, runId: string): Promise<Approval[]> {
  return (await rows.all(ofRun({ runId }))).map(approvalFrom)
}

/** What waits for an answer, oldest first: of every run that has not ended, or of one request. */
export async function openApprovals(rows: Reading, rootRunId?: string): Promise<Approval[]> {
  let query = rows.build
    .selectFrom('approvals')
    .innerJoin('runs', 'runs.id', 'approvals.run_id')
    .selectAll('approvals')
    .where('approvals.answer', 'is', null)
    .where('runs.finished_at', 'is', null)
  if (rootRunId !== undefined) query = query.where('runs.root_run_id', '=', rootRunId)
  // Sorted here: for the order's sake SQLite would go through all that were ever answered.
  return (await rows.all(query)).map(approvalFrom).sort((a, b) => a.id - b.id)
}

/** Shows an open question as it is now: what it is about was changed by its owner. */
export async function reviseApproval(tx: Tx, id: number, now: Pick<Approval, 'change' | 'hash'>): Promise<void> {
  const shown = { change_text: now.change, hash: now.hash }
  await tx.run(tx.build.updateTable('approvals').set(shown).where('id', '=', id).where('answer', 'is', null))
}

/** Answers a question that is open; false when somebody was faster. */
export async function answerApproval(
  tx: Tx,
  id: number,
  answer: { answer: Answer; reason: string | null; at: Millis },
): Promise<boolean> {
  const changed = await tx.run(
    tx.build
      .updateTable('approvals')
      .set({ answer: answer.answer, answer_reason: answer.reason, answered_at: answer.at })
      .where('id', '=', id)
      .where('answer', 'is', null),
  )
  return changed === 1
}

export async function insertGrant(
  tx: Tx,
  grant: Omit<Grant, 'id' | 'revokedAt'> & { approvalId: number },
): Promise<void> {
  await tx.run(
    tx.build.insertInto('grants').values({
      scope: grant.scope,
      session_id: grant.sessionId,
      agent: grant.agent,
      folder: grant.folder,
      tool: grant.tool,
      pattern: grant.pattern,
      approval_id: grant.approvalId,
      created_at: grant.createdAt,
      revoked_at: null,
    }),
  )
}

/** Whether somebody has granted this before, to one of these sessions or to the agent in its folder. */
export async function isGranted(
  rows: Reading,
  call: { tool: string; pattern: string; sessionIds: readonly string[]; agent: string; folder: string },
): Promise<boolean> {
  const found = await rows.all(standing({ pattern: call.pattern }))
  return found.some((grant) =>
    grant.scope === 'session'
      ? call.sessionIds.includes(grant.session_id ?? '')
      : grant.agent === call.agent && grant.folder === call.folder,
  )
}

/** What was granted and not taken back, newest first. */
export async function listGrants(rows: Reading): Promise<Grant[]> {
  const found = await rows.all(
    rows.build.selectFrom('grants').selectAll().where('revoked_at', 'is', null).orderBy('id', 'desc'),
  )
  return found.map((row) => ({
    id: row.id,
    scope: row.scope,
    sessionId: row.session_id,
    agent: row.agent,
    folder: row.folder,
    tool: row.tool,
    pattern: row.pattern,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
  }))
}

/** False when there is no such grant, or it was taken back before. */
export async function revokeGrant(tx: Tx, id: number, at: Millis): Promise<boolean> {
  const query = tx.build
    .updateTable('grants')
    .set({ revoked_at: at })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
  return (await tx.run(query)) === 1
}

const ofRun = statement((db, arg: { runId: string }) =>
  db.selectFrom('approvals').selectAll().where('run_id', '=', arg.runId).orderBy('id'),
)

const standing = statement((db, arg: { pattern: string }) =>
  db.selectFrom('grants').selectAll().where('pattern', '=', arg.pattern).where('revoked_at', 'is', null),
)

function approvalFrom(row: Selectable<Tables['approvals']>): Approval {
  return {
    id: row.id,
    runId: row.run_id,
    callId: row.call_id,
    tool: row.tool,
    input: JSON.parse(row.input_json),
    change: row.change_text,
    reason: row.reason,
    label: { integrity: row.integrity, sources: JSON.parse(row.sources_json) },
    hash: row.hash,
    pattern: row.pattern,
    askedAt: row.asked_at,
    answer: row.answer,
    answerReason: row.answer_reason,
    answeredAt: row.answered_at,
  }
}
