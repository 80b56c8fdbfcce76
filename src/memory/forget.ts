import type { ForgetResult } from '../api/views/memory.ts'
import type { Millis } from '../domain/clock.ts'
import { UsageError } from '../domain/errors.ts'
import { findMemory, lockMemories, supersededBy, wipeMemory } from '../store/knowledge/memories.ts'
import { runsRecallingMemory } from '../store/knowledge/memory-recalls.ts'
import { narrativesCiting } from '../store/knowledge/narratives.ts'
import type { Reading, Tx } from '../store/store.ts'

/**
 * Forgets a memory, also a replaced one, and reports what was based on it. The memories that it replaced stay readable
 * unless `older` is set.
 */
export async function forget(tx: Tx, id: number, now: Millis, { older = false } = {}): Promise<ForgetResult> {
  await lockMemories(tx)
  await assertNotForgotten(tx, id)
  const replaced = await replacedMemoriesOf(tx, id)
  const forgotten = [id, ...(older ? replaced : [])]
  for (const each of forgotten) await wipeMemory(tx, each, now)
  return {
    id,
    narratives: sortedUnique(await Promise.all(forgotten.map((each) => narrativesCiting(tx, each)))),
    older: older ? replaced : [],
    kept: older ? [] : replaced,
    runs: sortedUnique(await Promise.all(forgotten.map((each) => runsRecallingMemory(tx, each)))),
  }
}

async function assertNotForgotten(rows: Reading, id: number): Promise<void> {
  const memory = await findMemory(rows, id)
  if (!memory) throw new UsageError(`there is no memory ${id}`, 'heddle memory lists them', 'not_found')
  if (memory.forgottenAt !== null)
    throw new UsageError(`memory:${id} was forgotten`, 'heddle memory lists them', 'forgotten')
}

/** All memories that it replaced, directly or not, that are not forgotten. */
async function replacedMemoriesOf(rows: Reading, id: number): Promise<number[]> {
  const found: number[] = []
  for (let replaced = [id]; replaced.length > 0; ) {
    const next = (await Promise.all(replaced.map((each) => supersededBy(rows, each)))).flat()
    found.push(...next.filter(({ forgottenAt }) => forgottenAt === null).map((memory) => memory.id))
    replaced = next.map((memory) => memory.id)
  }
  return found
}

function sortedUnique<T extends number | string>(lists: T[][]): T[] {
  return [...new Set(lists.flat())].sort((a, b) => (a < b ? -1 : 1))
}
