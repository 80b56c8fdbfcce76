import type { Clock } from '../domain/clock.ts'
import type { Memory } from '../domain/memory.ts'
import { isSameStatement, looksAlike } from '../domain/text/statement.ts'
import { findMemory, lockMemories } from '../store/knowledge/memories.ts'
import {
  bringBackMemory,
  endReview,
  findReview,
  nextReplaced,
  type Review,
  saveReview,
} from '../store/knowledge/memory-review.ts'
import { recordEvent } from '../store/rows/events.ts'
import { readSteps } from '../store/rows/steps.ts'
import type { Reading, Store, Tx } from '../store/store.ts'

/** Memories reviewed in one transaction. */
const pageSize = 200
/** Max ids in the report. */
const maxReportedIds = 20

/** Report of the memories that were brought back, shown once. */
interface RestoredMemories {
  count: number
  /** The first ids. */
  ids: number[]
}

/**
 * Earlier versions treated similar statements as contradictions and hid the older one. Brings back all memories that may
 * have been hidden this way; undefined when there are none. Safe to stop after any page.
 */
export async function restoreReplaced({
  store,
  clock,
}: {
  store: Store
  clock: Clock
}): Promise<RestoredMemories | undefined> {
  if (!(await store.read(findReview))) return undefined
  for (;;) {
    const step = await store.write('import', (tx) => reviewPage(tx, clock.now()))
    if (step.isDone) return step.report
  }
}

/** Message for the user after an upgrade. */
export function broughtBackText({ count, ids }: RestoredMemories): string {
  const names = ids.slice(0, 5).map((id) => `memory:${id}`)
  const more = count > names.length ? ` and ${count - names.length} more` : ''
  return `an earlier version had hidden ${count === 1 ? 'a memory' : `${count} memories`} behind others that looked alike; restored: ${names.join(', ')}${more}; see: heddle memory`
}

async function reviewPage(tx: Tx, now: number): Promise<{ isDone: boolean; report?: RestoredMemories }> {
  await lockMemories(tx)
  const review = await findReview(tx)
  // Another process has finished the review and reported it.
  if (!review) return { isDone: true }
  const page = await nextReplaced(tx, review, pageSize)
  const { count, ids }: Review = review
  const back: number[] = []
  for (const older of page)
    if (!(await wasIntended(tx, older))) {
      await bringBackMemory(tx, older)
      back.push(older.id)
    }
  const report = { count: count + back.length, ids: [...ids, ...back].slice(0, maxReportedIds) }
  if (page.length === pageSize) {
    await saveReview(tx, { ...review, ...report, after: page.at(-1)?.id ?? 0 })
    return { isDone: false }
  }
  await endReview(tx)
  const [first] = report.ids
  if (first === undefined) return { isDone: true }
  const event = { kind: 'memory.brought_back' as const, subject: `memory:${first}`, payload: { ...report } }
  await recordEvent(tx, { at: now, ...event, scope: null })
  return { isDone: true, report }
}

/**
 * Whether a user or an agent replaced the memory on purpose, as far as rows can tell: earlier versions did not record
 * it. In doubt it was not intended.
 */
async function wasIntended(rows: Reading, older: Memory): Promise<boolean> {
  const newer = older.supersededBy === null ? undefined : await findMemory(rows, older.supersededBy)
  if (!newer) return false
  // Nothing is lost: the newer one says the same.
  if (isSameStatement(older.content, newer.content)) return true
  // The old rule replaced only similar statements.
  if (!looksAlike(older.content, newer.content)) return true
  if (newer.source === 'agent') return newer.runId !== null && (await calledMemoryUpdate(rows, newer.runId, older.id))
  // `memory edit` copied the origin; no other user action had a task or a result.
  const hasOrigin = newer.taskId !== null || newer.resultId !== null
  return hasOrigin && newer.taskId === older.taskId && newer.resultId === older.resultId
}

/** Whether a run called `memory_update` with this memory. */
async function calledMemoryUpdate(rows: Reading, runId: string, id: number): Promise<boolean> {
  const steps = await readSteps(rows, runId)
  return steps.some(({ kind, payload }) => {
    const { name, input } = (payload ?? {}) as { name?: unknown; input?: { id?: unknown } | null }
    return kind === 'begun' && name === 'memory_update' && input?.id === id
  })
}
