import { HeddleError } from '../../domain/errors.ts'
import { settleUsage } from '../../store/rows/usage.ts'
import type { ReceivedReply } from '../model/accept-reply.ts'
import type { SteerStep } from '../run/context/journal.ts'
import type { RunHandle } from '../run/moments.ts'
import type { Engine } from '../runtime.ts'
import { planningLimit } from './planning-limit.ts'

const tool = 'plan_tasks'
const noteId = 'plan-owed'

/**
 * Handles an answer of a planner that never called `plan_tasks`: the first time the model is asked again (true), the second
 * time the run fails. Both answers are journalled. Where no more plan is allowed, the answer stands.
 */
export async function askForMissingPlan(run: RunHandle<Engine>, { reply, call, by }: ReceivedReply): Promise<boolean> {
  const { claimed, journal } = run
  if (claimed.run.parentRunId === null || !claimed.run.effectiveTools.includes(tool) || journal.hasDone(tool))
    return false
  const { rootRunId } = claimed.run
  if (await run.engine.store.read((rows) => planningLimit(rows, rootRunId))) return false
  const wasReminded = journal.steeredItemIds.has(noteId)
  const { text, model, metadata } = reply
  const answer = journal.next('reply', { text, calls: [], model, by, ...(metadata !== undefined && { metadata }) })
  const note: SteerStep = { items: [{ id: noteId, content: reminder }] }
  await run.record(wasReminded ? [answer] : [answer, journal.next('steer', note)], (tx) =>
    settleUsage(tx, { runId: claimed.run.id, call, model }, reply.usage),
  )
  if (wasReminded)
    throw new HeddleError(
      'no_plan',
      'the planner answered without a plan',
      'ask again, and describe the goal in more detail',
    )
  return true
}

const reminder =
  'You have not called plan_tasks: the plan itself is needed, not a description. Call it now with all tasks. ' +
  ' If a plan cannot be made, say in one paragraph what is missing.'
