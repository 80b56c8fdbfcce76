import { HeddleError } from '../domain/errors.ts'
import type { Plan } from '../domain/plan.ts'
import type { Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import type { ToolOutcome } from '../domain/tool.ts'
import { findPlan, listPlans } from '../store/plans.ts'
import { findRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import type { Reading } from '../store/store.ts'

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

/** A plan of a session, by its number; without one, the newest. */
export async function planOf(rows: Reading, home: Session, id: number | undefined): Promise<Plan> {
  const plan = id === undefined ? (await listPlans(rows, { sessionId: home.id }))[0] : await findPlan(rows, id)
  if (plan?.sessionId === home.id) return plan
  const error = id === undefined ? 'there is no plan here' : `there is no plan ${id} here`
  throw new HeddleError('not_found', error, 'a plan is made by project-planner: spawn it with the goal')
}
