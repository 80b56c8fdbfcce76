import { join } from 'node:path'
import { shortId } from '../../domain/id.ts'
import type { Run } from '../../domain/run.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { changesOfSameFiles, type StoredFileChange } from '../../store/rows/file-changes.ts'
import type { Result } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { readSteps } from '../../store/rows/steps.ts'
import { tasksOf } from '../../store/rows/tasks.ts'
import type { Reading } from '../../store/store.ts'
import { shownName } from '../../tools/files/shown-name.ts'
import { type BegunStep, type EndedStep, Journal } from '../run/context/journal.ts'
import { hashNow } from './file-now.ts'
import { linesIn } from './match-lines.ts'

/** A write that another run overwrote without building upon it. */
export interface LostWrite {
  lost: RunWrite
  by: RunWrite
  /** How it was overwritten, as text. */
  how: string
}

/** A change with the run that made it. */
interface RunWrite {
  change: StoredFileChange
  run: Run
  journal: Journal
}

/**
 * Finds lost writes among recorded changes, oldest first. Only the last version of each writer counts. Files with a single
 * writer cost nothing.
 */
export async function lostWrites(rows: Reading, changes: readonly StoredFileChange[]): Promise<LostWrite[]> {
  const found: LostWrite[] = []
  const standing = changes.filter(({ runId, undoneAt }) => runId !== null && undoneAt === null)
  const known = new Map<string, Writer | undefined>()
  for (const ofFile of Map.groupBy(standing, ({ folder, path }) => join(folder, path)).values()) {
    if (new Set(ofFile.map(({ runId }) => runId)).size < 2) continue
    const written = await completedWrites(rows, ofFile, known)
    for (const own of Map.groupBy(written, writerOf).values()) {
      const lost = findLoss(own, written)
      if (lost) found.push(lost)
    }
  }
  return found.sort((a, b) => a.lost.change.id - b.lost.change.id)
}

/** Lost writes of a plan's tasks. */
export async function lostByPlan(rows: Reading, planId: number): Promise<LostWrite[]> {
  const lost = await lostWrites(rows, await changesOfSameFiles(rows, { planId }))
  if (lost.length === 0) return []
  const ids = new Set((await tasksOf(rows, planId)).map(({ id }) => id))
  return lost.filter((each) => ids.has(each.lost.run.taskId ?? 0))
}

/** Lost writes of a child run's session. */
export async function lostByRun(rows: Reading, { sessionId }: Pick<Run, 'sessionId'>): Promise<LostWrite[]> {
  if (sessionId === null) return []
  const lost = await lostWrites(rows, await changesOfSameFiles(rows, { sessionId }))
  return lost.filter((each) => each.lost.run.sessionId === sessionId)
}

/** Lost writes of a result's run; a result without files costs nothing. */
export async function lostByResult(
  rows: Reading,
  { artifacts }: Pick<Result, 'artifacts'>,
  by: Pick<Run, 'sessionId'>,
): Promise<LostWrite[]> {
  return artifacts.length === 0 ? [] : lostByRun(rows, by)
}

/** Lost writes whose version is not on the disk: the user may have restored it by hand. */
export async function dropRestored(lost: readonly LostWrite[], protect: ProtectedPlaces): Promise<LostWrite[]> {
  const left: LostWrite[] = []
  const now = new Map<string, Awaited<ReturnType<typeof hashNow>>>()
  for (const each of lost) {
    const { folder, path, after } = each.lost.change
    const whole = join(folder, path)
    if (!now.has(whole)) now.set(whole, await hashNow({ folder, path, protect }))
    if (now.get(whole) !== after) left.push(each)
  }
  return left
}

/** Max lost writes listed one by one. */
const maxListed = 10

/** A sentence for each lost write, without its full stop. */
export function lossLines(lost: readonly LostWrite[]): string[] {
  const more = lost.length - maxListed
  return [
    ...lost.slice(0, maxListed).map((each) => {
      const path = shownName(each.lost.change.path)
      return `${path} as ${nameOf(each.lost.run)} wrote it is lost: ${nameOf(each.by.run)} overwrote it ${each.how}`
    }),
    ...(more > 0 ? [`${more} more writes are lost in the same way`] : []),
  ]
}

/** Lost writes as a note of the runtime inside another text; empty if none. */
export function lossNote(lost: readonly LostWrite[]): string {
  return lost.length === 0 ? '' : `[heddle: ${lossLines(lost).join('; ')}]`
}

/** Describes who overwrote a file and how; the file's name goes before it. */
export function describeOverwrite({ by, how }: LostWrite): string {
  return `overwritten by ${nameOf(by.run)} ${how}`
}

