import type { InboxItem } from '../../domain/inbox.ts'
import type { Run } from '../../domain/run.ts'
import { itemsOfRun, waitingItems } from '../../store/rows/inbox.ts'
import type { Reading } from '../../store/store.ts'

/** The inputs of a run; of a queued run, the inputs that wait in its session. */
export async function inputsOf(
  rows: Reading,
  { id, state, sessionId }: Pick<Run, 'id' | 'state' | 'sessionId'>,
): Promise<InboxItem[]> {
  const taken = await itemsOfRun(rows, id)
  return taken.length === 0 && state === 'queued' && sessionId !== null ? waitingItems(rows, sessionId) : taken
}
