import { type InboxItem, itemsOfPrincipal } from '../../domain/inbox.ts'
import type { Run } from '../../domain/run.ts'
import { itemsOfRun, waitingItems } from '../../store/rows/inbox.ts'
import type { Reading } from '../../store/store.ts'

/** The inputs of a run; of a queued run, those that wait in its session and that it will take. */
export async function inputsOf(
  rows: Reading,
  { id, state, sessionId, principal }: Pick<Run, 'id' | 'state' | 'sessionId' | 'principal'>,
): Promise<InboxItem[]> {
  const taken = await itemsOfRun(rows, id)
  return taken.length === 0 && state === 'queued' && sessionId !== null
    ? itemsOfPrincipal(await waitingItems(rows, sessionId), principal)
    : taken
}
