import type { Selectable } from 'kysely'
import { type Answer, type Approval, budgetTool, type Coverage, type Grant } from '../../domain/approval.ts'
import type { Millis } from '../../domain/clock.ts'
import type { Integrity } from '../../domain/label.ts'
import type { Builder } from '../dialect.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import { type OwnedBy, ownSessions } from './access/own-sessions.ts'

/** A new approval. */
interface NewApproval
  extends Omit<Approval, 'id' | 'isAskedAgain' | 'answer' | 'answerReason' | 'answeredAt' | 'answeredBy'> {
  /** Packed listing of the folder's files; null when they are not compared. */
  baseline: string | null
}

/** Inserts an approval and returns its id. The run's row must be locked. */
export async function insertApproval(tx: Tx, approval: NewApproval): Promise<number> {
  const row = await tx.first(
    tx.build
      .insertInto('approvals')
      .values({
        run_id: approval.runId,
        call_id: approval.callId,
        tool: approval.tool,
        input_json: JSON.stringify(approval.input ?? null),
        reason: approval.reason,
        integrity: approval.label.integrity,
        sources_json: JSON.stringify(approval.label.sources),
        asked_again: 0,
        ...displayColumns(approval),
        ...unanswered,
      })
      .returning('id'),
  )
  return Number(row?.id)
}

/** Reopens an answered approval whose call was not made, with its current content. The run's row must be locked. */
export async function askAgain(tx: Tx, id: number, now: ApprovalDisplay): Promise<void> {
  const columns = { ...displayColumns(now), ...unanswered, asked_again: 1 }
  await tx.run(tx.build.updateTable('approvals').set(columns).where('id', '=', id))
}

/** Deletes what the approvals of one tool with this input would change. */
export async function wipeChanges(tx: Tx, tool: string, input: unknown): Promise<void> {
  const same = tx.build.updateTable('approvals').set({ change_text: '' })
  await tx.run(same.where('tool', '=', tool).where('input_json', '=', JSON.stringify(input)))
}

type ApprovalDisplay = Pick<NewApproval, 'facts' | 'change' | 'hash' | 'covers' | 'coverage' | 'baseline' | 'askedAt'>

function displayColumns(display: ApprovalDisplay) {
  return {
    facts_json: JSON.stringify(display.facts),
    change_text: display.change,
    hash: display.hash,
    pattern: display.covers,
    coverage_json: display.coverage && JSON.stringify(display.coverage),
    baseline: display.baseline,
    asked_at: display.askedAt,
  }
}

const unanswered = { answer: null, answer_reason: null, answered_at: null, answered_by: null }

// All columns but the large baseline.
const columns = [
  ...(['id', 'run_id', 'call_id', 'tool', 'input_json', 'facts_json', 'change_text', 'reason', 'hash'] as const),
  ...(['pattern', 'coverage_json', 'asked_again', 'integrity', 'sources_json', 'asked_at'] as const),
  ...(['answer', 'answer_reason', 'answered_at', 'answered_by'] as const),
] as const
const qualified = columns.map((column) => `approvals.${column}` as const)

export async function findApproval(rows: Reading, id: number): Promise<Approval | undefined> {
  const row = await rows.first(rows.build.selectFrom('approvals').select(columns).where('id', '=', id))
  return row && approvalFrom(row)
}

/** Drops the baseline of a decided call: it is no longer compared. */
export async function dropBaseline(tx: Tx, call: { runId: string; callId: string }): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('approvals')
      .set({ baseline: null })
      .where('run_id', '=', call.runId)
      .where('call_id', '=', call.callId),
  )
}

/** Packed listing of the folder's files at the time of the approval. */
export async function baselineOf(rows: Reading, id: number): Promise<string | null> {
  const row = await rows.first(rows.build.selectFrom('approvals').select('baseline').where('id', '=', id))
  return row?.baseline ?? null
}

/** Approvals of a run, oldest first. */
export async function approvalsOf(rows: Reading, runId: string): Promise<Approval[]> {
  return (await rows.all(ofRun({ runId }))).map(approvalFrom)
}

/** Open approvals of unfinished runs, or of one request, oldest first. */
export async function openApprovals(
  rows: Reading,
  { rootRunId, principal }: OwnedBy & { rootRunId?: string } = {},
): Promise<Approval[]> {
  let query = rows.build
    .selectFrom('approvals')
    .innerJoin('runs', 'runs.id', 'approvals.run_id')
    .select(qualified)
    .where('approvals.answer', 'is', null)
    .where('runs.finished_at', 'is', null)
  if (rootRunId !== undefined) query = query.where('runs.root_run_id', '=', rootRunId)
  if (principal !== undefined) query = query.where('runs.session_id', 'in', ownSessions(rows.build, principal))
  // Sorted here: with ORDER BY SQLite would scan all answered approvals.
  return oneOfEachBudget((await rows.all(query)).map(approvalFrom).sort((a, b) => a.id - b.id))
}

/** Keeps one approval per budget: several runs may wait for the same one. */
function oneOfEachBudget(open: Approval[]): Approval[] {
  const seen = new Set<string>()
  return open.filter(({ tool, input }) => {
    if (tool !== budgetTool) return true
    const { key, request } = input as { key: string; request: string }
    const budget = key === 'perDay.usd' ? key : `${key} ${request}`
    return seen.has(budget) ? false : seen.add(budget)
  })
}

