import type { Millis } from '../domain/clock.ts'
import { Misuse } from '../domain/errors.ts'
import type { MemoryForgotten } from '../domain/memory-views.ts'
import { findMemory, holdMemories, supersededBy, wipeMemory } from '../store/memories.ts'
import { recallsOf } from '../store/memory-recalls.ts'
import { narrativesCiting } from '../store/narratives.ts'
import type { Reading, Tx } from '../store/store.ts'

/**
 * Takes a memory out of everything that comes later, also one that was replaced; says what had rested on it. What it had
 * replaced stays readable unless `older` is set.
 */
export async function forget(tx: Tx, id: number, now: Millis, { older = false } = {}): Promise<MemoryForgotten> {
  await holdMemories(tx)
  await mustBeThere(tx, id)
  const behind = await unforgottenBehind(tx, id)
  const gone = [id, ...(older ? behind : [])]
  for (const each of gone) await wipeMemory(tx, each, now)
  return {
    id,
    narratives: once(await Promise.all(gone.map((each) => narrativesCiting(tx, each)))),
    older: older ? behind : [],
    kept: older ? [] : behind,
    runs: once(await Promise.all(gone.map((each) => recallsOf(tx, each)))),
  }
}

async function mustBeThere(rows: Reading, id: number): Promise<void> {
  const memory = await findMemory(rows, id)
  if (!memory) throw new Misuse(`there is no memory ${id}`, 'heddle memory lists them', 'not_found')
  if (memory.forgottenAt !== null)
    throw new Misuse(`memory:${id} was forgotten`, 'heddle memory lists them', 'forgotten')
}

/** All that it replaced, and what those replaced, as far as they still say something. */
async function unforgottenBehind(rows: Reading, id: number): Promise<number[]> {
  const found: number[] = []
  for (let behind = [id]; behind.length > 0; ) {
    const next = (await Promise.all(behind.map((each) => supersededBy(rows, each)))).flat()
    found.push(...next.filter(({ forgottenAt }) => forgottenAt === null).map((memory) => memory.id))
    behind = next.map((memory) => memory.id)
  }
  return found
}

function once<T extends number | string>(lists: T[][]): T[] {
  return [...new Set(lists.flat())].sort((a, b) => (a < b ? -1 : 1))
}
