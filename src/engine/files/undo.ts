import { join } from 'node:path'
import type { UndoReport } from '../../api/views/result.ts'
import { HeddleError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import type { Run } from '../../domain/run.ts'
import type { NewFileState } from '../../domain/tools/path-handle.ts'
import { childrenOf } from '../../store/rows/child-runs.ts'
import { recordEvent } from '../../store/rows/events.ts'
import {
  changesOf,
  contentOf,
  markUndone,
  recordFileChange,
  type StoredFileChange,
} from '../../store/rows/file-changes.ts'
import { findRun, runsOf } from '../../store/rows/runs.ts'
import { readSteps } from '../../store/rows/steps.ts'
import type { Reading } from '../../store/store.ts'
import { hashOf } from '../../tools/files/content-hash.ts'
import { pathHandle } from '../../tools/files/handle.ts'
import { Journal, type Touch } from '../run/context/journal.ts'
import type { Engine } from '../runtime.ts'
import { notFound } from '../turns/route.ts'
import { authorOf } from './file-author.ts'
import { packContent, unpackContent } from './pack-content.ts'

type UndoContext = Pick<Engine, 'store' | 'clock' | 'protect'>

/**
 * Restores every file that a run and its descendants changed to its content before their first change. The first run of a
 * request stands for all of it. A file changed since then is left alone, and so are changes by commands, whose old content
 * is not stored. Idempotent.
 */
export async function undo(engine: UndoContext, runId: string, { dryRun = false } = {}): Promise<UndoReport> {
  const runs = await engine.store.read((rows) => withDescendants(rows, runId))
  const live = runs.find(({ finishedAt }) => finishedAt === null)
  if (live) throw notFinished(runId, live)
  const { changes, journals } = await engine.store.read(async (rows) => ({
    changes: (await changesOf(rows, idsOf(runs))).filter(({ undoneAt }) => undoneAt === null),
    journals: await journalsOf(rows, runs),
  }))
  const isSure = ({ runId, callId }: StoredFileChange) => journals.get(runId ?? '')?.isDone(callId ?? '') === true
  const outcome = { restored: [] as string[], unchanged: [] as string[], refused: [] as UndoReport['refused'] }
  const touches = [...journals.values()].flatMap((journal) => journal.touches)
  const settled: number[] = []
  for (const [path, ofFile] of Map.groupBy(changes, ({ folder, path }) => join(folder, path))) {
    const { became, why } = await undoFile(engine, ofFile, expectedState(ofFile, isSure), touches, dryRun).catch(
      refuseOnError,
    )
    if (became === 'refused') outcome.refused.push({ path, why })
    else {
      outcome[became].push(path)
      settled.push(...ofFile.map(({ id }) => id))
    }
  }
  if (!dryRun && settled.length > 0) await recordUndo(engine, runId, settled, outcome)
  return { ok: outcome.refused.length === 0, ...outcome, cannotUndo: unsafeCalls(journals) }
}

async function withDescendants(rows: Reading, runId: string): Promise<Run[]> {
  const run = await findRun(rows, runId)
  if (!run) throw notFound('run', runId)
  if (run.id === run.rootRunId) return runsOf(rows, { rootRunId: run.id })
  const found = [run]
  // The array grows while it is iterated.
  for (const each of found) found.push(...(await childrenOf(rows, each.id)))
  return found
}

type FileOutcome = { became: 'restored' | 'unchanged' | 'refused'; why: string }

/** Restores one file. `changes` are all changes of these runs to it, oldest first. */
async function undoFile(
  engine: UndoContext,
  changes: StoredFileChange[],
  { left, broken }: ExpectedState,
  touches: Touch[],
  dryRun: boolean,
): Promise<FileOutcome> {
  const [first] = changes
  if (!first) return { became: 'unchanged', why: '' }
  const { folder, path, before: target, mode } = first
  const whole = join(folder, path)
  const handle = pathHandle({ folder, path, protect: engine.protect })
  return handle.replaceFile<FileOutcome>(async ({ before }) => {
    const current = before ? hashOf(before.bytes) : null
    if (current === target) return { state: 'kept', answer: { became: 'unchanged', why: '' } }
    if (!left.includes(current) || broken) {
      const runIds = changes.map((change) => change.runId)
      const known = touchOf(whole, changes, broken, touches)?.by
      const by = await engine.store.read((rows) =>
        authorOf(rows, whole, broken ? broken.before : current, runIds, known),
      )
      const why = broken ? `changed ${by} in between` : `${before ? 'changed' : 'removed'} ${by} since`
      return { state: 'kept', answer: { became: 'refused', why } }
    }
    const state = await restoredContent(engine, target, mode)
    if (!dryRun) {
      const content = before && current !== null ? await packContent(current, before.bytes) : undefined
      // The lines of both contents are recorded with the changes that are undone.
      const lines = { lineMap: null, lineHashes: '' }
      const at = engine.clock.now()
      const undoing = { runId: null, callId: null, folder, path, before: current, after: target, ...lines }
      await engine.store.write('undo', (tx) =>
        recordFileChange(tx, { ...undoing, mode: before?.mode ?? null, at, replaced: before?.times }, content),
      )
    }
    return { state: dryRun ? 'kept' : state, answer: { became: 'restored', why: '' } }
  })
}

/** The command that touched a file between two of its changes, or after the last. */
function touchOf(whole: string, changes: StoredFileChange[], broken: StoredFileChange | undefined, touches: Touch[]) {
  const from = (broken ? changes[changes.indexOf(broken) - 1] : changes.at(-1))?.at ?? 0
  const to = broken?.at ?? Number.POSITIVE_INFINITY
  return touches.findLast(({ at, paths }) => paths.has(whole) && (at === null || (at > from && at <= to)))
}

interface ExpectedState {
  /** Hashes that the file may have after the changes. */
  left: (string | null)[]
  /** The first change that did not start from the result of the one before: another writer came in between. */
  broken: StoredFileChange | undefined
}

/** A change is stored before it is made: without a successful call it may or may not have happened. */
function expectedState(changes: StoredFileChange[], isSure: (change: StoredFileChange) => boolean): ExpectedState {
  const all: ExpectedState = { left: [], broken: undefined }
  for (const change of changes) {
    if (all.left.length > 0 && !all.left.includes(change.before)) all.broken ??= change
    all.left = isSure(change) ? [change.after] : [change.after, change.before]
  }
  return all
}

async function restoredContent(
  { store }: UndoContext,
  target: string | null,
  mode: number | null,
): Promise<NewFileState> {
  if (target === null) return 'removed'
  const kept = await store.read((rows) => contentOf(rows, target))
  if (!kept) throw new HeddleError('not_kept', 'what it held before was not kept', 'take it from a backup')
  return { bytes: await unpackContent(kept), ...(mode !== null && { mode }) }
}

async function recordUndo(
  { store, clock }: UndoContext,
  runId: string,
  changes: number[],
  { restored, refused }: Pick<UndoReport, 'restored' | 'refused'>,
): Promise<void> {
  const at = clock.now()
  const payload = { restored: restored.length, refused: refused.length }
  await store.write('undo', async (tx) => {
    await markUndone(tx, changes, at)
    const scope = (await findRun(tx, runId)) ?? null
    await recordEvent(tx, { at, kind: 'run.undone', subject: `run:${runId}`, payload, scope })
  })
}

/** Unsafe calls that were made, or may have been. */
function unsafeCalls(journals: Map<string, Journal>): UndoReport['cannotUndo'] {
  return [...journals].flatMap(([runId, { unsafeCalls }]) => unsafeCalls.map((call) => ({ runId, ...call })))
}

async function journalsOf(rows: Reading, runs: Run[]): Promise<Map<string, Journal>> {
  const journals = new Map<string, Journal>()
  for (const { id } of runs) journals.set(id, new Journal(id, await readSteps(rows, id)))
  return journals
}

function idsOf(runs: Run[]): string[] {
  return runs.map(({ id }) => id)
}

function refuseOnError(error: unknown): FileOutcome {
  if (!(error instanceof HeddleError)) throw error
  return { became: 'refused', why: error.message }
}

function notFinished(runId: string, live: Run): HeddleError {
  return new HeddleError(
    'not_finished',
    `run:${shortId(live.id)} is still ${live.state}`,
    `stop it first: heddle cancel run:${shortId(runId)}`,
  )
}
