import { HeddleError } from '../domain/errors.ts'
import { settleUsage } from '../store/usage.ts'
import type { ActiveRun } from './active-run.ts'
import type { SteerStep } from './journal.ts'
import type { Thought } from './think.ts'

const tool = 'plan_tasks'
const noteId = 'plan-owed'

/**
 * Whoever can plan was asked for a plan: an answer without one is heard once more, and fails the second time, with
 * everything it said kept.
 */
export async function owesPlan(run: ActiveRun, { reply, call, by }: Thought): Promise<boolean> {
  const { claimed, journal } = run
  if (claimed.run.parentRunId === null || !claimed.run.effectiveTools.includes(tool) || journal.hasDone(tool))
    return false
  const wasTold = journal.heard.has(noteId)
  const { text, model, metadata } = reply
  const said = journal.next('reply', { text, calls: [], model, by, ...(metadata !== undefined && { metadata }) })
  const note: SteerStep = { items: [{ id: noteId, content: told }] }
  await run.record(wasTold ? [said] : [said, journal.next('steer', note)], (tx) =>
    settleUsage(tx, { runId: claimed.run.id, call, model }, reply.usage),
  )
  if (wasTold)
    throw new HeddleError('no_plan', 'the planner answered without a plan', 'ask again with more of what it needs')
  return true
}

const told =
  'You have not called plan_tasks: whoever waits for you needs the plan, not a description of it. Call it now with all ' +
  'tasks. If a plan cannot be made, say in one paragraph what is missing.'
