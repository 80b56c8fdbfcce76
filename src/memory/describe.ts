import type { MemoryLine, MemoryView, RecalledMemoryView, SimilarMemory } from '../api/views/memory.ts'
import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { isUntrusted } from '../domain/label.ts'
import { type Memory, memoryWeight, savedDay } from '../domain/memory.ts'
import { mayTell } from '../domain/text/retelling.ts'
import { isSameStatement } from '../domain/text/statement.ts'
import { findMemory, isArchived, supersededBy } from '../store/knowledge/memories.ts'
import { memoryRecallsIn, runsRecallingMemory } from '../store/knowledge/memory-recalls.ts'
import { narrativesBasedOn } from '../store/knowledge/narrative-basis.ts'
import type { Reading } from '../store/store.ts'
import { memoriesLike, similarTo } from './similar.ts'

/** Memory for a list; without the rank of a search it has its own weight as rank. */
export function memoryLine(memory: Memory, now: Millis, rank = memoryWeight(memory, now)): MemoryLine {
  const { id, content, tags, keywords, score, source, label, taskId, resultId, narrativeId, createdAt, saidAt } = memory
  return {
    id,
    content,
    tags,
    keywords,
    score,
    source,
    trusted: !isUntrusted(label),
    ...(taskId !== null && { taskId }),
    ...(resultId !== null && { resultId }),
    ...(narrativeId !== null && { narrativeId }),
    rank: Number(rank.toFixed(3)),
    createdAt: new Date(createdAt).toISOString(),
    ...(saidAt !== createdAt && { saidAt: new Date(saidAt).toISOString() }),
  }
}

/** Full view of a memory, also of a replaced or forgotten one. */
export async function describeMemory(rows: Reading, id: string, now: Millis): Promise<MemoryView> {
  const memory = /^\d{1,15}$/.test(id) ? await findMemory(rows, Number(id)) : undefined
  if (!memory)
    throw new HeddleError('not_found', `there is no memory "${id}"`, 'heddle memory lists them, heddle memory search')
  const { label, runId, turnId, recalledAt, forgottenAt } = memory
  const replacedBy = await currentMemory(rows, memory)
  const older = await olderMemories(rows, memory.id)
  const all = [memory, ...older]
  const narratives = await Promise.all(all.map(({ id }) => narrativesBasedOn(rows, id)))
  const runs = await Promise.all(all.map(({ id }) => runsRecallingMemory(rows, id)))
  return {
    kind: 'memory',
    ...memoryLine(memory, now),
    label,
    ...(runId !== null && { runId }),
    ...(turnId !== null && { turnId }),
    recalledAt: new Date(recalledAt).toISOString(),
    ...(replacedBy && {
      replacedBy: {
        id: replacedBy.id,
        content: replacedBy.content,
        createdAt: new Date(replacedBy.createdAt).toISOString(),
      },
    }),
    ...(forgottenAt !== null && { forgottenAt: new Date(forgottenAt).toISOString() }),
    older: older.map(({ id, content }) => ({ id, content })),
    near: await similarMemories(
      rows,
      memory,
      all.map(({ id }) => id),
    ),
    narratives: [...new Set(narratives.flat())].sort((a, b) => a - b),
    runs: [...new Set(runs.flat())].sort(),
    ...((await isArchived(rows, memory.id)) && { archived: true as const }),
  }
}

/** Memories that a run was given, best first. */
export async function remindedOf(rows: Reading, runId: string): Promise<RecalledMemoryView[]> {
  const recalls = await memoryRecallsIn(rows, runId)
  return Promise.all(
    recalls.map(async ({ memoryId, rank, words }) => {
      const memory = await findMemory(rows, memoryId)
      return { id: memoryId, rank: Number(rank.toFixed(3)), words, content: memory?.content ?? '' }
    }),
  )
}

/** Other active memories that may say the same, and those of the hidden ones; the same statement first. */
export async function similarMemories(
  rows: Reading,
  { content }: Memory,
  besides: readonly number[],
  hidden: readonly Memory[] = [],
): Promise<SimilarMemory[]> {
  const all = [...(await memoriesLike(rows, content)), ...hidden].filter(({ id }) => !besides.includes(id))
  const same = new Set(all.filter((each) => isSameStatement(each.content, content)))
  const others = all.filter((each) => !same.has(each))
  return similarTo(content, [...same, ...others], mayTell(content, { ofAnyone: true })).map((each) => ({
    id: each.id,
    content: each.content,
    day: savedDay(each),
  }))
}

/** Newest memory that replaced this one, directly or not. */
export async function currentMemory(rows: Reading, memory: Memory): Promise<Memory | undefined> {
  const next = memory.supersededBy === null ? undefined : await findMemory(rows, memory.supersededBy)
  return next && ((await currentMemory(rows, next)) ?? next)
}

async function olderMemories(rows: Reading, id: number): Promise<Memory[]> {
  const nearest = await supersededBy(rows, id)
  const further = await Promise.all(nearest.map((older) => olderMemories(rows, older.id)))
  return [...nearest, ...further.flat()]
}
