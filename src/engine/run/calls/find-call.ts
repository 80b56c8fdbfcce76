import { callsLike } from '../../../store/rows/steps.ts'
import type { Reading } from '../../../store/store.ts'
import type { BegunStep } from '../context/journal.ts'

/** Finds a call in a run's journal; undefined if the journal is gone. */
export async function findCall(rows: Reading, runId: string, callId: string): Promise<BegunStep | undefined> {
  return ((await callsLike(rows, runId, callId)) as BegunStep[]).find(({ id }) => id === callId)
}
