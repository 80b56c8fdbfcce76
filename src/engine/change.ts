import { join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import type { FilePlace } from '../domain/path-handle.ts'
import type { ChangeFile } from '../domain/tool.ts'
import { changeOfCall, keepChange, lastChangeBy } from '../store/file-changes.ts'
import { hashOf, pathOf } from '../tools/change-file.ts'
import type { ActiveRun } from './active-run.ts'
import { authorOf } from './file-author.ts'
import { packContent } from './kept-content.ts'

/**
 * How a call of a run changes files: the row of a change, and the content that it takes away, are committed before the
 * file is touched. After a crash the call is made again, and the file itself tells how far it got.
 */
export function changeFor(run: ActiveRun, callId: string): ChangeFile {
  return (handle, make) =>
    run.lanes.inTurn(handle.shown, () =>
      handle.replaceFile(async (place) => {
        const current = place.before ? hashOf(place.before.bytes) : null
        const path = pathOf(place)
        const begun = await run.engine.store.read((rows) =>
          changeOfCall(rows, { runId: run.claimed.run.id, callId, folder: place.folder, path }),
        )
        if (current !== null && current === begun?.after) return { fate: 'kept', answer: { path, sha256: current } }
        await mustBeAsSeen(run, place, current, begun)
        const bytes = make(place)
        const sha256 = hashOf(bytes)
        if (sha256 === current) return { fate: 'kept', answer: { path, sha256 } }
        if (!begun) await keep(run, callId, place, current, sha256)
        // The commit may have taken its time: the file is not ours any more if the run is not.
        run.mayAct()
        return { fate: { bytes }, answer: { path, sha256 } }
      }),
    )
}

/** Refuses when somebody else has changed the file since this run saw it, or since this call began. */
async function mustBeAsSeen(
  { engine, claimed, journal }: ActiveRun,
  place: FilePlace,
  current: string | null,
  begun: { before: string | null } | undefined,
): Promise<void> {
  // Where nothing is any more, nothing can be lost.
  if (current === null && !begun) return
  const { folder } = place
  const path = pathOf(place)
  const known = begun ? begun.before : (journal.seen.get(path) ?? current)
  if (current === known) return
  const by = await engine.store.read(async (rows) => {
    // A call beside this one that has just written may not be journalled yet.
    const own = begun ? undefined : await lastChangeBy(rows, { runId: claimed.run.id, folder, path })
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

async function keep(
  run: ActiveRun,
  callId: string,
  { folder, names, before }: FilePlace,
  current: string | null,
  after: string,
): Promise<void> {
  const content = before && current !== null ? await packContent(current, before.bytes) : undefined
  const change = { runId: run.claimed.run.id, callId, folder, path: pathOf({ names }), before: current, after }
  await run.write('step', (tx) =>
    keepChange(tx, { ...change, mode: before?.mode ?? null, at: run.engine.clock.now() }, content),
  )
}
