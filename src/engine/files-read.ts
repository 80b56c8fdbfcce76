import type { ProtectedPlaces } from '../domain/path-handle.ts'
import type { FilesRead } from '../domain/why.ts'
import { findRun } from '../store/runs.ts'
import { findSessions } from '../store/sessions.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading } from '../store/store.ts'
import { hashNow } from './file-now.ts'
import type { EndedStep } from './journal.ts'

/** So many files are compared with what was read; of the rest nothing is told. */
const mostCompared = 64

/** What a run read, by the paths from its folder on, with the hash that each had then. */
export interface Reads {
  folder: string
  seen: Map<string, string | null>
}

export async function readsOf(rows: Reading, runId: string): Promise<Reads | undefined> {
  const run = await findRun(rows, runId)
  const [session] = run?.sessionId ? await findSessions(rows, { id: run.sessionId }) : []
  if (!session) return undefined
  const seen = (await readSteps(rows, runId)).flatMap(({ kind, payload }) => {
    const { name, status, seen: files = [] } = payload as EndedStep
    return kind === 'ended' && name === 'read_file' && status === 'ok' ? files : []
  })
  if (seen.length === 0) return undefined
  return { folder: session.folder, seen: new Map(seen.map(({ path, sha256 }) => [path, sha256])) }
}

/** Compares what was read with what is there now. */
export async function compareReads({ folder, seen }: Reads, protect: ProtectedPlaces): Promise<FilesRead> {
  const read: FilesRead = { count: seen.size, under: commonFolder([...seen.keys()]), changed: [], unknown: 0 }
  for (const [at, [path, sha256]] of [...seen].entries()) {
    const now = at < mostCompared && sha256 !== null ? await hashNow({ folder, path, protect }) : undefined
    if (now === undefined) read.unknown++
    else if (now !== sha256) read.changed.push(path)
  }
  return read
}

function commonFolder(paths: string[]): string {
  const [first = [], ...others] = paths.map((path) => path.split('/').slice(0, -1))
  let shared = first.length
  for (const other of others) {
    let same = 0
    while (same < shared && other[same] === first[same]) same++
    shared = same
  }
  return first.slice(0, shared).join('/') || '.'
}
