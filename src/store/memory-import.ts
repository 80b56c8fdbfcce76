import type { Millis } from '../domain/clock.ts'
import type { MemoryDraft } from '../domain/memory.ts'
import { archiveMemory, insertMemory } from './memories.ts'
import type { Tx } from './store.ts'

/** A memory of another time or home, with what it has come to count since. */
export interface ImportedMemory extends MemoryDraft {
  score: number
  narrativeId: number | null
  createdAt: Millis
  recalledAt: Millis
  /** It was out of the way where it comes from, and is here. */
  isArchived?: boolean
}

/** Writes one with its past. */
export async function insertImported(tx: Tx, memory: ImportedMemory): Promise<number> {
  const id = await insertMemory(tx, memory, memory.createdAt)
  const past = { score: memory.score, recalled_at: memory.recalledAt, narrative_id: memory.narrativeId }
  await tx.run(tx.build.updateTable('memories').set(past).where('id', '=', id))
  if (memory.isArchived) await archiveMemory(tx, id)
  return id
}

/**
 * Which of these texts are here, word for word; those that were replaced and those in the archive count, so that nothing
 * outdated comes back.
 */
export async function knownAmong(tx: Tx, contents: readonly string[]): Promise<Set<string>> {
  if (contents.length === 0) return new Set()
  const here = tx.build.selectFrom('memories').select('content').where('content', 'in', contents)
  const away = tx.build.selectFrom('memories_archive').select('content').where('content', 'in', contents)
  return new Set([...(await tx.all(here)), ...(await tx.all(away))].map(({ content }) => content))
}
