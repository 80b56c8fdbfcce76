import type { WhyLink, WhyNote, WhyView } from '../../api/views/why.ts'
import { restsOn } from '../../memory/narratives.ts'
import { shownNarrative } from '../../memory/shown-narrative.ts'
import { findMemory } from '../../store/knowledge/memories.ts'
import { narrativesBy, narrativesOfTurn } from '../../store/knowledge/narrative-chain.ts'
import { narrativesOfTask, tasksOfNarrative } from '../../store/knowledge/narrative-tasks.ts'
import { findNarrative, narrativeRecalledBy } from '../../store/knowledge/narratives.ts'
import { turnsOfRequest } from '../../store/rows/requests.ts'
import { findResult } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findTurn } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'
import { preview } from '../turns/history.ts'
import { moment } from './chain.ts'

/** Max narratives, going back in time. */
const maxNarratives = 8
/** Max turns of a request, the last ones, whose narratives are looked up. */
const maxTurns = 12
const maxNamed = 8

/**
 * Narrative that covers the first thing of a chain, and those before it, newest first. If the thing is a narrative itself,
 * the story starts with the one before it.
 */
export async function storyOf(rows: Reading, chain: readonly WhyLink[]): Promise<WhyView['story']> {
  const first = chain.find(({ kind }) => kind !== 'session')
  if (!first) return undefined
  const links: WhyLink[] = []
  const covering = first.kind === 'narrative' ? undefined : await coveringNarrative(rows, first, chain)
  let next = covering ?? (await previousNarrative(rows, first, chain))
  for (const seen = new Set<number>(); next !== undefined && !seen.has(next) && links.length < maxNarratives; ) {
    seen.add(next)
    const how = next === covering && links.length === 0 ? 'told in' : 'goes on from'
    const found = await findNarrative(rows, next)
    const narrative = found && (await shownNarrative(rows, found))
    const link = { kind: 'narrative' as const, id: String(next), how } as const
    if (narrative) links.push({ ...link, title: preview(narrative.summary), at: moment(narrative.createdAt) })
    else links.push({ ...link, title: 'this narrative is no longer stored', at: null, missing: true })
    next = narrative?.previousId ?? undefined
  }
  return links.length === 0 ? undefined : { told: links, isMore: next !== undefined }
}

/** The last narrative that tells of a task, the first that cites a memory, else the last one that covers its request. */
async function coveringNarrative(
  rows: Reading,
  first: WhyLink,
  chain: readonly WhyLink[],
): Promise<number | undefined> {
  const taskNarrative = first.kind === 'task' ? (await narrativesOfTask(rows, Number(first.id))).at(-1) : undefined
  if (taskNarrative !== undefined) return taskNarrative
  const memoryIds =
    first.kind === 'memory'
      ? [Number(first.id)]
      : first.kind === 'result'
        ? ((await findResult(rows, Number(first.id)))?.memoryIds ?? [])
        : []
  for (const id of memoryIds.slice(0, maxNamed)) {
    const cited = (await findMemory(rows, id))?.narrativeId
    if (cited) return cited
  }
  const words = chain.at(-1)
  if (words?.kind !== 'turn') return undefined
  const turn = (await findTurn(rows, words.id))?.turn
  const run = turn && (await findRun(rows, turn.runId))
  const turns = run ? [words.id, ...(await turnsOfRequest(rows, run)).slice(-maxTurns)] : [words.id]
  const narratives = await Promise.all([...new Set(turns)].map((id) => narrativesAt(rows, id)))
  return narratives.flat().sort((a, b) => b - a)[0]
}

/** The narrative before a narrative; for anything else, the one that its request began with. */
async function previousNarrative(
  rows: Reading,
  first: WhyLink,
  chain: readonly WhyLink[],
): Promise<number | undefined> {
  if (first.kind === 'narrative') return (await findNarrative(rows, Number(first.id)))?.previousId ?? undefined
  const words = chain.at(-1)
  const turn = words?.kind === 'turn' ? (await findTurn(rows, words.id))?.turn : undefined
  return turn && (await narrativeRecalledBy(rows, turn.runId))?.id
}

/** Narratives that cover a turn, and those that its run wrote. */
async function narrativesAt(rows: Reading, turnId: string): Promise<number[]> {
  const runId = (await findTurn(rows, turnId))?.turn.runId
  return [...(await narrativesOfTurn(rows, turnId)), ...(runId === undefined ? [] : await narrativesBy(rows, runId))]
}

/** Notes on the memories that a narrative is based on, and on the tasks that it tells of, as they are now. */
export async function narrativeNotes(rows: Reading, id: number): Promise<WhyNote[]> {
  return [...(await memoryNotes(rows, id)), ...(await taskNotes(rows, id))]
}

async function taskNotes(rows: Reading, narrativeId: number): Promise<WhyNote[]> {
  const tasks = await tasksOfNarrative(rows, narrativeId)
  const notes = tasks.slice(0, maxNamed).map(({ id, title, status }): WhyNote => {
    return { topic: 'note', text: `it tells of task:${id}, ${status} "${preview(title)}"`, at: null, ref: `task:${id}` }
  })
  const more = tasks.length - notes.length
  return more > 0 ? [...notes, { topic: 'note', text: `and of ${more} more tasks`, at: null }] : notes
}

async function memoryNotes(rows: Reading, id: number): Promise<WhyNote[]> {
  const memoryIds = (await findNarrative(rows, id))?.memoryIds ?? []
  const notes = (await restsOn(rows, memoryIds.slice(0, maxNamed))).map(
    ({ id, content, state, replacedBy }): WhyNote => {
      const now = {
        counts: '',
        archived: ', archived since',
        forgotten: ', forgotten since',
        gone: ', no longer stored',
        replaced: `, replaced by memory:${replacedBy}`,
      }[state]
      const words = content === '' ? '' : ` "${preview(content)}"`
      return { topic: 'note', text: `it is based on memory:${id}${now}${words}`, at: null, ref: `memory:${id}` }
    },
  )
  const more = memoryIds.length - notes.length
  return more > 0 ? [...notes, { topic: 'note', text: `and on ${more} more memories`, at: null }] : notes
}
