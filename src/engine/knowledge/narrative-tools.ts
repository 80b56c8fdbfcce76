import { z } from 'zod'
import { HeddleError } from '../../domain/errors.ts'
import { joinLabels } from '../../domain/label.ts'
import { citedMemories } from '../../domain/memory.ts'
import { wordsIn } from '../../domain/text/words.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import { getActiveMemory } from '../../memory/remember.ts'
import { memoryStatesOf } from '../../store/knowledge/narrative-chain.ts'
import { tasksInFolder, tasksOfNarrative, tasksOfRequests } from '../../store/knowledge/narrative-tasks.ts'
import {
  findNarrative,
  insertNarrative,
  latestNarrative,
  listNarratives,
  type Narrative,
} from '../../store/knowledge/narratives.ts'
import { memoriesBehind, memoriesInContext } from '../../store/knowledge/seen-memories.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findHeadThread } from '../../store/rows/threads.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { defineTool } from '../../tools/define-tool.ts'
import type { Runtime } from '../runtime.ts'
import { type CurrentNarrative, currentNarrativeOf, labelOfNarrative, narrativeText } from './current-narrative.ts'

/** Max narratives of a folder that are searched, newest first. */
const maxSearched = 500
const maxFound = 5
/** Max matches that are checked for whether they may still be shown. */
const maxChecked = 100

const updateInput = () =>
  z.strictObject({
    summary: z.string().trim().min(1).max(4000),
    memory_ids: z.array(z.int().positive()).max(100).default([]),
    task_ids: z.array(z.int().positive()).max(100).default([]),
    previous_narrative_id: z.int().positive().exactOptional(),
    topic: z.string().trim().min(1).max(100).exactOptional(),
  })
const narrativeQuery = () =>
  z.strictObject({ id: z.int().positive().exactOptional(), query: z.string().exactOptional() })

/** Tools for narratives: each continues the one before, and the next session in the folder begins with the latest. */
export function narrativeTools(runtime: Runtime): Tool[] {
  return [narrativeUpdate(runtime), narrativeSearch(runtime)] as Tool[]
}

function narrativeUpdate({ clock }: Runtime): Tool<z.output<ReturnType<typeof updateInput>>> {
  return defineTool(updateInput, {
    name: 'narrative_update',
    description:
      'Records the state of the work in a few sentences; the next session in this folder starts with it. memory_ids: ' +
      'memories it is based on besides those it cites as [id:N]; task_ids: tasks it tells of, besides those of this request. Continues the latest narrative of its topic unless previous_narrative_id says ' +
      'otherwise.',
    effect: 'transactional',
    action: 'memory.write',
    guarded: true,
    async write(transaction, { summary, memory_ids, task_ids, previous_narrative_id, topic }, call) {
      const { folder, runId, label } = call
      const tx = transaction as Tx
      for (const id of memory_ids) await getActiveMemory(tx, id)
      const known = await tasksInFolder(tx, task_ids, folder)
      const unknown = task_ids.find((id) => !known.has(id))
      if (unknown !== undefined)
        throw new HeddleError('not_found', `there is no task ${unknown} here`, 'task_list has the tasks')
      const before =
        previous_narrative_id === undefined
          ? await latestNarrative(tx, folder, topic)
          : await assertInFolder(await findNarrative(tx, previous_narrative_id), folder, previous_narrative_id)
      const sessionId = (await findRun(tx, runId))?.sessionId ?? null
      const head = sessionId === null ? undefined : await findHeadThread(tx, sessionId)
      // Its words may repeat what it does not cite.
      const seen = (await memoriesInContext(tx, { head, runId })).map(({ memoryId }) => memoryId)
      const inherited = new Set(before ? await memoriesBehind(tx, before.id) : [])
      const id = await insertNarrative(tx, {
        summary,
        topic: topic ?? null,
        folder,
        sessionId,
        memoryIds: [
          ...new Set([
            ...memory_ids,
            ...(await memoriesCited(tx, summary)),
            ...seen.filter((each) => !inherited.has(each)),
          ]),
        ],
        taskIds: [...task_ids, ...(await tasksOfRequests(tx, [runId]))],
        previousId: before?.id ?? null,
        runId,
        turnId: null,
        label: joinLabels(label ? [label] : []),
        createdAt: clock.now(),
      })
      return { status: 'ok', output: { status: 'ok', id, previous_narrative_id: before?.id ?? null } }
    },
  })
}

