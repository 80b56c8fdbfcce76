import type { Clock } from '../domain/clock.ts'
import type { Memory } from '../domain/memory.ts'
import { isSameStatement, looksAlike } from '../domain/statement.ts'
import { recordEvent } from '../store/events.ts'
import { findMemory, holdMemories } from '../store/memories.ts'
import {
  bringBackMemory,
  endReview,
  findReview,
  nextReplaced,
  type Review,
  saveReview,
} from '../store/memory-review.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading, Store, Tx } from '../store/store.ts'

/** Memories that are reviewed in one transaction. */
const pageSize = 200
/** Ids that are told. */
const maxTold = 20

/** What came back, told once. */
export interface BroughtBack {
  count: number
  /** The first of them. */
  ids: number[]
}

/**
 * Earlier versions took statements that looked alike for contradictions, and hid the older one. Brings back all that may
 * have been hidden so; undefined where there is nothing (more) to bring back. Can be cut short at any page.
 */
export async function bringBackReplaced({
  store,
  clock,
}: {
  store: Store
  clock: Clock
}): Promise<BroughtBack | undefined> {
  if (!(await store.read(findReview))) return undefined
  for (;;) {
    const step = await store.write('import', (tx) => reviewPage(tx, clock.now()))
    if (step.isDone) return step.told
  }
}

/** For a person, after an upgrade. */
export function broughtBackText({ count, ids }: BroughtBack): string {
  const names = ids.slice(0, 5).map((id) => `memory:${id}`)
  const more = count > names.length ? ` and ${count - names.length} more` : ''
  return `an earlier version had hidden ${count === 1 ? 'a memory' : `${count} memories`} behind others that looked alike; found again: ${names.join(', ')}${more}; see: heddle memory`
}

async function reviewPage(tx: Tx, now: number): Promise<{ isDone: boolean; told?: BroughtBack }> {
  await holdMemories(tx)
  const review = await findReview(tx)
  // Another process has ended it, and told it.
  if (!review) return { isDone: true }
  const page = await nextReplaced(tx, review, pageSize)
  const { count, ids }: Review = review
  const back: number[] = []
  for (const older of page)
    if (!(await wasMeant(tx, older))) {
      await bringBackMemory(tx, older)
      back.push(older.id)
    }
  const told = { count: count + back.length, ids: [...ids, ...back].slice(0, maxTold) }
  if (page.length === pageSize) {
    await saveReview(tx, { ...review, ...told, after: page.at(-1)?.id ?? 0 })
    return { isDone: false }
  }
  await endReview(tx)
  const [first] = told.ids
  if (first === undefined) return { isDone: true }
  await recordEvent(tx, { at: now, kind: 'memory.brought_back', subject: `memory:${first}`, payload: { ...told } })
  return { isDone: true, told }
}

/**
 * Whether a person or an agent replaced it on purpose, as far as rows can tell: earlier versions did not write that
 * down. What cannot be told was not meant.
 */
async function wasMeant(rows: Reading, older: Memory): Promise<boolean> {
  const newer = older.supersededBy === null ? undefined : await findMemory(rows, older.supersededBy)
  if (!newer) return false
  // Nothing is lost: the newer one says it.
  if (isSameStatement(older.content, newer.content)) return true
  // The old rule compared only what looks alike.
  if (!looksAlike(older.content, newer.content)) return true
  if (newer.source === 'agent') return newer.runId !== null && (await saidAnew(rows, newer.runId, older.id))
  // `memory edit` took over where it came from; nothing else that people did had a task or a result.
  const hasOrigin = newer.taskId !== null || newer.resultId !== null
  return hasOrigin && newer.taskId === older.taskId && newer.resultId === older.resultId
}

/** Whether a run called `memory_update` with this memory. */
async function saidAnew(rows: Reading, runId: string, id: number): Promise<boolean> {
  const steps = await readSteps(rows, runId)
  return steps.some(({ kind, payload }) => {
    const { name, input } = (payload ?? {}) as { name?: unknown; input?: { id?: unknown } | null }
    return kind === 'begun' && name === 'memory_update' && input?.id === id
  })
}
