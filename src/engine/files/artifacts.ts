import { join } from 'node:path'
import type { ArtifactNow } from '../../api/views/result.ts'
import type { Artifact } from '../../domain/artifact.ts'
import type { Run } from '../../domain/run.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { changesOfRequest, type StoredFileChange } from '../../store/rows/file-changes.ts'
import type { Result } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import type { Reading } from '../../store/store.ts'
import type { Engine } from '../runtime.ts'
import { authorOf } from './file-author.ts'
import { type FileNow, fileNow } from './file-now.ts'
import { describeOverwrite, type LostWrite, lostByRun } from './lost-writes.ts'

// Max files that are checked on the disk; the rest is listed unverified.
const maxChecked = 100

/** Files that a child run wrote, checked against the disk when it ends. */
export async function artifactsOf({ store, protect }: Engine, run: Run): Promise<Artifact[]> {
  if (run.requesterSessionId === null) return []
  const changes = await store.read((rows) => lastWrites(rows, run))
  const artifacts: Artifact[] = []
  for (const [at, change] of changes.entries()) {
    const now = at < maxChecked ? await readNow(change, protect) : undefined
    artifacts.push({ path: change.path, sha256: change.after, ...verifyWrite(change, now) })
  }
  return artifacts
}

/** The same from the rows alone, for a run that is ended by another process. */
export async function unverifiedArtifacts(rows: Reading, run: Run): Promise<Artifact[]> {
  const changes = await lastWrites(rows, run)
  return changes.map(({ path, after: sha256 }) => ({ path, sha256, bytes: null, verified: false }))
}

/** Files of a result compared with the disk now, and what happened to those that differ. */
export async function artifactsNow(
  rows: Reading,
  protect: ProtectedPlaces,
  { runId, artifacts }: Pick<Result, 'runId' | 'artifacts'>,
): Promise<ArtifactNow[]> {
  const run = artifacts.length === 0 ? undefined : await findRun(rows, runId)
  const changes = run ? await lastWrites(rows, run) : []
  let lost: LostWrite[] | undefined
  const found: ArtifactNow[] = []
  for (const [at, artifact] of artifacts.entries()) {
    const change = changes.find(({ path, after }) => path === artifact.path && after === artifact.sha256)
    const now = change && at < maxChecked ? await readNow(change, protect) : undefined
    if (run && change && now) {
      const { verified, bytes } = verifyWrite(change, now)
      lost ??= verified ? undefined : await lostByRun(rows, run)
      const since = verified ? undefined : await describeChange(rows, change, now, lost ?? [])
      found.push({ ...artifact, bytes: bytes ?? artifact.bytes, verified, ...(since !== undefined && { since }) })
    } else found.push({ ...artifact, verified: false, since: 'not looked at' })
  }
  return found
}

/** The last change of each file. */
export function lastChanges(changes: StoredFileChange[]): StoredFileChange[] {
  return [...new Map(changes.map((change) => [`${change.folder}\n${change.path}`, change])).values()]
}

type Write = StoredFileChange & { after: string }

/** Last write of each file by all runs of this session and request: one result covers them all. */
async function lastWrites(rows: Reading, run: Run): Promise<Write[]> {
  const last = lastChanges(await changesOfRequest(rows, { sessionId: run.sessionId ?? '', rootRunId: run.rootRunId }))
  return last.flatMap((change) => (change.after === null ? [] : [{ ...change, after: change.after }]))
}

/** Undefined if the file cannot be read: the run must end all the same. */
async function readNow({ folder, path }: StoredFileChange, protect: ProtectedPlaces): Promise<FileNow | undefined> {
  try {
    return await fileNow({ folder, path, protect })
  } catch {
    return undefined
  }
}

function verifyWrite({ after }: Write, now: FileNow | undefined): Pick<Artifact, 'bytes' | 'verified'> {
  const isSame = now?.kind === 'file' && now.sha256 === after
  return { bytes: isSame ? now.bytes.length : null, verified: isSame }
}

/** Describes what happened to a file that differs from what was written. */
async function describeChange(
  rows: Reading,
  { folder, path, id, runId }: Write,
  now: FileNow,
  lost: readonly LostWrite[],
): Promise<string> {
  if (now.kind === 'missing') return 'not there'
  if (now.kind === 'large') return `not looked at: it has ${now.size} bytes`
  if (now.kind !== 'file') return 'not there as a file'
  const loss = lost.find((each) => each.lost.change.id === id)
  return loss
    ? describeOverwrite(loss)
    : `changed since ${await authorOf(rows, join(folder, path), now.sha256, [runId])}`
}