/** Memories that a summary cites and that exist; throws if one was forgotten. */
async function memoriesCited(rows: Reading, summary: string): Promise<number[]> {
  const cited = citedMemories(summary)
  const states = await memoryStatesOf(rows, cited)
  const forgotten = cited.find((id) => states.get(id)?.isForgotten)
  if (forgotten !== undefined)
    throw new HeddleError('forgotten', `memory ${forgotten} was forgotten`, 'leave it out of the summary')
  return [...states.keys()]
}

function narrativeSearch({
  store,
  markSecrets = (value) => value,
}: Runtime): Tool<z.output<ReturnType<typeof narrativeQuery>>> {
  return defineTool(narrativeQuery, {
    name: 'narrative_search',
    description: 'Finds narratives of this folder by id or by words; without either, the latest one.',
    effect: 'pure',
    action: 'memory.read',
    run: ({ id, query }, { folder }) =>
      store.read(async (rows) => {
        const one = id === undefined ? undefined : assertInFolder(await findNarrative(rows, id), folder, id)
        const found =
          one && query === undefined ? [await checkedNarrative(rows, one)] : await findCurrent(rows, folder, query)
        const checked = await Promise.all(
          found.map(async ({ each, current }) => ({
            each,
            current,
            taskIds: (await tasksOfNarrative(rows, each.id)).map((task) => task.id),
          })),
        )
        return {
          status: 'ok',
          output: {
            narratives: markSecrets(checked).map(({ each, current, taskIds }) => narrativeRow(each, taskIds, current)),
          },
          label: joinLabels(checked.map(({ each, current }) => (current ? labelOfNarrative(current) : each.label))),
        }
      }),
  })
}

interface CheckedNarrative {
  each: Narrative
  /** Undefined if it may no longer be shown. */
  current: CurrentNarrative | undefined
}

async function checkedNarrative(rows: Reading, each: Narrative): Promise<CheckedNarrative> {
  return { each, current: await currentNarrativeOf(rows, each) }
}

/** The best matches for a query, or else the latest one. Those that may no longer be shown come last and hide none. */
async function findCurrent(rows: Reading, folder: string, query: string | undefined): Promise<CheckedNarrative[]> {
  const known = await listNarratives(rows, folder, maxSearched)
  const candidates = query === undefined ? known : searchNarratives(known, query)
  const limit = query === undefined ? 1 : maxFound
  const found: CheckedNarrative[] = []
  const withheld: CheckedNarrative[] = []
  for (const each of candidates.slice(0, maxChecked)) {
    const checked = await checkedNarrative(rows, each)
    ;(checked.current ? found : withheld).push(checked)
    if (found.length === limit) break
  }
  return [...found, ...withheld].slice(0, limit)
}

/** Narratives that share words with the query, most words first, then newer ones. */
function searchNarratives(known: readonly Narrative[], query: string): Narrative[] {
  const words = new Set(wordsIn(query))
  return known
    .map((each) => {
      const has = new Set(wordsIn(`${each.topic ?? ''} ${each.summary}`))
      return { each, shared: [...words].filter((word) => has.has(word)).length }
    })
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared || b.each.id - a.each.id)
    .map(({ each }) => each)
}

function assertInFolder(found: Narrative | undefined, folder: string, id: number): Narrative {
  if (found?.folder === folder) return found
  throw new HeddleError(
    'not_found',
    `there is no narrative ${id} here`,
    'narrative_search without an id has the latest',
  )
}

function narrativeRow(
  { id, topic, memoryIds, previousId, createdAt }: Narrative,
  taskIds: number[],
  current: CurrentNarrative | undefined,
) {
  return {
    id,
    ...(topic !== null && { topic }),
    summary: current ? narrativeText(current) : '(no longer shown: it is based on something that was forgotten)',
    memory_ids: memoryIds,
    task_ids: taskIds,
    previous_narrative_id: previousId,
    at: new Date(createdAt).toISOString(),
  }
}
