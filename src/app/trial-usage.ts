import { ownerText } from '../domain/access/principal.ts'
import { idSource } from '../domain/id.ts'
import { type Model, ModelFailure } from '../domain/model.ts'
import { type TrialKind, trialRunId } from '../domain/spending.ts'
import { acceptReply } from '../engine/model/accept-reply.ts'
import { InFlightCall } from '../engine/model/in-flight-call.ts'
import type { StoreSettings } from './store.ts'

/** Tells of every call that a model is asked, when it has ended: with a reply, a failure, or broken off. */
export function observeCalls(model: Model, onCall: (call: InFlightCall) => void): Model {
  let calls = 0
  return {
    ...model,
    async reply(request, onDelta) {
      const asked = new InFlightCall(++calls, model, request, { isAside: true })
      try {
        const reply = await model.reply(request, (delta) => {
          asked.addDelta(delta)
          onDelta(delta)
        })
        asked.complete(acceptReply(reply))
        return reply
      } catch (error) {
        if (error instanceof ModelFailure) asked.failure = error
        throw error
      } finally {
        onCall(asked)
      }
    },
  }
}

/** Runs a trial and records what its calls cost, so that `usage` and the day's budget know, however the trial ends. */
export async function recordTrial<T>(
  kind: TrialKind,
  settings: Pick<StoreSettings, 'paths' | 'config' | 'env' | 'tell'>,
  trial: (onCall: (call: InFlightCall) => void) => Promise<T>,
): Promise<T> {
  const calls: InFlightCall[] = []
  try {
    return await trial((call) => calls.push(call))
  } finally {
    const paid = calls.filter(({ cost }) => cost !== undefined)
    if (paid.length > 0) await recordCalls(kind, settings, paid)
  }
}

async function recordCalls(
  kind: TrialKind,
  settings: Pick<StoreSettings, 'paths' | 'config' | 'env' | 'tell'>,
  calls: InFlightCall[],
): Promise<void> {
  // Loaded here: a trial is paid for rarely, and the commands that can make one start quickly.
  const { openExistingStore, contextOf } = await import('./store.ts')
  const { recordUsage } = await import('../store/rows/usage.ts')
  const context = contextOf(settings)
  const store = await openExistingStore(settings, context)
  if (!store) return
  try {
    const id = trialRunId(kind, idSource(context.clock, context.random)())
    await store.write('step', async (tx) => {
      for (const [index, { answeredBy: model, cost }] of calls.entries())
        if (cost)
          await recordUsage(
            tx,
            { runId: id, call: index + 1, rootRunId: id, model, principal: ownerText },
            cost,
            context.clock.now(),
          )
    })
  } finally {
    await store.close()
  }
}
