import { citedMemories } from '../../domain/memory.ts'
import type { Thread } from '../../domain/turn.ts'
import type { Reading } from '../store.ts'
import { chunksOf } from './chunks.ts'
import { runsBehind, runWithAgents } from './context-runs.ts'
import { narrativeBasis } from './narrative-basis.ts'

/** Both have the same columns. */
const memoryTables = ['memories', 'memories_archive'] as const
/** Max ids of one condition. */
const maxIds = 500

/** Tools whose answers have memories, or narratives. */
const narrativeTool = 'narrative_search'
const showingTools = ['memory_query', 'recall', 'memory_store', 'remember', 'memory_update', narrativeTool]

/** A memory that a run created or saw. */
interface SeenMemory {
  runId: string
  memoryId: number
}

interface SeenNarrative {
  runId: string
  narrativeId: number
}

/** A memory that a run created or saw, and how it came into the context of a turn. */
interface ContextMemory extends SeenMemory {
  /** Whether it was forgotten since. */
  isForgotten: boolean
  /** Depth of the turn that brought it onto the path; undefined for the run itself. */
  depth?: number
}

/**
 * Memories that words on a path may repeat, from a depth on, and those that `run` may: the runs, earlier ones of the session
 * and agents that worked for them created them, were given them or were shown them by a tool, or they stand behind a narrative that
 * such a run was shown.
 */
export async function memoriesInContext(
  rows: Reading,
  { head, fromDepth = 1, runId }: { head: Thread | undefined; fromDepth?: number; runId?: string },
): Promise<ContextMemory[]> {
  const earlier = head ? await runsBehind(rows, head, { fromDepth, tools: showingTools }) : []
  const own = runId === undefined ? [] : await runWithAgents(rows, runId)
  const runs = new Map<string, { isQuiet: boolean; depth?: number }>([
    ...earlier.map((run) => [run.runId, run] as const),
    ...own.map((id) => [id, { isQuiet: false }] as const),
  ])
  const seen: SeenMemory[] = []
  const narratives: SeenNarrative[] = []
  for (const ids of chunksOf([...runs.keys()], maxIds)) {
    const calling = ids.filter((id) => !runs.get(id)?.isQuiet)
    const shown = await shownByTools(rows, calling)
    seen.push(...(await createdOrGiven(rows, ids)), ...shown.memories)
    narratives.push(...(await begunWith(rows, ids)), ...shown.narratives)
  }
  seen.push(...(await behindNarratives(rows, narratives)))
  const forgotten = await forgottenOf(
    rows,
    seen.map(({ memoryId }) => memoryId),
  )
  return seen.map((each) => {
    const depth = runs.get(each.runId)?.depth
    return { ...each, isForgotten: forgotten.has(each.memoryId), ...(depth !== undefined && { depth }) }
  })
}

async function createdOrGiven(rows: Reading, runIds: readonly string[]): Promise<SeenMemory[]> {
  const seen: SeenMemory[] = []
  for (const table of memoryTables) {
    const created = rows.build
      .selectFrom(table as 'memories')
      .select(['id', 'run_id'])
      .where('run_id', 'in', runIds)
    seen.push(...(await rows.all(created)).map((row) => ({ runId: row.run_id ?? '', memoryId: row.id })))
  }
  const given = rows.build.selectFrom('memory_recalls').select(['run_id', 'memory_id']).where('run_id', 'in', runIds)
  return [...seen, ...(await rows.all(given)).map((row) => ({ runId: row.run_id, memoryId: row.memory_id }))]
}

async function begunWith(rows: Reading, runIds: readonly string[]): Promise<SeenNarrative[]> {
  const found = await rows.all(rows.build.selectFrom('narrative_recalls').selectAll().where('run_id', 'in', runIds))
  return found.map((row) => ({ runId: row.run_id, narrativeId: row.narrative_id }))
}

/** Memories and narratives in the answers that tools gave these runs: their journals have them. */
async function shownByTools(
  rows: Reading,
  runIds: readonly string[],
): Promise<{ memories: SeenMemory[]; narratives: SeenNarrative[] }> {
  const answers = await answersOfTools(rows, runIds)
  const memories: SeenMemory[] = []
  const narratives: SeenNarrative[] = []
  for (const { runId, name, output, payload } of answers) {
    const { id, narratives: found = [] } = (output ?? {}) as { id?: unknown; narratives?: { id: number }[] }
    if (name === narrativeTool) narratives.push(...found.map((each) => ({ runId, narrativeId: each.id })))
    else {
      // What is stored may be known already, as another run's memory.
      const stored = typeof id === 'number' ? [id] : []
      memories.push(...[...stored, ...citedMemories(payload)].map((memoryId) => ({ runId, memoryId })))
    }
  }
  return { memories, narratives }
}

interface ToolAnswer {
  runId: string
  name: string
  output: unknown
  payload: string
}

async function answersOfTools(rows: Reading, runIds: readonly string[]): Promise<ToolAnswer[]> {
  if (runIds.length === 0) return []
  const ended = await rows.all(
    rows.build
      .selectFrom('steps')
      .select(['run_id', 'payload_json'])
      .where('run_id', 'in', runIds)
      .where('kind', '=', 'ended'),
  )
  return ended.flatMap(({ run_id, payload_json }) => {
    if (!showingTools.some((name) => payload_json.includes(name))) return []
    const { name, output } = JSON.parse(payload_json) as { name: string; output?: unknown }
    return showingTools.includes(name) ? [{ runId: run_id, name, output, payload: payload_json }] : []
  })
}

/** Memories that narratives rest on, for the runs that were shown these narratives. */
async function behindNarratives(rows: Reading, shown: readonly SeenNarrative[]): Promise<SeenMemory[]> {
  const memories = new Map<number, number[]>()
  for (const { narrativeId } of shown)
    if (!memories.has(narrativeId)) memories.set(narrativeId, await memoriesBehind(rows, narrativeId))
  return shown.flatMap(({ runId, narrativeId }) =>
    (memories.get(narrativeId) ?? []).map((memoryId) => ({ runId, memoryId })),
  )
}

/** Memories that a narrative rests on, directly or by way of others. */
export async function memoriesBehind(rows: Reading, narrativeId: number): Promise<number[]> {
  const basis = await narrativeBasis(rows, narrativeId)
  const ids = new Set(basis.flatMap(({ memoryIds }) => memoryIds))
  for (const runIds of chunksOf(
    basis.flatMap(({ runId }) => runId ?? []),
    maxIds,
  ))
    for (const { memoryId } of await createdOrGiven(rows, runIds)) ids.add(memoryId)
  return [...ids]
}

async function forgottenOf(rows: Reading, ids: readonly number[]): Promise<Set<number>> {
  const found = new Set<number>()
  for (const some of chunksOf(ids, maxIds))
    for (const table of memoryTables) {
      const query = rows.build
        .selectFrom(table as 'memories')
        .select('id')
        .where('id', 'in', some)
      for (const { id } of await rows.all(query.where('forgotten_at', 'is not', null))) found.add(id)
    }
  return found
}
