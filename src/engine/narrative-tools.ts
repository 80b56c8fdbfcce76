import { z } from 'zod'
import { HeddleError } from '../domain/errors.ts'
import { joinLabels } from '../domain/label.ts'
import type { Tool } from '../domain/tool.ts'
import { wordsIn } from '../domain/words.ts'
import { mustFind } from '../memory/remember.ts'
import { findNarrative, insertNarrative, latestNarrative, listNarratives, type Narrative } from '../store/narratives.ts'
import { findRun } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { parsedBy } from '../tools/tool-input.ts'
import { labelOfStanding, type Standing, standingText, tellable } from './standing.ts'
import type { World } from './world.ts'

/** Those of a folder that are looked through for words, newest first. */
const lookedThrough = 500
const mostFound = 5

const updateInput = z.strictObject({
  summary: z.string().trim().min(1).max(4000),
  memory_ids: z.array(z.int().positive()).max(100).default([]),
  previous_narrative_id: z.int().positive().exactOptional(),
  topic: z.string().trim().min(1).max(100).exactOptional(),
})
const searchInput = z.strictObject({ id: z.int().positive().exactOptional(), query: z.string().exactOptional() })

/** Where the work in a folder stands, as a chain: each goes on from the one before, and the next session begins with it. */
export function narrativeTools(world: World): Tool[] {
  return [narrativeUpdate(world), narrativeSearch(world)] as Tool[]
}

function narrativeUpdate({ clock }: World): Tool<z.output<typeof updateInput>> {
  return {
    name: 'narrative_update',
    description:
      'Notes in a few sentences where the work stands and why; the next session here begins with it. memory_ids: what ' +
      'it rests on. It follows the latest of its topic unless previous_narrative_id says otherwise.',
    inputSchema: {
      type: 'object',
      properties: {
        summary: { type: 'string' },
        memory_ids: { type: 'array', items: { type: 'integer' } },
        previous_narrative_id: { type: 'integer' },
        topic: { type: 'string' },
      },
      required: ['summary'],
      additionalProperties: false,
    },
    effect: 'transactional',
    guarded: true,
    parse: parsedBy(updateInput),
    async write(transaction, { summary, memory_ids, previous_narrative_id, topic }, { folder, runId, label }) {
      const tx = transaction as Tx
      for (const id of memory_ids) await mustFind(tx, id)
      const before =
        previous_narrative_id === undefined
          ? await latestNarrative(tx, folder, topic)
          : await narrativeHere(await findNarrative(tx, previous_narrative_id), folder, previous_narrative_id)
      const id = await insertNarrative(tx, {
        summary,
        topic: topic ?? null,
        folder,
        sessionId: (await findRun(tx, runId))?.sessionId ?? null,
        memoryIds: memory_ids,
        previousId: before?.id ?? null,
        runId,
        turnId: null,
        label: joinLabels(label ? [label] : []),
        createdAt: clock.now(),
      })
      return { status: 'ok', output: { status: 'ok', id, previous_narrative_id: before?.id ?? null } }
    },
  }
}

function narrativeSearch({ store }: World): Tool<z.output<typeof searchInput>> {
  return {
    name: 'narrative_search',
    description: 'Narratives of this folder: by id, by words, or without either the latest.',
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'integer' }, query: { type: 'string' } },
      additionalProperties: false,
    },
    effect: 'pure',
    parse: parsedBy(searchInput),
    run: ({ id, query }, { folder }) =>
      store.read(async (rows) => {
        const known = await listNarratives(rows, folder, lookedThrough)
        const one = id === undefined ? known.slice(0, 1) : [narrativeHere(await findNarrative(rows, id), folder, id)]
        const found = query === undefined ? one : fitting(known, query)
        const told = await Promise.all(found.map(async (each) => ({ each, standing: await tellable(rows, each) })))
        return {
          status: 'ok',
          output: { narratives: told.map(({ each, standing }) => row(each, standing)) },
          label: joinLabels(told.map(({ each, standing }) => (standing ? labelOfStanding(standing) : each.label))),
        }
      }),
  }
}

/** Those with most of the words, newer ones first. */
function fitting(known: readonly Narrative[], query: string): Narrative[] {
  const words = new Set(wordsIn(query))
  return known
    .map((each) => {
      const has = new Set(wordsIn(`${each.topic ?? ''} ${each.summary}`))
      return { each, shared: [...words].filter((word) => has.has(word)).length }
    })
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared || b.each.id - a.each.id)
    .slice(0, mostFound)
    .map(({ each }) => each)
}

function narrativeHere(found: Narrative | undefined, folder: string, id: number): Narrative {
  if (found?.folder === folder) return found
  throw new HeddleError(
    'not_found',
    `there is no narrative ${id} here`,
    'narrative_search without an id has the latest',
  )
}

function row({ id, topic, memoryIds, previousId, createdAt }: Narrative, standing: Standing | undefined) {
  return {
    id,
    ...(topic !== null && { topic }),
    summary: standing ? standingText(standing) : '(not told any more: it rests on something that was forgotten)',
    memory_ids: memoryIds,
    previous_narrative_id: previousId,
    at: new Date(createdAt).toISOString(),
  }
}
