import type { Run } from '../../domain/run.ts'
import type { CallContext } from '../../domain/tools/tool.ts'
import { liveRunOf } from '../../store/rows/runs.ts'
import { lockSession } from '../../store/rows/sessions.ts'
import type { Engine } from '../runtime.ts'
import { accessOf } from './sender.ts'
import { acceptInput, newInputIds } from './submit.ts'

/**
 * Tells a child's run under way something at its next step, with the rights and the label of the call. Returns false if no
 * run is under way: a message would start one without a requester. A repeated call counts once.
 */
export async function steerChild(
  engine: Engine,
  child: { sessionId: string; content: string },
  caller: Pick<Run, 'id' | 'principal'>,
  { callId, label }: Pick<CallContext, 'callId' | 'label'>,
): Promise<boolean> {
  const ids = newInputIds(engine)
  return engine.store.write('submit', async (tx) => {
    const session = await lockSession(tx, child.sessionId)
    if (!session || !(await liveRunOf(tx, session.id))) return false
    const { principal } = await accessOf(tx, caller, session)
    await acceptInput(tx, {
      folder: session.folder,
      label: session.label,
      content: child.content,
      kind: 'steer',
      source: 'agent',
      principal,
      ...(label && { trust: label }),
      dedupeKey: `steer:${caller.id}:${callId}`,
      options: {},
      ids,
      now: engine.clock.now(),
    })
    return true
  })
}
