import type { Selectable } from 'kysely'
import { type Answer, type Approval, budgetTool, type Coverage, type Grant } from '../domain/approval.ts'
import type { Millis } from '../domain/clock.ts'
import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'
import type { Tables } from './tables.ts'

/** A question as it is asked. */
export interface Asked extends Omit<Approval, 'id' | 'isAskedAgain' | 'answer' | 'answerReason' | 'answeredAt'> {
  /** The files of the folder, packed; null where they are not compared. */
  baseline: string | null
}

/** Asks about a call; the run's row must be locked. Answers the small number people name the question by. */
export async function insertApproval(tx: Tx, asked: Asked): Promise<number> {
  const row = await tx.first(
    tx.build
      .insertInto('approvals')
      .values({
        run_id: asked.runId,
        call_id: asked.callId,
        tool: asked.tool,
        input_json: JSON.stringify(asked.input ?? null),
        reason: asked.reason,
        integrity: asked.label.integrity,
        sources_json: JSON.stringify(asked.label.sources),
        asked_again: 0,
        ...shownColumns(asked),
        ...unanswered,
      })
      .returning('id'),
  )
  return Number(row?.id)
}

/** Asks a question that was answered once more, as it is now: its call was not made. The run's row must be locked. */
export async function askAgain(tx: Tx, id: number, now: Shown): Promise<void> {
  const asked = { ...shownColumns(now), ...unanswered, asked_again: 1 }
  await tx.run(tx.build.updateTable('approvals').set(asked).where('id', '=', id))
}

type Shown = Pick<Asked, 'facts' | 'change' | 'hash' | 'covers' | 'coverage' | 'baseline' | 'askedAt'>

function shownColumns(shown: Shown) {
  return {
    facts_json: JSON.stringify(shown.facts),
    change_text: shown.change,
    hash: shown.hash,
    pattern: shown.covers,
    coverage_json: shown.coverage && JSON.stringify(shown.coverage),
    baseline: shown.baseline,
    asked_at: shown.askedAt,
  }
}

const unanswered = { answer: null, answer_reason: null, answered_at: null }

// Everything but the baseline, which is as large as the folder.
const columns = [
  ...(['id', 'run_id', 'call_id', 'tool', 'input_json', 'facts_json', 'change_text', 'reason', 'hash'] as const),
  ...(['pattern', 'coverage_json', 'asked_again', 'integrity', 'sources_json', 'asked_at'] as const),
  ...(['answer', 'answer_reason', 'answered_at'] as const),
] as const
const qualified = columns.map((column) => `approvals.${column}` as const)

export async function findApproval(rows: Reading, id: number): Promise<Approval | undefined> {
  const row = await rows.first(rows.build.selectFrom('approvals').select(columns).where('id', '=', id))
  return row && approvalFrom(row)
}

/** Lets go of the baseline of a call that is made, or will not be: nothing is compared with it any more. */
export async function dropBaseline(tx: Tx, call: { runId: string; callId: string }): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('approvals')
      .set({ baseline: null })
      .where('run_id', '=', call.runId)
      .where('call_id', '=', call.callId),
  )
}

/** The files of the folder as they were when a question was asked, packed. */
export async function baselineOf(rows: Reading, id: number): Promise<string | null> {
  const row = await rows.first(rows.build.selectFrom('approvals').select('baseline').where('id', '=', id))
  return row?.baseline ?? null
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
    .select(qualified)
    .where('approvals.answer', 'is', null)
    .where('runs.finished_at', 'is', null)
  if (rootRunId !== undefined) query = query.where('runs.root_run_id', '=', rootRunId)
  // Sorted here: for the order's sake SQLite would go through all that were ever answered.
  return oneOfEachBudget((await rows.all(query)).map(approvalFrom).sort((a, b) => a.id - b.id))
}

/** Several runs may wait for one budget: people are asked about it once. */
function oneOfEachBudget(open: Approval[]): Approval[] {
  const seen = new Set<string>()
  return open.filter(({ tool, input }) => {
    if (tool !== budgetTool) return true
    const { key, request } = input as { key: string; request: string }
    const budget = key === 'perDay.usd' ? key : `${key} ${request}`
    return seen.has(budget) ? false : seen.add(budget)
  })
}

/** All questions of one kind, answered or not, oldest first. */
export async function approvalsWhere(rows: Reading, { tool }: { tool: string }): Promise<Approval[]> {
  const query = rows.build.selectFrom('approvals').select(columns).where('tool', '=', tool).orderBy('id')
  return (await rows.all(query)).map(approvalFrom)
}

/** Shows an open question as it is now: what it is about was changed by its owner. */
export async function reviseApproval(
  tx: Tx,
  id: number,
  now: Pick<Approval, 'facts' | 'change' | 'hash'>,
): Promise<void> {
  const shown = { facts_json: JSON.stringify(now.facts), change_text: now.change, hash: now.hash }
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
      cwd: grant.cwd,
      pattern: grant.pattern,
      confinement: grant.confinement,
      approval_id: grant.approvalId,
      created_at: grant.createdAt,
      revoked_at: null,
      lapsed_why: null,
    }),
  )
}

/** What holds for these calls, whoever it was granted to. */
export async function grantsFor(rows: Reading, covered: Coverage): Promise<Grant[]> {
  return (await rows.all(standing({ tool: covered.tool })))
    .filter(
      ({ cwd, pattern, confinement }) =>
        cwd === covered.cwd && pattern === covered.pattern && confinement === covered.confinement,
    )
    .map(grantFrom)
}

/** What was granted and still holds, newest first. */
export async function listGrants(rows: Reading): Promise<Grant[]> {
  const found = await rows.all(
    rows.build.selectFrom('grants').selectAll().where('revoked_at', 'is', null).orderBy('id', 'desc'),
  )
  return found.map(grantFrom)
}

/** Ends a grant that nobody took back, and keeps why. */
export async function lapseGrant(tx: Tx, id: number, at: Millis, why: string): Promise<void> {
  const ended = { revoked_at: at, lapsed_why: why }
  await tx.run(tx.build.updateTable('grants').set(ended).where('id', '=', id).where('revoked_at', 'is', null))
}

/** Ends what was granted with the answer to a question: the question is open again. */
export async function revokeGrantsOf(tx: Tx, approvalId: number, at: Millis): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('grants')
      .set({ revoked_at: at })
      .where('approval_id', '=', approvalId)
      .where('revoked_at', 'is', null),
  )
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
  db.selectFrom('approvals').select(columns).where('run_id', '=', arg.runId).orderBy('id'),
)

const standing = statement((db, arg: { tool: string }) =>
  db.selectFrom('grants').selectAll().where('tool', '=', arg.tool).where('revoked_at', 'is', null).orderBy('id'),
)

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
  }
}

function grantFrom(row: Selectable<Tables['grants']>): Grant {
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
  }
}
