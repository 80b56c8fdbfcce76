import type { Artifact } from '../domain/app.ts'
import type { OpenFile, ProtectedPlaces } from '../domain/path-handle.ts'
import type { Run } from '../domain/run.ts'
import { changesFor, type KeptChange } from '../store/file-changes.ts'
import type { Reading } from '../store/store.ts'
import { hashOf } from '../tools/change-file.ts'
import { pathHandle } from '../tools/handle.ts'
import type { Engine } from './world.ts'

// More, or larger ones, are told as they were written, and not looked at.
const mostLookedAt = 100
const mostBytes = 5 * 1024 * 1024

/** Files that a run which works for another has written, as they are on the disk when it ends. */
export async function artifactsOf({ store, protect }: Engine, run: Run): Promise<Artifact[]> {
  if (run.requesterSessionId === null) return []
  const changes = await store.read((rows) => written(rows, run))
  const artifacts: Artifact[] = []
  for (const [at, change] of changes.entries()) {
    const { path, after: sha256 } = change
    const found = at < mostLookedAt ? await fileNow(change, protect) : undefined
    artifacts.push({ path, sha256, bytes: found?.bytes ?? null, verified: found?.sha256 === sha256 })
  }
  return artifacts
}

/** The same by the rows alone, where a run is ended by somebody who does not run it. */
export async function unseenArtifacts(rows: Reading, run: Run): Promise<Artifact[]> {
  const changes = await written(rows, run)
  return changes.map(({ path, after: sha256 }) => ({ path, sha256, bytes: null, verified: false }))
}

/** The last change of each file. */
export function lastOfEach(changes: KeptChange[]): KeptChange[] {
  return [...new Map(changes.map((change) => [`${change.folder}\n${change.path}`, change])).values()]
}

/** By the run, and by those before it in its session that belong to the same request: one result stands for them all. */
async function written(rows: Reading, run: Run): Promise<(KeptChange & { after: string })[]> {
  const last = lastOfEach(await changesFor(rows, { sessionId: run.sessionId ?? '', rootRunId: run.rootRunId }))
  return last.flatMap((change) => (change.after === null ? [] : [{ ...change, after: change.after }]))
}

/** Undefined when it is not there, too large, or cannot be reached any more: whatever it is, the run has ended. */
async function fileNow(
  { folder, path }: KeptChange,
  protect: ProtectedPlaces,
): Promise<{ bytes: number; sha256: string } | undefined> {
  try {
    return await pathHandle({ folder, path, protect }).openFile(lookAt)
  } catch {
    return undefined
  }
}

async function lookAt(file: OpenFile): Promise<{ bytes: number; sha256: string } | undefined> {
  if (file.bytes > mostBytes) return undefined
  const into = Buffer.alloc(file.bytes)
  let filled = 0
  for (let count = -1; filled < into.length && count !== 0; filled += count)
    count = await file.read(into.subarray(filled), filled)
  return { bytes: filled, sha256: hashOf(into.subarray(0, filled)) }
}
