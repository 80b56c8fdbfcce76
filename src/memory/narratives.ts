import type { CitedMemory, NarrativeLine, NarrativeView } from '../api/views/narrative.ts'
import { HeddleError } from '../domain/errors.ts'
import { isUntrusted } from '../domain/label.ts'
import { memoryStatesOf, narrativesAfter, newestNarratives } from '../store/knowledge/narrative-chain.ts'
import { tasksOfNarrative } from '../store/knowledge/narrative-tasks.ts'
import { findNarrative, listNarratives, type Narrative } from '../store/knowledge/narratives.ts'
import type { Reading } from '../store/store.ts'
import { type ShownNarrative, shownNarrative } from './shown-narrative.ts'

/** Max replacements followed to find the current memory. */
const maxReplaced = 50

/** Narratives, newest first, optionally of one folder. */
export async function viewNarratives(
  rows: Reading,
  { folder, limit }: { folder?: string; limit: number },
): Promise<NarrativeLine[]> {
  const found =
    folder === undefined
      ? await narrativesOf(rows, await newestNarratives(rows, limit))
      : await listNarratives(rows, folder, limit)
  const shown: NarrativeLine[] = []
  for (const each of found) shown.push(narrativeLine(await shownNarrative(rows, each)))
  return shown
}

/** Full view of a narrative, with the current state of the memories it cites and the tasks it tells of. */
export async function describeNarrative(rows: Reading, id: string): Promise<NarrativeView> {
  const narrative = await shownNarrative(rows, await getNarrative(rows, id))
  const [before] = narrative.previousId === null ? [] : await shownOf(rows, [narrative.previousId])
  const after = await shownOf(rows, await narrativesAfter(rows, narrative.id))
  return {
    kind: 'narrative',
    ...narrativeLine(narrative),
    label: narrative.label,
    memories: await restsOn(rows, narrative.memoryIds),
    tasks: await tasksOfNarrative(rows, narrative.id),
    before: before ? { id: before.id, summary: before.summary } : null,
    after: after.map(({ id, summary }) => ({ id, summary })),
  }
}

/** Finds a narrative by its id as typed by the user; throws if there is none. */
export async function getNarrative(rows: Reading, id: string): Promise<Narrative> {
  const narrative = /^[1-9]\d{0,14}$/.test(id) ? await findNarrative(rows, Number(id)) : undefined
  if (narrative) return narrative
  throw new HeddleError('not_found', `there is no narrative "${id}"`, 'list them with: heddle memory narratives --all')
}

/** Current states of cited memories, in the order of the citations. */
export async function restsOn(rows: Reading, ids: readonly number[]): Promise<CitedMemory[]> {
  const states = await memoryStatesOf(rows, ids)
  const cited: CitedMemory[] = []
  for (const id of ids) {
    const memory = states.get(id)
    const replacedBy = memory?.supersededBy == null ? undefined : await lastAfter(rows, memory.supersededBy)
    const state = !memory
      ? 'gone'
      : memory.isForgotten
        ? 'forgotten'
        : replacedBy !== undefined
          ? 'replaced'
          : memory.isArchived
            ? 'archived'
            : 'counts'
    cited.push({ id, content: memory?.content ?? '', state, ...(replacedBy !== undefined && { replacedBy }) })
  }
  return cited
}

/** Last memory in a chain of replacements. */
async function lastAfter(rows: Reading, id: number): Promise<number> {
  let last = id
  for (let followed = 0; followed < maxReplaced; followed++) {
    const next = (await memoryStatesOf(rows, [last])).get(last)?.supersededBy
    if (next == null) break
    last = next
  }
  return last
}

async function shownOf(rows: Reading, ids: readonly number[]): Promise<ShownNarrative[]> {
  const shown: ShownNarrative[] = []
  for (const each of await narrativesOf(rows, ids)) shown.push(await shownNarrative(rows, each))
  return shown
}

async function narrativesOf(rows: Reading, ids: readonly number[]): Promise<Narrative[]> {
  const found: Narrative[] = []
  for (const id of ids) {
    const narrative = await findNarrative(rows, id)
    if (narrative) found.push(narrative)
  }
  return found
}

function narrativeLine(narrative: ShownNarrative): NarrativeLine {
  const { id, summary, withheld, topic, folder, label, memoryIds, previousId, runId, turnId, createdAt } = narrative
  return {
    id,
    summary,
    ...(withheld && { withheld }),
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
