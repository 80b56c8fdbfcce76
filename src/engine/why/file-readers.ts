import { resolve } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import { firstIdAt } from '../../domain/id.ts'
import type { Run } from '../../domain/run.ts'
import { nthNewestRunId, runsOfRequest, runsReadingFile } from '../../store/rows/provenance.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { readSteps } from '../../store/rows/steps.ts'
import type { Reading } from '../../store/store.ts'
import type { EndedStep } from '../run/context/journal.ts'

/** Max newest runs that are searched, and max runs of the request that wrote the file. */
const maxSearched = 1000
const maxOfRequest = 200

interface Readers {
  runs: Run[]
  /** Earlier runs were not searched, and may have read it, too. */
  isCut: boolean
}

/** Runs that read a file since a time, oldest first, without its writer. */
export async function readersOf(
  rows: Reading,
  { path, since, writer }: { path: string; since: Millis; writer: string | null },
): Promise<Readers> {
  const earliest = firstIdAt(since)
  const from = (await nthNewestRunId(rows, earliest, maxSearched)) ?? earliest
  const rootRunId = writer === null ? undefined : (await findRun(rows, writer))?.rootRunId
  const sameRequest = rootRunId ? await runsOfRequest(rows, rootRunId, maxOfRequest) : []
  const likely = [
    ...new Set([...(await runsReadingFile(rows, { from }, path)), ...(await readersAmong(rows, sameRequest, path))]),
  ]
  const runs: Run[] = []
  for (const id of likely.sort()) {
    const run = id === writer ? undefined : await findRun(rows, id)
    if (run && (await hasRead(rows, run, path, since))) runs.push(run)
  }
  return { runs, isCut: from > earliest && from.length > earliest.length }
}

async function readersAmong(rows: Reading, runIds: readonly string[], path: string): Promise<string[]> {
  const found: string[] = []
  for (const id of runIds) found.push(...(await runsReadingFile(rows, { from: id, to: id }, path)))
  return found
}

/** Whether a run read the file successfully, by its path relative to the run's folder. */
async function hasRead(rows: Reading, { id, sessionId }: Run, path: string, since: Millis): Promise<boolean> {
  const [session] = sessionId === null ? [] : await findSessions(rows, { id: sessionId })
  if (!session) return false
  return (await readSteps(rows, id)).some(({ kind, payload, at }) => {
    const { name, status, seen = [] } = payload as EndedStep
    if (kind !== 'ended' || name !== 'read_file' || status !== 'ok' || (at !== null && at < since)) return false
    return seen.some((file) => resolve(session.folder, file.path) === path)
  })
}
