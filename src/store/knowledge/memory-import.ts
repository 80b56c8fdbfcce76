import type { Millis } from '../../domain/clock.ts'
import type { MemoryDraft } from '../../domain/memory.ts'
import type { Tx } from '../store.ts'
import { archiveMemory, insertMemory } from './memories.ts'

/** A memory of an export file, with its score and dates. */
export interface ImportedMemory extends MemoryDraft {
  score: number
  narrativeId: number | null
  createdAt: Millis
  recalledAt: Millis
  /** When it was last said again. */
  saidAt: Millis | null
  /** Whether to insert it into the archive. */
  isArchived?: boolean
}

/** Inserts an imported memory with its score and dates. */
export async function insertImported(tx: Tx, memory: ImportedMemory): Promise<number> {
  const id = await insertMemory(tx, memory, memory.createdAt)
  const past = {
    score: memory.score,
    recalled_at: memory.recalledAt,
    ...(memory.saidAt !== null && { said_at: memory.saidAt }),
    narrative_id: memory.narrativeId,
  }
  await tx.run(tx.build.updateTable('memories').set(past).where('id', '=', id))
  if (memory.isArchived) await archiveMemory(tx, id)
  return id
}

/**
 * Those of the texts that exist word for word, replaced and archived memories included, so that an import does not bring
 * back outdated ones. Memories from `before` on are the import's own.
 */
export async function existingContents(
  tx: Tx,
  contents: readonly string[],
  before: number = Number.MAX_SAFE_INTEGER,
): Promise<Set<string>> {
  const found = new Set<string>()
  if (contents.length === 0) return found
  for (const table of ['memories', 'memories_archive'] as const) {
    // Both have the same columns.
    const query = tx.build
      .selectFrom(table as 'memories')
      .select('content')
      .where('content', 'in', contents)
    for (const { content } of await tx.all(query.where('id', '<', before))) found.add(content)
  }
  return found
}
