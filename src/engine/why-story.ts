import type { WhyLink, WhyNote, WhyView } from '../domain/why.ts'
import { restsOn } from '../memory/narratives.ts'
import { turnsOfRequest } from '../store/inbox.ts'
import { findMemory } from '../store/memories.ts'
import { narrativesBy, narrativesOfTurn } from '../store/narrative-chain.ts'
import { begunWith, findNarrative } from '../store/narratives.ts'
import { findResult } from '../store/results.ts'
import { findRun } from '../store/runs.ts'
import type { Reading } from '../store/store.ts'
import { findTurn } from '../store/threads.ts'
import { preview } from './history.ts'
import { moment } from './why-chain.ts'

/** As far back as it is told. */
const mostTold = 8
/** So many of the last turns of a request are asked for what tells of them. */
const mostTurns = 12
const mostNamed = 8

/**
 * Where the thing that a chain begins with was told, and what was told before that, newest first. A narrative itself is
 * the beginning of the chain: its story is what came before it.
 */
export async function storyOf(rows: Reading, chain: readonly WhyLink[]): Promise<WhyView['story']> {
  const first = chain.find(({ kind }) => kind !== 'session')
  if (!first) return undefined
  const told: WhyLink[] = []
  const telling = first.kind === 'narrative' ? undefined : await toldIn(rows, first, chain)
  let next = telling ?? (await toldBefore(rows, first, chain))
  for (const seen = new Set<number>(); next !== undefined && !seen.has(next) && told.length < mostTold; ) {
    seen.add(next)
    const how = next === telling && told.length === 0 ? 'told in' : 'goes on from'
    const narrative = await findNarrative(rows, next)
    const link = { kind: 'narrative' as const, id: String(next), how } as const
    if (narrative) told.push({ ...link, title: preview(narrative.summary), at: moment(narrative.createdAt) })
    else told.push({ ...link, title: 'this narrative is not kept any more', at: null, missing: true })
    next = narrative?.previousId ?? undefined
  }
  return told.length === 0 ? undefined : { told, isMore: next !== undefined }
}

/** The first narrative that rests on it, else the last that tells of the request it belongs to. */
async function toldIn(rows: Reading, first: WhyLink, chain: readonly WhyLink[]): Promise<number | undefined> {
  const memoryIds =
    first.kind === 'memory'
      ? [Number(first.id)]
      : first.kind === 'result'
        ? ((await findResult(rows, Number(first.id)))?.memoryIds ?? [])
        : []
  for (const id of memoryIds.slice(0, mostNamed)) {
    const cited = (await findMemory(rows, id))?.narrativeId
    if (cited) return cited
  }
  const words = chain.at(-1)
  if (words?.kind !== 'turn') return undefined
  const turn = (await findTurn(rows, words.id))?.turn
  const run = turn && (await findRun(rows, turn.runId))
  const turns = run ? [words.id, ...(await turnsOfRequest(rows, run)).slice(-mostTurns)] : [words.id]
  const told = await Promise.all([...new Set(turns)].map((id) => narrativesAt(rows, id)))
  return told.flat().sort((a, b) => b - a)[0]
}

/** What a narrative goes on from; of what nobody has told of, what its request began with. */
async function toldBefore(rows: Reading, first: WhyLink, chain: readonly WhyLink[]): Promise<number | undefined> {
  if (first.kind === 'narrative') return (await findNarrative(rows, Number(first.id)))?.previousId ?? undefined
  const words = chain.at(-1)
  const turn = words?.kind === 'turn' ? (await findTurn(rows, words.id))?.turn : undefined
  return turn && (await begunWith(rows, turn.runId))?.id
}

/** Those that tell of a turn, and those that its run wrote. */
export async function narrativesAt(rows: Reading, turnId: string): Promise<number[]> {
  const runId = (await findTurn(rows, turnId))?.turn.runId
  return [...(await narrativesOfTurn(rows, turnId)), ...(runId === undefined ? [] : await narrativesBy(rows, runId))]
}

/** What a narrative rests on, and what became of each. */
export async function narrativeNotes(rows: Reading, id: number): Promise<WhyNote[]> {
  const memoryIds = (await findNarrative(rows, id))?.memoryIds ?? []
  const notes = (await restsOn(rows, memoryIds.slice(0, mostNamed))).map(
    ({ id, content, state, replacedBy }): WhyNote => {
      const now = {
        counts: '',
        archived: ', put out of the way since',
        forgotten: ', forgotten since',
        gone: ', not kept any more',
        replaced: `, in whose place is memory:${replacedBy}`,
      }[state]
      const words = content === '' ? '' : ` "${preview(content)}"`
      return { topic: 'note', text: `it rests on memory:${id}${now}${words}`, at: null, ref: `memory:${id}` }
    },
  )
  const more = memoryIds.length - notes.length
  return more > 0 ? [...notes, { topic: 'note', text: `and on ${more} more memories`, at: null }] : notes
}
