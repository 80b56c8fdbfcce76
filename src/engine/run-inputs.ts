import type { InboxItem } from '../domain/inbox.ts'
import type { Run } from '../domain/run.ts'
import { itemsOfRun, waitingItems } from '../store/inbox.ts'
import type { Reading } from '../store/store.ts'

/** What a run answers; while it is queued, what waits for its session. */
export async function inputsOf(
  rows: Reading,
  { id, state, sessionId }: Pick<Run, 'id' | 'state' | 'sessionId'>,
): Promise<InboxItem[]> {
  const taken = await itemsOfRun(rows, id)
  return taken.length === 0 && state === 'queued' && sessionId !== null ? waitingItems(rows, sessionId) : taken
}
