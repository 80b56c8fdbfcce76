import { citedMemories } from '../../domain/memory.ts'
import { findMemory } from '../../store/knowledge/memories.ts'
import { insertNarrative, latestOfSession } from '../../store/knowledge/narratives.ts'
import { nothingNew } from '../model/prompt.ts'
import { isBackground } from '../model/role.ts'
import type { RunEnd } from '../run/moments.ts'

const maxLength = 4000

/**
 * Stores the narrator's answer as the narrative, in the transaction that ends its run. If the run has several inputs, all of
 * one session, the last one counts. An outdated narrative is not stored, nor one based on a memory that was forgotten
 * meanwhile.
 */
export async function storeNarrative(end: Omit<RunEnd<unknown>, 'engine'>): Promise<void> {
  const { tx, run, items, session, turnLabel, now } = end
  const { state, text } = end.ending
  const request = items.findLast((item) => item.tells)?.tells
  const summary = text.trim().slice(0, maxLength).toWellFormed()
  if (!isBackground(run) || !request || state !== 'completed' || summary === '' || isNothingNew(summary)) return
  const latest = await latestOfSession(tx, request.sessionId)
  // Ids sort by time.
  if (latest?.turnId != null && latest.turnId >= request.turnId) return
  const memories = []
  for (const id of [...citedMemories(summary), ...request.memoryIds]) memories.push(await findMemory(tx, id))
  if (memories.some((memory) => memory?.forgottenAt != null)) return
  await insertNarrative(tx, {
    summary,
    topic: request.topic,
    folder: session.folder,
    sessionId: request.sessionId,
    memoryIds: [...new Set(memories.flatMap((memory) => memory?.id ?? []))],
    taskIds: request.taskIds ?? [],
    previousId: request.previousId,
    runId: run.id,
    turnId: request.turnId,
    label: turnLabel,
    createdAt: now,
  })
}

function isNothingNew(summary: string): boolean {
  return summary.toUpperCase().replace(/[^A-Z ]/g, '') === nothingNew
}
