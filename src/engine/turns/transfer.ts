import { isDeepStrictEqual } from 'node:util'
import type { ImportReport } from '../../api/views/session.ts'
import { ownerText } from '../../domain/access/principal.ts'
import { HeddleError } from '../../domain/errors.ts'
import { newRun, type Run } from '../../domain/run.ts'
import { checkLabel, isReservedLabel, type Session, unreservedLabel } from '../../domain/session.ts'
import type { PlacedTurn, Thread, ThreadConfig } from '../../domain/turn.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { recordEvent } from '../../store/rows/events.ts'
import { reindexTailsFrom } from '../../store/rows/id-tails.ts'
import { findPersona, putPersona } from '../../store/rows/personas.ts'
import { findRun, insertRun } from '../../store/rows/runs.ts'
import { findSessions, insertSegment } from '../../store/rows/sessions.ts'
import { insertSteps, readSteps } from '../../store/rows/steps.ts'
import { findThread, findTurn, insertPlacedTurn, readAllTurns, readPath } from '../../store/rows/threads.ts'
import { promptText, savePrompt } from '../../store/rows/turns.ts'
import type { Reading, Store, Tx } from '../../store/store.ts'
import type { Runtime } from '../runtime.ts'
import { startSession } from './append.ts'
import { type ExportedRun, type ExportedTurn, parseExported } from './exported-turn.ts'
import { freeLabel } from './target.ts'

const pageLines = 100

/** Exports the whole tree or one path, one object per turn, parents before children. */
export async function* exportTurns(
  store: Store,
  { end, ...only }: OwnedBy & { end?: Thread } = {},
): AsyncIterable<ExportedTurn> {
  const rows = await store.read(async (newest) => newest)
  const exportedKeys = new Set<string>()
  const heads = Map.groupBy(await findSessions(rows, only), (session) => session.headTurnId)
  const path = end && (await readPath(rows, end))
  if (path) await assertOwnTurns(rows, path, only)
  const pages = path ? onePage(path) : readAllTurns(rows, only)
  for await (const page of pages)
    for (const placed of page) yield exportTurn(rows, placed, heads.get(placed.turn.id) ?? [], exportedKeys)
}

/** Refuses a path that continues turns of another principal: the user who forked it may read them, not take them away. */
async function assertOwnTurns(rows: Reading, path: PlacedTurn[], { principal }: OwnedBy): Promise<void> {
  if (principal === undefined) return
  const own = new Set((await findSessions(rows, { principal })).map(({ id }) => id))
  for (const { turn } of path) {
    const run = await findRun(rows, turn.runId)
    if (run?.sessionId && own.has(run.sessionId)) continue
    throw new HeddleError(
      'forbidden',
      `this session continues turn:${turn.id} of another user`,
      'only the owner can export it',
    )
  }
}

/**
 * Imports turns under their original ids. An identical turn is skipped; one that differs stops the import, and the lines
 * before it stay imported.
 */
export async function importTurns(runtime: Runtime, lines: AsyncIterable<string>): Promise<ImportReport> {
  const report: ImportReport = { imported: 0, skipped: 0, sessions: [] }
  let tips = new Map<string, string>()
  const store = async (items: Item[]) => {
    const done = await runtime.store.write('import', (tx) => importPage(tx, runtime, items, tips))
    tips = done.tips
    report.imported += done.imported
    report.skipped += done.skipped
    report.sessions.push(...done.sessions)
  }
  for await (const page of pagesOf(lines, runtime)) {
    try {
      await store(page.items)
    } catch (error) {
      if (!(error instanceof LineFailed)) throw error
      await store(page.items.slice(0, error.index))
      throw error.cause
    }
    if (page.failure) throw page.failure
  }
  return report
}

interface Item {
  exported: ExportedTurn
  fresh: Fresh
}

/** Batches lines into transactions; an unreadable line ends the batch and the import. */
async function* pagesOf(
  lines: AsyncIterable<string>,
  runtime: Runtime,
): AsyncIterable<{ items: Item[]; failure?: unknown }> {
  let items: Item[] = []
  let number = 0
  for await (const line of lines) {
    number++
    if (line.trim() === '') continue
    try {
      const exported = parseExported(line, number)
      items.push({
        exported,
        fresh: { segmentId: runtime.newId(), sessions: exported.sessions.map(() => ids(runtime)) },
      })
    } catch (failure) {
      yield { items, failure }
      return
    }
    if (items.length < pageLines) continue
    yield { items }
    items = []
  }
  yield { items }
}

