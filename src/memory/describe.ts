import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { isUntrusted } from '../domain/label.ts'
import { type Memory, weightOf } from '../domain/memory.ts'
import type { MemoryLine, MemoryView, Reminded } from '../domain/memory-views.ts'
import { findMemory, isArchived, supersededBy } from '../store/memories.ts'
import { recallsIn, recallsOf } from '../store/memory-recalls.ts'
import { citingFrom } from '../store/narrative-chain.ts'
import type { Reading } from '../store/store.ts'

/** A memory as it is listed; without a rank of a search it has the one that it has by itself. */
export function memoryLine(memory: Memory, now: Millis, rank = weightOf(memory, now)): MemoryLine {
  const { id, content, tags, keywords, score, source, label, taskId, resultId, narrativeId, createdAt } = memory
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
  }
}

/** All of a memory, also of one that was replaced or forgotten. */
export async function describeMemory(rows: Reading, id: string, now: Millis): Promise<MemoryView> {
  const memory = /^\d{1,15}$/.test(id) ? await findMemory(rows, Number(id)) : undefined
  if (!memory)
    throw new HeddleError('not_found', `there is no memory "${id}"`, 'heddle memory lists them, heddle memory search')
  const { label, runId, turnId, recalledAt, forgottenAt } = memory
  const replacedBy = await inItsPlace(rows, memory)
  const older = await behind(rows, memory.id)
  const all = [memory, ...older]
  const narratives = await Promise.all(all.map(({ id, narrativeId }) => citingFrom(rows, id, narrativeId)))
  const runs = await Promise.all(all.map(({ id }) => recallsOf(rows, id)))
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
    narratives: [...new Set(narratives.flat())].sort((a, b) => a - b),
    runs: [...new Set(runs.flat())].sort(),
    ...((await isArchived(rows, memory.id)) && { archived: true as const }),
  }
}

/** What a run was reminded of, best first. */
export async function remindedOf(rows: Reading, runId: string): Promise<Reminded[]> {
  const shown = await recallsIn(rows, runId)
  return Promise.all(
    shown.map(async ({ memoryId, rank, words }) => {
      const memory = await findMemory(rows, memoryId)
      return { id: memoryId, rank: Number(rank.toFixed(3)), words, content: memory?.content ?? '' }
    }),
  )
}

/** The last of those that followed it. */
export async function inItsPlace(rows: Reading, memory: Memory): Promise<Memory | undefined> {
  const next = memory.supersededBy === null ? undefined : await findMemory(rows, memory.supersededBy)
  return next && ((await inItsPlace(rows, next)) ?? next)
}

async function behind(rows: Reading, id: number): Promise<Memory[]> {
  const nearest = await supersededBy(rows, id)
  const further = await Promise.all(nearest.map((older) => behind(rows, older.id)))
  return [...nearest, ...further.flat()]
}
