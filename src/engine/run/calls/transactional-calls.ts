import { StorageFailure } from '../../../domain/errors.ts'
import type { RequestedCall } from '../../../domain/model.ts'
import type { Step } from '../../../domain/run.ts'
import type { ToolOutcome } from '../../../domain/tools/tool.ts'
import type { Tx } from '../../../store/store.ts'
import { type ReadyCall, toErrorOutcome, writeCall } from '../../../tools/call.ts'
import { type ActiveRun, Stop } from '../active-run.ts'
import { claimChildren } from '../claim.ts'
import type { ClaimedRun } from '../claimed-run.ts'
import type { EndedStep } from '../context/journal.ts'
import { lockRunSessions } from '../settlement.ts'
import { storeChildren } from '../spawn.ts'
import { CallingRun } from './calling-run.ts'

/**
 * Makes transactional calls in one transaction: their rows and their ends commit together, and so do the children that they
 * start. If one throws, all roll back, and each is made alone: its error is then its outcome.
 */
export async function finishTransactional(
  run: ActiveRun,
  calls: readonly ReadyCall[],
  steps = calls.map(() => run.journal.next('ended', undefined)),
): Promise<void> {
  let started: ClaimedRun[]
  try {
    started = await run.commit('step', async (tx) => {
      if (calls.some(isGuarded)) await lockRunSessions(tx, run.claimed.run)
      const caller = new CallingRun(await run.fenceCaller(tx))
      for (const [at, step] of steps.entries()) step.payload = await writeEnd(tx, run, caller, calls[at] as ReadyCall)
      const claimed = await startChildren(tx, run, caller)
      run.insert(tx, steps)
      return claimed
    })
  } catch (error) {
    if (error instanceof Stop || error instanceof StorageFailure) throw error
    return finishAlone(run, calls, steps, error)
  }
  run.addSteps(steps)
  for (const child of started) run.start(child)
}

async function finishAlone(
  run: ActiveRun,
  calls: readonly ReadyCall[],
  steps: readonly Step[],
  error: unknown,
): Promise<void> {
  for (const [at, step] of steps.entries()) {
    const ready = calls[at] as ReadyCall
    if (calls.length > 1) await finishTransactional(run, [ready], [step])
    else {
      step.payload = endedStep(ready.call, toErrorOutcome(error))
      await run.record([step])
    }
  }
}

async function writeEnd(tx: Tx, run: ActiveRun, caller: CallingRun, ready: ReadyCall): Promise<EndedStep> {
  const { id } = ready.call
  const context = { ...run.contextOf(id), change: run.engine.moments.changeFiles(run, id), caller }
  return endedStep(ready.call, await writeCall(ready, tx, context))
}

/** Stores the children that calls have started; returns those that are claimed in the same commit, and must be executed. */
async function startChildren(tx: Tx, { engine, claimant }: ActiveRun, caller: CallingRun): Promise<ClaimedRun[]> {
  const { children } = caller
  if (children.length === 0) return []
  const claimed = claimant ? await claimChildren(tx, engine, claimant, caller) : []
  const byId = new Map(claimed.map((each) => [each.run.id, each.run]))
  storeChildren(
    tx,
    children.map(({ run, item, ...child }) => {
      const running = byId.get(run.id)
      return running ? { ...child, run: running, item: { ...item, runId: run.id } } : { ...child, run, item }
    }),
  )
  return claimed
}

function isGuarded({ tool }: ReadyCall): boolean {
  return tool.effect === 'transactional' && tool.guarded === true
}

/** Payload of the step that ends a call. */
export function endedStep({ id, name }: RequestedCall, { status, output, label, ...more }: ToolOutcome): EndedStep {
  return { id, name, status, output, ...(label && { label }), ...more }
}
