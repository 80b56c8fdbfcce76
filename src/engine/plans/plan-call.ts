import { HeddleError } from '../../domain/errors.ts'
import type { Plan } from '../../domain/plan.ts'
import type { Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import type { ToolOutcome } from '../../domain/tools/tool.ts'
import { findPlan, listPlans, plansOnPath } from '../../store/rows/plans.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { findThread } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'
import { isPlanFor } from '../turns/ancestry.ts'

/** Outcome of a refused tool call: the reason, and what to do instead. */
export function refuseCall(error: string, remedy: string): ToolOutcome {
  return { status: 'error', output: { status: 'error', error, remedy } }
}

/** The calling run, and the session whose plans it may use: its requester's, else its own. */
export async function findCaller(rows: Reading, runId: string): Promise<{ run: Run; home: Session }> {
  const run = await findRun(rows, runId)
  const [home] = await findSessions(rows, { id: run?.requesterSessionId ?? run?.sessionId ?? '' })
  if (!run || !home) throw new Error(`run ${runId} has no session`)
  return { run, home }
}

/** A plan of a session or its ancestors by id, else the newest. */
export async function findPlanFor(rows: Reading, home: Session, id: number | undefined): Promise<Plan> {
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

/** Sessions whose results a run may read: its requester's and its own. */
export async function accessibleSessions(rows: Reading, { sessionId }: Run, home: Session): Promise<Session[]> {
  return sessionId === null || sessionId === home.id ? [home] : [home, ...(await findSessions(rows, { id: sessionId }))]
}

/** Refusal to change a plan that belongs to another session; undefined if it belongs to this one. */
export async function foreignPlanRefusal(rows: Reading, home: Session, plan: Plan): Promise<ToolOutcome | undefined> {
  if (plan.sessionId === home.id) return undefined
  const [other] = await findSessions(rows, { id: plan.sessionId })
  const remedy =
    plan.status === 'running' ? 'discuss it there' : 'start it here with run_project: then it is decided here'
  return refuseCall(`plan:${plan.id} belongs to the session "${other?.label ?? plan.sessionId}"`, remedy)
}
