import { join } from 'node:path'
import type { Undone } from '../domain/app.ts'
import { HeddleError } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { Fate } from '../domain/path-handle.ts'
import type { Run } from '../domain/run.ts'
import { recordEvent } from '../store/events.ts'
import { changesOf, contentOf, type KeptChange, keepChange, markUndone } from '../store/file-changes.ts'
import { childrenOf, findRun, runsOf } from '../store/runs.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading } from '../store/store.ts'
import { hashOf } from '../tools/change-file.ts'
import { pathHandle } from '../tools/handle.ts'
import { authorOf } from './file-author.ts'
import { Journal, type Touch } from './journal.ts'
import { packContent, unpackContent } from './kept-content.ts'
import { notFound } from './route.ts'
import type { Engine } from './world.ts'

type Undoer = Pick<Engine, 'store' | 'clock' | 'protect'>

/**
 * Puts back what a run and everything it began have changed in files, each to what it was before their first change. The
 * first run of a request stands for all of it. A file that is not as they left it stays as it is, and so does what
 * commands changed, of which nobody kept what was there. Asking again changes nothing.
 */
export async function undo(engine: Undoer, runId: string, { dryRun = false } = {}): Promise<Undone> {
  const runs = await engine.store.read((rows) => withAllBelow(rows, runId))
  const live = runs.find(({ finishedAt }) => finishedAt === null)
  if (live) throw stillLive(runId, live)
  const { changes, journals } = await engine.store.read(async (rows) => ({
    changes: (await changesOf(rows, idsOf(runs))).filter(({ undoneAt }) => undoneAt === null),
    journals: await journalsOf(rows, runs),
  }))
  const isSure = ({ runId, callId }: KeptChange) => journals.get(runId ?? '')?.isDone(callId ?? '') === true
  const outcome = { restored: [] as string[], unchanged: [] as string[], refused: [] as Undone['refused'] }
  const touches = [...journals.values()].flatMap((journal) => journal.touches)
  const settled: number[] = []
  for (const [path, ofFile] of Map.groupBy(changes, ({ folder, path }) => join(folder, path))) {
    const { became, why } = await putBack(engine, ofFile, leftBy(ofFile, isSure), touches, dryRun).catch(refusedBecause)
    if (became === 'refused') outcome.refused.push({ path, why })
    else {
      outcome[became].push(path)
      settled.push(...ofFile.map(({ id }) => id))
    }
  }
  if (!dryRun && settled.length > 0) await keepUndone(engine, runId, settled, outcome)
  return { ok: outcome.refused.length === 0, ...outcome, cannotUndo: unsafeCalls(journals) }
}

async function withAllBelow(rows: Reading, runId: string): Promise<Run[]> {
  const run = await findRun(rows, runId)
  if (!run) throw notFound('run', runId)
  if (run.id === run.rootRunId) return runsOf(rows, { rootRunId: run.id })
  const found = [run]
  // Grows while it is gone through.
  for (const each of found) found.push(...(await childrenOf(rows, each.id)))
  return found
}

type Became = { became: 'restored' | 'unchanged' | 'refused'; why: string }

