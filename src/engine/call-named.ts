import { callsBegun } from '../store/provenance.ts'
import type { Reading } from '../store/store.ts'
import type { BegunStep } from './journal.ts'

/** A call that a run began, by its id; undefined when its journal is gone. */
export async function callNamed(rows: Reading, runId: string, callId: string): Promise<BegunStep | undefined> {
  return ((await callsBegun(rows, runId)) as BegunStep[]).find(({ id }) => id === callId)
}
