import type { InboxItem } from '../domain/inbox.ts'
import type { Label } from '../domain/label.ts'
import type { Ending, Run } from '../domain/run.ts'
import { findMemory } from '../store/memories.ts'
import { insertNarrative, latestOfSession } from '../store/narratives.ts'
import type { Tx } from '../store/store.ts'
import { nothingNew } from './prompt.ts'
import { isBackground } from './role.ts'

const longest = 4000
const mostCited = 100

/**
 * The narrator's answer is the narrative, kept in the commit that ends its run. Of several talks it was asked about at
 * once, which are of one session, the last one counts. One that comes too late is not kept, nor one that rests on
 * something a person wanted forgotten meanwhile.
 */
export async function keepNarrative(
  tx: Tx,
  { run, items, label, folder, now }: { run: Run; items: InboxItem[]; label: Label; folder: string; now: number },
  { state, text }: Ending,
): Promise<void> {
  const tells = items.findLast((item) => item.tells)?.tells
  const summary = text.trim().slice(0, longest).toWellFormed()
  if (!isBackground(run) || !tells || state !== 'completed' || summary === '' || isNothingNew(summary)) return
  const told = await latestOfSession(tx, tells.sessionId)
  // Ids begin with their time.
  if (told?.turnId != null && told.turnId >= tells.turnId) return
  const memories = await Promise.all([...citedIn(summary), ...tells.memoryIds].map((id) => findMemory(tx, id)))
  if (memories.some((memory) => memory?.forgottenAt != null)) return
  await insertNarrative(tx, {
    summary,
    topic: tells.topic,
    folder,
    sessionId: tells.sessionId,
    memoryIds: [...new Set(memories.flatMap((memory) => memory?.id ?? []))],
    previousId: tells.previousId,
    runId: run.id,
    turnId: tells.turnId,
    label,
    createdAt: now,
  })
}

function isNothingNew(summary: string): boolean {
  return summary.toUpperCase().replace(/[^A-Z ]/g, '') === nothingNew
}

/** Memories that the words point at. */
function citedIn(summary: string): number[] {
  return [...new Set([...summary.matchAll(/\[id:(\d{1,15})\]/g)].map(([, id]) => Number(id)))].slice(0, mostCited)
}