/** Carries the index of the failed line out of the transaction. */
class LineFailed extends Error {
  readonly index: number
  constructor(index: number, cause: unknown) {
    super('a line failed', { cause })
    this.index = index
  }
}

async function importPage(tx: Tx, runtime: Runtime, items: Item[], before: ReadonlyMap<string, string>) {
  const done = { imported: 0, skipped: 0, sessions: [] as ImportReport['sessions'], tips: new Map(before) }
  const ids = items.flatMap(({ exported: { turn, run } }) => [turn.id, run.id])
  const [oldest] = ids.sort()
  if (oldest !== undefined) await reindexTailsFrom(tx, oldest)
  for (const [index, { exported: item, fresh }] of items.entries()) {
    const { segmentId, sessions } = await importTurn(tx, runtime, item, done.tips, fresh).catch((cause) => {
      throw new LineFailed(index, cause)
    })
    if (item.turn.parentTurnId !== null) done.tips.delete(item.turn.parentTurnId)
    if (segmentId) done.tips.set(item.turn.id, segmentId)
    done.sessions.push(...sessions)
    done.imported += segmentId ? 1 : 0
    done.skipped += segmentId ? 0 : 1
  }
  return done
}

interface Fresh {
  segmentId: string
  sessions: { sessionId: string; segmentId: string }[]
}

async function importTurn(tx: Tx, runtime: Runtime, item: ExportedTurn, tips: Map<string, string>, fresh: Fresh) {
  const { turn } = item
  const known = await findTurn(tx, turn.id)
  if (known) {
    const here = await exportTurn(tx, known, [], new Set())
    if (!isDeepStrictEqual(comparable(here), comparable(item))) throw differs(turn.id)
    return { segmentId: null, sessions: [] }
  }
  const parent = turn.parentTurnId === null ? null : await findThread(tx, turn.parentTurnId)
  if (parent === undefined) throw parentMissing(turn.id, turn.parentTurnId)
  await writeFoundation(tx, item, runtime.clock.now())
  // Consecutive turns share a segment as long as each follows the one before it in the file.
  const segmentId = (parent && tips.get(parent.turnId)) ?? fresh.segmentId
  if (segmentId === fresh.segmentId) await insertSegment(tx, { id: segmentId, below: parent })
  const { parentTurnId: _, ...content } = turn
  // Its session is not here, and what the narrator wrote elsewhere is not searched here, either.
  const owner = item.run.via === 'narrator' ? undefined : { sessionId: null, principal: ownerText }
  await insertPlacedTurn(tx, { segmentId, parent, config: configOf(item), owner }, content)
  const sessions = await importSessions(tx, runtime, item, fresh)
  await recordEvent(tx, {
    at: runtime.clock.now(),
    kind: 'turn.imported',
    subject: `turn:${turn.id}`,
    payload: { parentId: turn.parentTurnId },
    // Its run worked elsewhere, in a session that is not here.
    scope: null,
  })
  return { segmentId, sessions }
}

/** Recreates the sessions that pointed at this turn, under a free label if theirs is taken here. */
async function importSessions(tx: Tx, runtime: Runtime, { turn, sessions }: ExportedTurn, fresh: Fresh) {
  const made: { folder: string; label: string }[] = []
  for (const [index, { folder, label, personaId, kind }] of sessions.entries()) {
    // Its narrated session, job or hook is not here: it comes as an agent's session, which starts nothing by itself.
    const isAgents = kind === undefined ? isReservedLabel(label) : kind !== 'person'
    const chosen = await freeLabel(tx, folder, checkLabel(isAgents ? label : unreservedLabel(label)))
    await startSession(tx, {
      ...(fresh.sessions[index] as { sessionId: string; segmentId: string }),
      folder,
      label: chosen,
      parentTurnId: turn.id,
      // Principals of another home mean nothing here: what the owner imports is the owner's.
      principalId: ownerText,
      now: runtime.clock.now(),
      ...(isAgents && { kind: 'agent' as const }),
      ...(personaId !== null && (await findPersona(tx, personaId)) && { personaId }),
    })
    made.push({ folder, label: chosen })
  }
  return made
}