function nameOf({ id, taskId, agent }: Run): string {
  const who = agent === null ? '' : `@${agent}`
  if (taskId === null) return `run:${shortId(id)}${who === '' ? '' : ` (${who})`}`
  return `task:${taskId} (run:${shortId(id)}${who === '' ? '' : `, ${who}`})`
}

type Writer = Pick<RunWrite, 'run' | 'journal'>

/** Changes that were really made: a change is stored before it is made, so only a successful call proves it. */
async function completedWrites(
  rows: Reading,
  changes: readonly StoredFileChange[],
  known: Map<string, Writer | undefined>,
): Promise<RunWrite[]> {
  const written: RunWrite[] = []
  for (const change of changes) {
    const runId = change.runId ?? ''
    if (!known.has(runId)) known.set(runId, await readWriter(rows, runId))
    const writer = known.get(runId)
    if (writer?.journal.isDone(change.callId ?? '')) written.push({ change, ...writer })
  }
  return written
}

async function readWriter(rows: Reading, runId: string): Promise<Writer | undefined> {
  const run = await findRun(rows, runId)
  return run && { run, journal: new Journal(runId, await readSteps(rows, runId)) }
}

/** Attempts of one task count as one writer, and so do runs of one session. */
function writerOf({ run }: RunWrite): string {
  return run.taskId === null ? `session:${run.sessionId}` : `task:${run.taskId}`
}

/** Follows a writer's last version through the changes of others, until one discards it. */
function findLoss(own: readonly RunWrite[], all: readonly RunWrite[]): LostWrite | undefined {
  const lost = own.at(-1)
  if (!lost) return undefined
  let version = lost.change.after
  let lines = own.reduce(linesAfter, new Set<string>())
  for (const by of all.slice(all.indexOf(lost) + 1)) {
    if (by.change.before !== version && !isFromSame(lost, by)) continue
    const how = howOverwritten({ lost, version, lines }, by)
    if (how !== undefined) return { lost, by, how }
    version = by.change.after
    const left = keptBy(by, lines)
    // A writer that built upon it has replaced all of its lines: nothing is left to lose.
    if (left.size === 0 && lines.size > 0) return undefined
    lines = left
  }
  return undefined
}

/** Two processes may replace the same version within microseconds without noticing each other. */
function isFromSame(lost: RunWrite, by: RunWrite): boolean {
  return by.change.before === lost.change.before && by.run.createdAt <= lost.change.at
}

/** A write as later versions carry it: the current version, and its lines that are still there. */
interface CarriedWrite {
  lost: RunWrite
  version: string | null
  lines: Set<string>
}

/**
 * Undefined for a change that builds upon the version before: an edit, one that keeps every line, or new content by a run
 * that had read it. A run that started before the lost write may have read it only because its own write was refused, and
 * then write its old content anyway; so it must keep most of the lines.
 */
function howOverwritten({ lost, version, lines }: CarriedWrite, by: RunWrite): string | undefined {
  if (callOf(by)?.name !== 'write_file') return undefined
  const kept = keptBy(by, lines).size
  if (lines.size > 0 && kept === lines.size) return undefined
  const isLater = by.run.createdAt > lost.change.at
  if (hasRead(by, version))
    return isLater || kept * 2 > lines.size || lines.size === 0
      ? undefined
      : `and kept ${kept} of its ${lines.size} lines`
  // A run that talks with the user may have read it in an earlier turn, and does what the user asks for.
  return isLater && by.run.parentRunId === null ? undefined : 'without having read it'
}

function hasRead({ journal }: RunWrite, version: string | null): boolean {
  return journal.steps.some(({ kind, payload }) => {
    const { name, status, seen = [] } = payload as EndedStep
    return kind === 'ended' && name === 'read_file' && status === 'ok' && seen.some(({ sha256 }) => sha256 === version)
  })
}

/** Lines known to be in a file after a change: those of its new content, or the earlier ones as edited. */
function linesAfter(before: Set<string>, written: RunWrite): Set<string> {
  const { content, old_text, new_text } = (callOf(written)?.input ?? {}) as Record<string, unknown>
  if (typeof content === 'string') return new Set(plainLines(content))
  if (typeof old_text !== 'string' || typeof new_text !== 'string') return before
  const gone = new Set(plainLines(old_text))
  return new Set([...[...before].filter((line) => !gone.has(line)), ...plainLines(new_text)])
}

function keptBy(written: RunWrite, lines: Set<string>): Set<string> {
  const after = linesAfter(lines, written)
  return new Set([...lines].filter((line) => after.has(line)))
}

function callOf({ journal, change }: RunWrite): BegunStep | undefined {
  const step = journal.steps.find(
    ({ kind, payload }) => kind === 'begun' && (payload as BegunStep).id === change.callId,
  )
  return step?.payload as BegunStep | undefined
}

function plainLines(text: string): string[] {
  return linesIn(text)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
