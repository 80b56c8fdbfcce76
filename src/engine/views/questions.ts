import type { ApprovalView, GrantView } from '../../api/views/approval.ts'
import { type Approval, describeCoverage, lapses } from '../../domain/approval.ts'
import { UsageError } from '../../domain/errors.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { findApproval, listGrants, openApprovals, revokeGrant } from '../../store/rows/approvals.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { itemsOfRun } from '../../store/rows/inbox.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions, sessionLabels } from '../../store/rows/sessions.ts'
import type { Reading } from '../../store/store.ts'
import { agentOf } from '../run/approvals/grants.ts'
import { scopesOf } from '../run/approvals/scopes.ts'
import type { Runtime } from '../runtime.ts'
import { preview } from '../turns/history.ts'
import { notFound } from '../turns/route.ts'

/** Open approvals, oldest first. */
export async function listApprovals(rows: Reading, filter: OwnedBy = {}): Promise<ApprovalView[]> {
  return Promise.all((await openApprovals(rows, filter)).map((approval) => viewApproval(rows, approval)))
}

export async function resolveApproval(rows: Reading, text: string): Promise<ApprovalView> {
  const approval = await findApproval(rows, approvalId(text))
  if (!approval) throw notFound('approval', text)
  return viewApproval(rows, approval)
}

/** Parses `approval:3` or `3`. */
export function approvalId(text: string): number {
  const id = Number(/^(?:approval:)?([1-9]\d{0,14})$/.exec(text)?.[1])
  if (Number.isNaN(id))
    throw new UsageError(`"${text}" is not the number of an approval`, 'heddle approvals lists them', 'bad_reference')
  return id
}

/** Everything the user needs to decide: the agent, the request, the change, and the sources of the content. */
async function viewApproval(rows: Reading, approval: Approval): Promise<ApprovalView> {
  const run = await findRun(rows, approval.runId)
  const [session] = run?.sessionId ? await findSessions(rows, { id: run.sessionId }) : []
  const first = run ? await itemsOfRun(rows, run.rootRunId) : []
  const [requestSession] = await findSessions(rows, { id: first[0]?.sessionId ?? '' })
  return {
    id: approval.id,
    runId: approval.runId,
    agent: run ? agentOf(run, session?.personaId ?? null) : 'general',
    session: session?.label ?? null,
    folder: session?.folder ?? null,
    request: preview(first.map(({ content }) => content).join(' ')),
    requestSession: requestSession?.label ?? null,
    tool: approval.tool,
    input: approval.input,
    facts: approval.facts,
    change: approval.change,
    reason: approval.reason,
    sources: approval.label.sources,
    trusted: approval.label.integrity === 'trusted',
    hash: approval.hash,
    covers: approval.covers,
    coverage: approval.coverage,
    isAskedAgain: approval.isAskedAgain,
    askedAt: new Date(approval.askedAt).toISOString(),
    scopes: scopesOf(approval),
    ...(approval.answer && { answer: approval.answer }),
    ...(approval.answerReason !== null && { answerReason: approval.answerReason }),
  }
}

/** Grants in force. */
export async function viewGrants(rows: Reading): Promise<GrantView[]> {
  const grants = await listGrants(rows)
  const sessions = await sessionLabels(
    rows,
    grants.flatMap(({ sessionId }) => sessionId ?? []),
  )
  return grants.map(({ sessionId, createdAt, pattern, revokedAt: _, showedSources: __, grantedBy: ___, ...grant }) => ({
    ...grant,
    session: sessionId === null ? null : (sessions.get(sessionId) ?? null),
    covers: describeCoverage({ ...grant, pattern }),
    lapses: lapses(grant),
    since: new Date(createdAt).toISOString(),
  }))
}

/** Revokes a grant: from the next call on the user is asked again. */
export async function revoke({ store, clock }: Runtime, id: number): Promise<void> {
  await store.write('approve', async (tx) => {
    const at = clock.now()
    const revoked = await revokeGrant(tx, id, at)
    if (!revoked) throw new UsageError(`there is no grant ${id}`, 'heddle grants lists those that hold', 'not_found')
    const scope = { sessionId: revoked.sessionId, rootRunId: null }
    await recordEvent(tx, { at, kind: 'grant.revoked', subject: `grant:${id}`, payload: {}, scope })
  })
}
