import { resolve } from 'node:path'
import type { Millis } from '../domain/clock.ts'
import { firstIdAt } from '../domain/id.ts'
import type { Run } from '../domain/run.ts'
import { oldestOfNewest, readersAmong, runsOfRequest } from '../store/provenance.ts'
import { findRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading } from '../store/store.ts'
import type { EndedStep } from './journal.ts'

/** So many of the newest runs are looked through, and so many of the request that wrote the file. */
const mostLookedAt = 1000
const mostOfRequest = 200

export interface Readers {
  runs: Run[]
  /** Earlier runs may have read it, too: they were not looked at. */
  isCut: boolean
}

/** Runs that read a file after a moment, oldest first. Who wrote it then does not count. */
export async function readersOf(
  rows: Reading,
  { path, since, writer }: { path: string; since: Millis; writer: string | null },
): Promise<Readers> {
  const earliest = firstIdAt(since)
  const from = (await oldestOfNewest(rows, earliest, mostLookedAt)) ?? earliest
  const rootRunId = writer === null ? undefined : (await findRun(rows, writer))?.rootRunId
  const family = rootRunId ? await runsOfRequest(rows, rootRunId, mostOfRequest) : []
  const likely = [...new Set([...(await readersAmong(rows, { from }, path)), ...(await among(rows, family, path))])]
  const runs: Run[] = []
  for (const id of likely.sort()) {
    const run = id === writer ? undefined : await findRun(rows, id)
    if (run && (await hasRead(rows, run, path, since))) runs.push(run)
  }
  return { runs, isCut: from > earliest && from.length > earliest.length }
}

async function among(rows: Reading, runIds: readonly string[], path: string): Promise<string[]> {
  const found: string[] = []
  for (const id of runIds) found.push(...(await readersAmong(rows, { from: id, to: id }, path)))
  return found
}

/** By the path that its folder gives it, and by what came of the call. */
async function hasRead(rows: Reading, { id, sessionId }: Run, path: string, since: Millis): Promise<boolean> {
  const [session] = sessionId === null ? [] : await findSessions(rows, { id: sessionId })
  if (!session) return false
  return (await readSteps(rows, id)).some(({ kind, payload, at }) => {
    const { name, status, seen = [] } = payload as EndedStep
    if (kind !== 'ended' || name !== 'read_file' || status !== 'ok' || (at !== null && at < since)) return false
    return seen.some((file) => resolve(session.folder, file.path) === path)
  })
}
