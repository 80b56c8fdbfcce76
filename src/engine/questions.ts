import type { ApprovalView, GrantView } from '../domain/app.ts'
import { type Approval, answers, budgetTool, coverageWords, lapses } from '../domain/approval.ts'
import { Misuse } from '../domain/errors.ts'
import { findApproval, listGrants, openApprovals, revokeGrant } from '../store/approvals.ts'
import { type BudgetAsked, isOfDay } from '../store/budget-questions.ts'
import { recordEvent } from '../store/events.ts'
import { itemsOfRun } from '../store/inbox.ts'
import { findRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import type { Reading } from '../store/store.ts'
import { agentOf } from './grants.ts'
import { preview } from './history.ts'
import { notFound } from './route.ts'
import type { World } from './world.ts'

/** What waits for somebody's word, oldest first. */
export async function listApprovals(rows: Reading): Promise<ApprovalView[]> {
  return Promise.all((await openApprovals(rows)).map((approval) => viewApproval(rows, approval)))
}

export async function approvalNamed(rows: Reading, text: string): Promise<ApprovalView> {
  const approval = await findApproval(rows, approvalId(text))
  if (!approval) throw notFound('approval', text)
  return viewApproval(rows, approval)
}

/** `approval:3` or `3`. */
export function approvalId(text: string): number {
  const id = Number(/^(?:approval:)?([1-9]\d{0,14})$/.exec(text)?.[1])
  if (Number.isNaN(id))
    throw new Misuse(`"${text}" is not the number of a question`, 'heddle approvals lists them', 'bad_reference')
  return id
}

/** Everything a person needs to decide: who asks, for which request, what will change, and where the words came from. */
async function viewApproval(rows: Reading, approval: Approval): Promise<ApprovalView> {
  const run = await findRun(rows, approval.runId)
  const [session] = run?.sessionId ? await findSessions(rows, { id: run.sessionId }) : []
  const first = run ? await itemsOfRun(rows, run.rootRunId) : []
  const [asked] = await findSessions(rows, { id: first[0]?.sessionId ?? '' })
  return {
    id: approval.id,
    runId: approval.runId,
    agent: run ? agentOf(run, session?.personaId ?? null) : 'general',
    session: session?.label ?? null,
    folder: session?.folder ?? null,
    request: preview(first.map(({ content }) => content).join(' ')),
    requestSession: asked?.label ?? null,
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

/** What a yes can mean. */
function scopesOf({ tool, input }: Approval): ApprovalView['scopes'] {
  if (tool !== budgetTool) return answers.filter((answer) => answer !== 'no')
  return isOfDay(input as BudgetAsked) ? ['once', 'tomorrow'] : ['once']
}

/** What was granted for more than one call and still holds. */
export async function viewGrants(rows: Reading): Promise<GrantView[]> {
  const sessions = new Map((await findSessions(rows)).map(({ id, label }) => [id, label]))
  return (await listGrants(rows)).map(({ sessionId, createdAt, pattern, revokedAt: _, ...grant }) => ({
    ...grant,
    session: sessionId === null ? null : (sessions.get(sessionId) ?? null),
    covers: coverageWords({ ...grant, pattern }),
    lapses: lapses(grant),
    since: new Date(createdAt).toISOString(),
  }))
}

/** Takes a grant back: from the next call on somebody is asked again. */
export async function revoke({ store, clock }: World, id: number): Promise<void> {
  await store.write('approve', async (tx) => {
    const at = clock.now()
    if (!(await revokeGrant(tx, id, at)))
      throw new Misuse(`there is no grant ${id}`, 'heddle grants lists those that hold', 'not_found')
    await recordEvent(tx, { at, kind: 'grant.revoked', subject: `grant:${id}`, payload: {} })
  })
}
