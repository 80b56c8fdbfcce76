import type { Millis } from '../domain/clock.ts'
import { holdMemories, supersededBy, wipeMemory } from '../store/memories.ts'
import { recallsOf } from '../store/memory-recalls.ts'
import { narrativesCiting } from '../store/narratives.ts'
import type { Tx } from '../store/store.ts'
import { mustFind } from './remember.ts'

/** What rested on something that is forgotten. */
export interface Forgotten {
  id: number
  /** Narratives that cite it. */
  narratives: number[]
  /** Older ones that it had replaced: they are forgotten with it. */
  older: number[]
  /** Runs that were shown it: what they said is not changed. */
  runs: string[]
}

/** Takes a memory out of everything that comes later; says what had rested on it. */
export async function forget(tx: Tx, id: number, now: Millis): Promise<Forgotten> {
  await holdMemories(tx)
  await mustFind(tx, id)
  const older: number[] = []
  for (let behind = [id]; behind.length > 0; ) {
    const next = (await Promise.all(behind.map((each) => supersededBy(tx, each)))).flat().map((memory) => memory.id)
    older.push(...next)
    behind = next
  }
  const all = [id, ...older]
  for (const each of all) await wipeMemory(tx, each, now)
  return {
    id,
    narratives: once(await Promise.all(all.map((each) => narrativesCiting(tx, each)))),
    older,
    runs: once(await Promise.all(all.map((each) => recallsOf(tx, each)))),
  }
}

function once<T extends number | string>(lists: T[][]): T[] {
  return [...new Set(lists.flat())].sort((a, b) => (a < b ? -1 : 1))
}
