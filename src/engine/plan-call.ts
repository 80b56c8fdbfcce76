import { HeddleError } from '../domain/errors.ts'
import type { Plan } from '../domain/plan.ts'
import type { Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import type { ToolOutcome } from '../domain/tool.ts'
import { findPlan, listPlans, plansOnPath } from '../store/plans.ts'
import { findRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import type { Reading } from '../store/store.ts'
import { findThread } from '../store/threads.ts'
import { isPlanFor } from './ancestry.ts'

/** A call that is answered with why it was not made, and what to do instead. */
export function refused(error: string, remedy: string): ToolOutcome {
  return { status: 'error', output: { status: 'error', error, remedy } }
}

/** The run that calls, and the session whose plans it may see: that of whoever it works for, else its own. */
export async function callerOf(rows: Reading, runId: string): Promise<{ run: Run; home: Session }> {
  const run = await findRun(rows, runId)
  const [home] = await findSessions(rows, { id: run?.requesterSessionId ?? run?.sessionId ?? '' })
  if (!run || !home) throw new Error(`run ${runId} has no session`)
  return { run, home }
}

/** A plan of a session or of its ancestors, by its number; without one, the newest. */
export async function planOf(rows: Reading, home: Session, id: number | undefined): Promise<Plan> {
  const plan = id === undefined ? (await plansFor(rows, home))[0] : await findPlan(rows, id)
  if (plan && (await isPlanFor(rows, home, plan))) return plan
  const error = id === undefined ? 'there is no plan here' : `there is no plan ${id} here`
  throw new HeddleError('not_found', error, 'a plan is made by project-planner: spawn it with the goal')
}

/** The plans of a session, newest first, and those of its ancestors up to the fork. */
export async function plansFor(rows: Reading, home: Session): Promise<Plan[]> {
  const head = home.headTurnId === null ? undefined : await findThread(rows, home.headTurnId)
  const inherited = head ? await plansOnPath(rows, head) : []
  const own = await listPlans(rows, { sessionId: home.id })
  return [...own, ...inherited.filter(({ id }) => !own.some((plan) => plan.id === id))].sort((a, b) => b.id - a.id)
}

/** What a run may use besides what it is told: its own session's, and that of whom it works for. */
export async function branchesOf(rows: Reading, { sessionId }: Run, home: Session): Promise<Session[]> {
  return sessionId === null || sessionId === home.id ? [home] : [home, ...(await findSessions(rows, { id: sessionId }))]
}

/** Refuses to change a plan that another session is at: its own words and results go there. */
export async function belongsElsewhere(rows: Reading, home: Session, plan: Plan): Promise<ToolOutcome | undefined> {
  if (plan.sessionId === home.id) return undefined
  const [other] = await findSessions(rows, { id: plan.sessionId })
  const remedy =
    plan.status === 'running' ? 'talk about it there' : 'start it here with run_project: then it is decided here'
  return refused(`plan:${plan.id} belongs to the session "${other?.label ?? plan.sessionId}"`, remedy)
}
