import type { FilesRead } from '../../api/views/why.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { readSteps } from '../../store/rows/steps.ts'
import type { Reading } from '../../store/store.ts'
import { hashNow } from '../files/file-now.ts'
import type { EndedStep } from '../run/context/journal.ts'

/** Max files compared with the disk; the rest counts as unknown. */
const maxCompared = 64

/** Files that a run read, relative to its folder, each with the hash that it knew last; null if that is unknown. */
export interface Reads {
  folder: string
  seen: Map<string, string | null>
}

export async function readsOf(rows: Reading, runId: string): Promise<Reads | undefined> {
  const run = await findRun(rows, runId)
  const [session] = run?.sessionId ? await findSessions(rows, { id: run.sessionId }) : []
  if (!session) return undefined
  const seen = new Map<string, string | null>()
  for (const { kind, payload } of await readSteps(rows, runId)) {
    if (kind !== 'ended') continue
    const { name, status, seen: files = [], touched } = payload as EndedStep
    // A write to a file that the run had read updates what it knows of it.
    for (const { path, sha256 } of status === 'ok' ? files : [])
      if (name === 'read_file' || seen.has(path)) seen.set(path, sha256)
    // Changed by a command of the run, which has not read it since.
    for (const path of touched && 'changed' in touched ? [...touched.changed, ...touched.removed] : [])
      if (seen.has(path)) seen.set(path, null)
  }
  return seen.size === 0 ? undefined : { folder: session.folder, seen }
}

/** Compares files that were read with the disk. */
export async function compareReads({ folder, seen }: Reads, protect: ProtectedPlaces): Promise<FilesRead> {
  const read: FilesRead = { count: seen.size, under: commonFolder([...seen.keys()]), changed: [], unknown: 0 }
  for (const [at, [path, sha256]] of [...seen].entries()) {
    const now = at < maxCompared && sha256 !== null ? await hashNow({ folder, path, protect }) : undefined
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