/** Approvals of one tool, answered or not, oldest first. */
export async function approvalsWhere(rows: Reading, { tool }: { tool: string }): Promise<Approval[]> {
  const query = rows.build.selectFrom('approvals').select(columns).where('tool', '=', tool).orderBy('id')
  return (await rows.all(query)).map(approvalFrom)
}

/** Updates an open approval after the user changed what it is about. */
export async function reviseApproval(
  tx: Tx,
  id: number,
  now: Pick<Approval, 'facts' | 'change' | 'hash'>,
): Promise<void> {
  const columns = { facts_json: JSON.stringify(now.facts), change_text: now.change, hash: now.hash }
  await tx.run(tx.build.updateTable('approvals').set(columns).where('id', '=', id).where('answer', 'is', null))
}

/** Answers an open approval; false when it was already answered, or does not have this hash any more. */
export async function answerApproval(
  tx: Tx,
  id: number,
  answer: { answer: Answer; reason: string | null; at: Millis; by: string; hash?: string },
): Promise<boolean> {
  const update = tx.build
    .updateTable('approvals')
    .set({ answer: answer.answer, answer_reason: answer.reason, answered_at: answer.at, answered_by: answer.by })
    .where('id', '=', id)
    .where('answer', 'is', null)
  const changed = await tx.run(answer.hash === undefined ? update : update.where('hash', '=', answer.hash))
  return changed === 1
}

export async function insertGrant(
  tx: Tx,
  grant: Omit<Grant, 'id' | 'revokedAt' | 'showedSources'> & { approvalId: number },
): Promise<void> {
  await tx.run(
    tx.build.insertInto('grants').values({
      scope: grant.scope,
      session_id: grant.sessionId,
      agent: grant.agent,
      folder: grant.folder,
      tool: grant.tool,
      cwd: grant.cwd,
      pattern: grant.pattern,
      confinement: grant.confinement,
      approval_id: grant.approvalId,
      created_at: grant.createdAt,
      revoked_at: null,
      lapsed_why: null,
      granted_by: grant.grantedBy,
    }),
  )
}

/** Active grants that cover these calls, of any session or agent. */
export async function grantsFor(rows: Reading, coverage: Coverage): Promise<Grant[]> {
  return (await rows.all(activeGrants({ tool: coverage.tool })))
    .filter(
      ({ cwd, pattern, confinement }) =>
        cwd === coverage.cwd && pattern === coverage.pattern && confinement === coverage.confinement,
    )
    .map(grantFrom)
}

/** Active grants, newest first. */
export async function listGrants(rows: Reading): Promise<Grant[]> {
  const found = await rows.all(grantsWithLabel(rows.build).orderBy('grants.id', 'desc'))
  return found.map(grantFrom)
}

/** Ends a grant that was not revoked by a user, with the reason. */
export async function lapseGrant(tx: Tx, id: number, at: Millis, why: string): Promise<void> {
  const ended = { revoked_at: at, lapsed_why: why }
  await tx.run(tx.build.updateTable('grants').set(ended).where('id', '=', id).where('revoked_at', 'is', null))
}

/** Revokes the grants of an approval that was reopened. */
export async function revokeGrantsOf(tx: Tx, approvalId: number, at: Millis): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('grants')
      .set({ revoked_at: at })
      .where('approval_id', '=', approvalId)
      .where('revoked_at', 'is', null),
  )
}

/** Revokes a grant; undefined when there is no such grant or it was already revoked. */
export async function revokeGrant(tx: Tx, id: number, at: Millis): Promise<{ sessionId: string | null } | undefined> {
  const query = tx.build
    .updateTable('grants')
    .set({ revoked_at: at })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning('session_id as sessionId')
  return tx.first(query)
}

const ofRun = statement((db, arg: { runId: string }) =>
  db.selectFrom('approvals').select(columns).where('run_id', '=', arg.runId).orderBy('id'),
)

const activeGrants = statement((db, arg: { tool: string }) =>
  grantsWithLabel(db).where('grants.tool', '=', arg.tool).orderBy('grants.id'),
)

/** Active grants with the integrity of what had led to the question. */
function grantsWithLabel(db: Builder) {
  return db
    .selectFrom('grants')
    .leftJoin('approvals', 'approvals.id', 'grants.approval_id')
    .selectAll('grants')
    .select('approvals.integrity as integrity')
    .where('grants.revoked_at', 'is', null)
}

function approvalFrom(row: Omit<Selectable<Tables['approvals']>, 'baseline'>): Approval {
  return {
    id: row.id,
    runId: row.run_id,
    callId: row.call_id,
    tool: row.tool,
    input: JSON.parse(row.input_json),
    facts: JSON.parse(row.facts_json),
    change: row.change_text,
    reason: row.reason,
    label: { integrity: row.integrity, sources: JSON.parse(row.sources_json) },
    hash: row.hash,
    covers: row.pattern,
    coverage: row.coverage_json === null ? null : JSON.parse(row.coverage_json),
    isAskedAgain: row.asked_again === 1,
    askedAt: row.asked_at,
    answer: row.answer,
    answerReason: row.answer_reason,
    answeredAt: row.answered_at,
    answeredBy: row.answered_by,
  }
}

function grantFrom(row: Selectable<Tables['grants']> & { integrity: Integrity | null }): Grant {
  return {
    id: row.id,
    scope: row.scope,
    sessionId: row.session_id,
    agent: row.agent,
    folder: row.folder,
    tool: row.tool,
    cwd: row.cwd,
    pattern: row.pattern,
    confinement: row.confinement,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
    grantedBy: row.granted_by,
    showedSources: row.integrity === 'untrusted',
  }
}
