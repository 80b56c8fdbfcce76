import { startedCalls } from '../../store/rows/provenance.ts'
import type { Reading } from '../../store/store.ts'
import type { BegunStep } from './context/journal.ts'

/** Finds a call in a run's journal; undefined if the journal is gone. */
export async function findCall(rows: Reading, runId: string, callId: string): Promise<BegunStep | undefined> {
  return ((await startedCalls(rows, runId)) as BegunStep[]).find(({ id }) => id === callId)
}
