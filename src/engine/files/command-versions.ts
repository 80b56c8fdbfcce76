import type { Millis } from '../../domain/clock.ts'
import type { ToolOutcome } from '../../domain/tools/tool.ts'
import type { CommandVersion, CommandVersions, ReadContent } from '../../domain/tools/touched.ts'
import { type StoredContent, storeContent } from '../../store/rows/file-changes.ts'
import { type CommandChange, recordCommandChange } from '../../store/rows/files/file-versions.ts'
import { recordFoundFiles } from '../../store/rows/files/found-files.ts'
import type { Tx } from '../../store/store.ts'
import type { Engine } from '../runtime.ts'
import { findUnrecorded, type UnrecordedFile } from './found-files.ts'
import { packLineHashes } from './line-hashes.ts'
import { mapReordered, writeLineMap } from './line-map.ts'
import { packContent } from './pack-content.ts'

/** Max bytes of contents that are stored for one command; of further contents only the hashes are. */
const maxStored = 8 * 2 ** 20

/** A command's call. */
interface CommandCall {
  runId: string
  callId: string
  since: Millis
  at: Millis
}

/**
 * Prepares for storage the versions of the files that a command changed, and of those that it found changed by the user or another
 * program. The outcome goes into the journal, which says only whether all changes have a version.
 */
export async function prepareVersions(
  { store }: Pick<Engine, 'store'>,
  { versions: seen, ...outcome }: ToolOutcome,
  call: CommandCall,
): Promise<{ outcome: ToolOutcome; record?: (tx: Tx) => Promise<void> }> {
  const { touched } = outcome
  if (!seen || !touched || 'unseen' in touched) return { outcome }
  const { found: unrecorded, hashes } = await store.read((rows) => findUnrecorded(rows, seen, call.since))
  const contents = await contentsToStore(seen.versions, unrecorded)
  const found = unrecorded.map((file) => {
    const { bytes } = file.content
    return { ...file, lineHashes: packLineHashes({ before: undefined, after: bytes, isRecorded: true }) }
  })
  const foundPaths = new Set(found.map(({ path }) => path))
  const changes = seen.versions.map((version) => {
    const isRecorded = foundPaths.has(version.path) || hashes.get(version.path) === version.before?.sha256
    return changeOf(version, isRecorded, seen, call)
  })
  return {
    outcome: { ...outcome, touched: { ...touched, unrecorded: seen.left } },
    async record(tx) {
      for (const content of contents) await storeContent(tx, content)
      recordFoundFiles(tx, { ...call, folder: seen.folder, at: call.since }, found)
      for (const change of changes) recordCommandChange(tx, change)
    },
  }
}

function changeOf(
  { path, before, after, origin }: CommandVersion,
  isRecorded: boolean,
  { folder }: CommandVersions,
  call: CommandCall,
): CommandChange {
  const old = origin && origin.path !== '' ? origin.content : before
  const mapped = old?.bytes && after?.bytes ? mapReordered(old.bytes, after.bytes) : null
  return {
    ...call,
    folder,
    path,
    before: before?.sha256 ?? null,
    after: after?.sha256 ?? null,
    ...(origin && { origin: { path: origin.path, hash: origin.content.sha256 } }),
    lineMap: mapped && writeLineMap(mapped),
    lineHashes: packLineHashes({ before: before?.bytes, after: after?.bytes, isRecorded }),
    modifiedAt: after?.times?.modifiedAt ?? null,
    identity: after?.times?.identity ?? null,
    replaced: before?.times,
  }
}

/** Each content once. It must be stored now: the next change of the file may destroy it. */
async function contentsToStore(
  versions: readonly CommandVersion[],
  found: readonly UnrecordedFile[],
): Promise<StoredContent[]> {
  const all = new Map<string, ReadContent>()
  for (const { content } of found) if (content.bytes) all.set(content.sha256, content)
  for (const { before, after, origin } of versions)
    for (const content of [before, after, origin?.content]) if (content?.bytes) all.set(content.sha256, content)
  const stored: StoredContent[] = []
  let left = maxStored
  for (const { sha256, bytes } of all.values()) {
    left -= bytes?.length ?? 0
    if (bytes && left >= 0) stored.push(await packContent(sha256, bytes))
  }
  return stored
}
