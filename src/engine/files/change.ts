import { join } from 'node:path'
import { HeddleError } from '../../domain/errors.ts'
import { joinLabels } from '../../domain/label.ts'
import type { FileIdentity, FileLocation } from '../../domain/tools/path-handle.ts'
import type { ChangeFile } from '../../domain/tools/tool.ts'
import { changesAtCall, lastChangeBy, recordFileChange } from '../../store/rows/file-changes.ts'
import { pathOf } from '../../tools/files/change-file.ts'
import { hashOf } from '../../tools/files/content-hash.ts'
import type { EditedText } from '../../tools/files/edit-text.ts'
import type { BegunStep, Journal } from '../run/context/journal.ts'
import type { RunHandle } from '../run/moments.ts'
import type { Engine } from '../runtime.ts'
import { authorOf } from './file-author.ts'
import { labelOfFiles, recordContentLabel } from './file-labels.ts'
import { packLineHashes } from './line-hashes.ts'
import { editOfCall, mapContents, writeLineMap } from './line-map.ts'
import { packContent } from './pack-content.ts'

/**
 * File writer of a tool call. The change and the replaced content are committed before the file is touched; after a crash
 * the call runs again, and the file's hash shows whether the write happened.
 */
export function changeFor(run: RunHandle<Engine>, callId: string): ChangeFile {
  return (handle, make, keepsRest) =>
    run.fileQueue.inOrder(join(run.claimed.session.folder, handle.shown), async () => {
      let identity: FileIdentity | undefined
      const seen = await handle.replaceFile(
        async (place) => {
          const current = place.before ? hashOf(place.before.bytes) : null
          const path = pathOf(place)
          const { own: recorded, newest } = await run.engine.store.read((rows) =>
            changesAtCall(rows, { runId: run.claimed.run.id, callId, folder: place.folder, path }),
          )
          if (current !== null && current === recorded?.after) {
            identity = place.before?.times.identity
            return { state: 'kept', answer: { path, sha256: current } }
          }
          await assertUnchanged(run, place, current, recorded)
          const bytes = make(place)
          const sha256 = hashOf(bytes)
          if (sha256 === current) return { state: 'kept', answer: { path, sha256 } }
          const isRecorded = current === newest?.after
          if (!recorded) await keep(run, callId, place, { current, isRecorded, after: sha256, bytes, keepsRest })
          // The commit may have been slow: another worker may own the run by now.
          run.assertLease()
          return { state: { bytes }, answer: { path, sha256 } }
        },
        (times) => {
          identity = times.identity
        },
      )
      return { ...seen, ...(identity !== undefined && { identity }) }
    })
}

/** Throws if another writer changed the file since this run read it, or since this call began. */
async function assertUnchanged(
  { engine, claimed, journal }: RunHandle<Engine>,
  place: FileLocation,
  current: string | null,
  recorded: { before: string | null } | undefined,
): Promise<void> {
  // A missing file has no content to lose.
  if (current === null && !recorded) return
  const { folder } = place
  const path = pathOf(place)
  const known = recorded ? recorded.before : (journal.seenHashes.get(path) ?? current)
  if (current === known) return
  const by = await engine.store.read(async (rows) => {
    // A concurrent call of this run may have written it and not be journalled yet.
    const own = recorded ? undefined : await lastChangeBy(rows, { runId: claimed.run.id, folder, path })
    if (own?.after === current) return undefined
    const whole = join(folder, path)
    return authorOf(rows, whole, current, [claimed.run.id], journal.touchedSince(path, whole))
  })
  if (by !== undefined)
    throw new HeddleError(
      'changed',
      `${path} was ${current === null ? 'removed' : 'changed'} ${by} since you read it`,
      'read it again',
    )
}

interface NewContent {
  /** Hash of the content that it replaces; `isRecorded` if the last change left that one. */
  current: string | null
  isRecorded: boolean
  after: string
  bytes: Buffer
  keepsRest: boolean
}

async function keep(
  run: RunHandle<Engine>,
  callId: string,
  { folder, names, before }: FileLocation,
  { current, isRecorded, after, bytes, keepsRest }: NewContent,
): Promise<void> {
  const content = before && current !== null ? await packContent(current, before.bytes) : undefined
  const path = pathOf({ names })
  const at = run.engine.clock.now()
  const mapped = before && mapContents(before.bytes, bytes, findEdit(run.journal, callId))
  const lineMap = mapped ? writeLineMap(mapped) : null
  const lineHashes = packLineHashes({ before: before?.bytes, after: bytes, isRecorded, map: mapped?.map })
  const change = { runId: run.claimed.run.id, callId, folder, path, before: current, after, lineMap, lineHashes }
  const old = keepsRest ? [await labelOfFiles(run, [{ path, sha256: current }])] : []
  const label = joinLabels([run.label, ...old])
  const written = { path: join(folder, path), sha256: after, isCreated: current === null, at, label }
  await run.write('step', async (tx) => {
    await recordFileChange(tx, { ...change, mode: before?.mode ?? null, at, replaced: before?.times }, content)
    await recordContentLabel(tx, change.runId, written)
  })
}

/** What a call of edit_file replaces. */
function findEdit({ steps }: Journal, callId: string): EditedText | undefined {
  const begun = steps.find(({ kind, payload }) => kind === 'begun' && (payload as BegunStep).id === callId)
  return begun && editOfCall(begun.payload as BegunStep)
}
