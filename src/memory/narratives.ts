import { HeddleError } from '../domain/errors.ts'
import { isUntrusted } from '../domain/label.ts'
import type { NarrativeLine, NarrativeView, RestsOn } from '../domain/narrative-views.ts'
import { fatesOf, narrativesAfter, newestNarratives } from '../store/narrative-chain.ts'
import { findNarrative, listNarratives, type Narrative } from '../store/narratives.ts'
import type { Reading } from '../store/store.ts'

/** So often one memory is followed by the next before we stop looking for the last. */
const mostReplaced = 50

/** Where the work stands, newest first; of one folder if one is named. */
export async function viewNarratives(
  rows: Reading,
  { folder, limit }: { folder?: string; limit: number },
): Promise<NarrativeLine[]> {
  const found =
    folder === undefined
      ? await narrativesOf(rows, await newestNarratives(rows, limit))
      : await listNarratives(rows, folder, limit)
  return found.map(narrativeLine)
}

/** All of a narrative, and what became of the memories that it rests on. */
export async function describeNarrative(rows: Reading, id: string): Promise<NarrativeView> {
  const narrative = await narrativeNamed(rows, id)
  const before = narrative.previousId === null ? undefined : await findNarrative(rows, narrative.previousId)
  const after = await narrativesOf(rows, await narrativesAfter(rows, narrative.id))
  return {
    kind: 'narrative',
    ...narrativeLine(narrative),
    label: narrative.label,
    memories: await restsOn(rows, narrative.memoryIds),
    before: before ? { id: before.id, summary: before.summary } : null,
    after: after.map(({ id, summary }) => ({ id, summary })),
  }
}

/** `3` as somebody wrote it. */
export async function narrativeNamed(rows: Reading, id: string): Promise<Narrative> {
  const narrative = /^[1-9]\d{0,14}$/.test(id) ? await findNarrative(rows, Number(id)) : undefined
  if (narrative) return narrative
  throw new HeddleError('not_found', `there is no narrative "${id}"`, 'list them with: heddle memory narratives --all')
}

/** In the order in which they are cited. */
export async function restsOn(rows: Reading, ids: readonly number[]): Promise<RestsOn[]> {
  const fates = await fatesOf(rows, ids)
  const rested: RestsOn[] = []
  for (const id of ids) {
    const fate = fates.get(id)
    const replacedBy = fate?.supersededBy == null ? undefined : await lastAfter(rows, fate.supersededBy)
    const state = !fate
      ? 'gone'
      : fate.isForgotten
        ? 'forgotten'
        : replacedBy !== undefined
          ? 'replaced'
          : fate.isArchived
            ? 'archived'
            : 'counts'
    rested.push({ id, content: fate?.content ?? '', state, ...(replacedBy !== undefined && { replacedBy }) })
  }
  return rested
}

/** The last of those that took each other's place. */
async function lastAfter(rows: Reading, id: number): Promise<number> {
  let last = id
  for (let followed = 0; followed < mostReplaced; followed++) {
    const next = (await fatesOf(rows, [last])).get(last)?.supersededBy
    if (next == null) break
    last = next
  }
  return last
}

async function narrativesOf(rows: Reading, ids: readonly number[]): Promise<Narrative[]> {
  const found: Narrative[] = []
  for (const id of ids) {
    const narrative = await findNarrative(rows, id)
    if (narrative) found.push(narrative)
  }
  return found
}

function narrativeLine(narrative: Narrative): NarrativeLine {
  const { id, summary, topic, folder, label, memoryIds, previousId, runId, turnId, createdAt } = narrative
  return {
    id,
    summary,
    ...(topic !== null && { topic }),
    folder,
    trusted: !isUntrusted(label),
    memoryIds,
    ...(previousId !== null && { previousId }),
    ...(runId !== null && { runId }),
    ...(turnId !== null && { turnId }),
    createdAt: new Date(createdAt).toISOString(),
  }
}
