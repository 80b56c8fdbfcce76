import type { InboxItem } from '../domain/inbox.ts'
import type { Label } from '../domain/label.ts'
import type { Ending, Run } from '../domain/run.ts'
import { memoriesOf } from '../store/memories.ts'
import { insertNarrative } from '../store/narratives.ts'
import type { Tx } from '../store/store.ts'
import { nothingNew } from './prompt.ts'
import { isBackground } from './role.ts'

const longest = 4000
const mostCited = 100

/**
 * The narrator's answer is the narrative, kept in the commit that ends its run. Of several talks it was asked about at
 * once, which are of one session, the last one counts.
 */
export async function keepNarrative(
  tx: Tx,
  { run, items, label, folder, now }: { run: Run; items: InboxItem[]; label: Label; folder: string; now: number },
  { state, text }: Ending,
): Promise<void> {
  const tells = items.findLast((item) => item.tells)?.tells
  const summary = text.trim().slice(0, longest).toWellFormed()
  if (!isBackground(run) || !tells || state !== 'completed' || summary === '' || isNothingNew(summary)) return
  await insertNarrative(tx, {
    summary,
    topic: tells.topic,
    folder,
    sessionId: tells.sessionId,
    memoryIds: await citedIn(tx, summary),
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

/** Memories that the words point at, and that are there. */
async function citedIn(tx: Tx, summary: string): Promise<number[]> {
  const ids = [...new Set([...summary.matchAll(/\[id:(\d{1,15})\]/g)].map(([, id]) => Number(id)))].slice(0, mostCited)
  const found = await memoriesOf(tx, ids)
  return ids.filter((id) => found.get(id)?.forgottenAt === null)
}