/** Puts one file back. Its changes are all that the runs did to it, oldest first. */
async function putBack(
  engine: Undoer,
  changes: KeptChange[],
  { left, broken }: Left,
  touches: Touch[],
  dryRun: boolean,
): Promise<Became> {
  const [first] = changes
  if (!first) return { became: 'unchanged', why: '' }
  const { folder, path, before: target, mode } = first
  const whole = join(folder, path)
  const handle = pathHandle({ folder, path, protect: engine.protect })
  return handle.replaceFile<Became>(async ({ before }) => {
    const current = before ? hashOf(before.bytes) : null
    if (current === target) return { fate: 'kept', answer: { became: 'unchanged', why: '' } }
    if (!left.includes(current) || broken) {
      const theirs = changes.map((change) => change.runId)
      const known = touchOf(whole, changes, broken, touches)?.by
      const by = await engine.store.read((rows) =>
        authorOf(rows, whole, broken ? broken.before : current, theirs, known),
      )
      const why = broken ? `changed ${by} in between` : `${before ? 'changed' : 'removed'} ${by} since`
      return { fate: 'kept', answer: { became: 'refused', why } }
    }
    const fate = await fateOf(engine, target, mode)
    if (!dryRun) {
      const content = before && current !== null ? await packContent(current, before.bytes) : undefined
      const undoing = { runId: null, callId: null, folder, path, before: current, after: target }
      await engine.store.write('undo', (tx) =>
        keepChange(tx, { ...undoing, mode: before?.mode ?? null, at: engine.clock.now() }, content),
      )
    }
    return { fate: dryRun ? 'kept' : fate, answer: { became: 'restored', why: '' } }
  })
}

/** The command of the runs that came between two changes of a file, or after the last. */
function touchOf(whole: string, changes: KeptChange[], broken: KeptChange | undefined, touches: Touch[]) {
  const from = (broken ? changes[changes.indexOf(broken) - 1] : changes.at(-1))?.at ?? 0
  const to = broken?.at ?? Number.POSITIVE_INFINITY
  return touches.findLast(({ at, paths }) => paths.has(whole) && (at === null || (at > from && at <= to)))
}

interface Left {
  /** What the file may be after the changes. */
  left: (string | null)[]
  /** The first change that did not begin where the one before it ended: somebody else's work lies in between. */
  broken: KeptChange | undefined
}

/** A change is kept before it is made: one whose call has no good end was made, or not. */
function leftBy(changes: KeptChange[], isSure: (change: KeptChange) => boolean): Left {
  const all: Left = { left: [], broken: undefined }
  for (const change of changes) {
    if (all.left.length > 0 && !all.left.includes(change.before)) all.broken ??= change
    all.left = isSure(change) ? [change.after] : [change.after, change.before]
  }
  return all
}

async function fateOf({ store }: Undoer, target: string | null, mode: number | null): Promise<Fate> {
  if (target === null) return 'removed'
  const kept = await store.read((rows) => contentOf(rows, target))
  if (!kept) throw new HeddleError('not_kept', 'what it held before was not kept', 'take it from a backup')
  return { bytes: await unpackContent(kept), ...(mode !== null && { mode }) }
}

async function keepUndone(
  { store, clock }: Undoer,
  runId: string,
  changes: number[],
  { restored, refused }: Pick<Undone, 'restored' | 'refused'>,
): Promise<void> {
  const at = clock.now()
  const payload = { restored: restored.length, refused: refused.length }
  await store.write('undo', async (tx) => {
    await markUndone(tx, changes, at)
    await recordEvent(tx, { at, kind: 'run.undone', subject: `run:${runId}`, payload })
  })
}

/** Calls that may have changed anything: those that were made, or may have been. */
function unsafeCalls(journals: Map<string, Journal>): Undone['cannotUndo'] {
  return [...journals].flatMap(([runId, { unsafe }]) => unsafe.map((call) => ({ runId, ...call })))
}

async function journalsOf(rows: Reading, runs: Run[]): Promise<Map<string, Journal>> {
  const journals = new Map<string, Journal>()
  for (const { id } of runs) journals.set(id, new Journal(id, await readSteps(rows, id)))
  return journals
}

function idsOf(runs: Run[]): string[] {
  return runs.map(({ id }) => id)
}

function refusedBecause(error: unknown): Became {
  if (!(error instanceof HeddleError)) throw error
  return { became: 'refused', why: error.message }
}

function stillLive(runId: string, live: Run): HeddleError {
  return new HeddleError(
    'not_finished',
    `run:${tail(live.id)} is still ${live.state}`,
    `stop it first: heddle cancel run:${tail(runId)}`,
  )
}