async function writeFoundation(tx: Tx, item: ExportedTurn, now: number): Promise<void> {
  if (item.persona && !(await findPersona(tx, item.persona.id))) await putPersona(tx, item.persona, now)
  if (item.prompt !== null && item.turn.promptHash !== null) await savePrompt(tx, item.turn.promptHash, item.prompt)
  const { systemPromptHash = null, systemPrompt } = item.config ?? {}
  if (systemPrompt !== undefined && systemPromptHash !== null) await savePrompt(tx, systemPromptHash, systemPrompt)
  if (await findRun(tx, item.run.id)) return
  const { id, kind, via, sessionId, createdAt } = item.run
  await insertRun(tx, {
    ...newRun({ id, kind, via, sessionId, now: createdAt, principal: ownerText }),
    ...asFinished(item.run, now),
  })
  insertSteps(
    tx,
    item.steps.map((step) => ({ runId: item.run.id, ...step })),
  )
}

async function exportTurn(
  rows: Reading,
  { turn, thread }: PlacedTurn,
  sessions: Session[],
  exportedKeys: Set<string>,
): Promise<ExportedTurn> {
  const run = await findRun(rows, turn.runId)
  if (!run) throw new Error(`turn ${turn.id} has no run ${turn.runId}`)
  const steps = await readSteps(rows, turn.runId)
  // A prompt and a persona are exported once, with the first turn that needs them.
  const isNew = (key: string) => !exportedKeys.has(key) && exportedKeys.add(key)
  const personaId = thread.personaId
  const config = await exportConfig(rows, thread, isNew)
  return {
    turn,
    personaId,
    ...(config && { config }),
    run: exportedRun(run),
    steps: steps.map(({ seq, kind, payload, at }) => ({ seq, kind, payload, at })),
    prompt:
      turn.promptHash && isNew(`prompt:${turn.promptHash}`)
        ? ((await promptText(rows, turn.promptHash)) ?? null)
        : null,
    persona: personaId && isNew(`persona:${personaId}`) ? ((await findPersona(rows, personaId)) ?? null) : null,
    sessions: sessions.map(({ folder, label, personaId, kind }) => ({ folder, label, personaId, kind })),
  }
}

/** The rest of a thread's configuration; undefined where it has none. Its prompt is exported once. */
async function exportConfig(
  rows: Reading,
  { systemPromptHash, boundBy }: ThreadConfig,
  isNew: (key: string) => unknown,
): Promise<ExportedTurn['config']> {
  if (systemPromptHash === null && boundBy.length === 0) return undefined
  const isFirst = systemPromptHash !== null && isNew(`own prompt:${systemPromptHash}`)
  const systemPrompt = isFirst ? await promptText(rows, systemPromptHash) : undefined
  return { systemPromptHash, boundBy, ...(systemPrompt !== undefined && { systemPrompt }) }
}

function configOf({ personaId, config }: ExportedTurn): ThreadConfig {
  return { personaId, systemPromptHash: config?.systemPromptHash ?? null, boundBy: config?.boundBy ?? [] }
}

function exportedRun(run: Run): ExportedRun {
  const { id, kind, via, state, sessionId, rootRunId, parentRunId, depth, agent, createdAt, finishedAt } = run
  return { id, kind, via, state, sessionId, rootRunId, parentRunId, depth, agent, createdAt, finishedAt }
}

/** Cancels a run that was still running when its compaction was exported: it does not run here. */
function asFinished(run: ExportedRun, now: number): ExportedRun {
  return run.finishedAt === null ? { ...run, state: 'cancelled', finishedAt: now } : run
}

/** Fields that must match for a turn to count as already imported: all but the sessions that point at it. */
function comparable(item: ExportedTurn) {
  const { turn, run, steps } = item
  const { sessionId: _, ...lasting } = run
  const placed = { turn: turn, config: configOf(item) }
  // A compaction's run may have continued after the export; the turn is still the same.
  return turn.type === 'compaction' ? { ...placed, run: run.id } : { ...placed, run: lasting, steps }
}

async function* onePage(page: PlacedTurn[]): AsyncIterable<PlacedTurn[]> {
  yield page
}

function ids(runtime: Runtime) {
  return { sessionId: runtime.newId(), segmentId: runtime.newId() }
}

function differs(id: string): HeddleError {
  return new HeddleError(
    'turn_differs',
    `turn:${id} is already here with other content`,
    `compare them: heddle show turn:${id}; the lines before it were imported, nothing was changed`,
  )
}

function parentMissing(id: string, parentId: string | null): HeddleError {
  return new HeddleError(
    'parent_missing',
    `turn:${id} follows turn:${parentId}, which is neither here nor earlier in the file`,
    'export the whole session or the whole tree and import that',
  )
}
