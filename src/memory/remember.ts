import type { Millis } from '../domain/clock.ts'
import { Misuse } from '../domain/errors.ts'
import { isUntrusted, type Label } from '../domain/label.ts'
import { type Memory, type MemoryDraft, relationOf } from '../domain/memory.ts'
import { wordsIn } from '../domain/words.ts'
import {
  addScore,
  archiveMemories,
  countMemories,
  findMemory,
  holdMemories,
  insertMemory,
  memoriesOf,
  newestMemory,
  supersede,
  unarchiveMemory,
  widenMemory,
} from '../store/memories.ts'
import { searchMemories } from '../store/memory-search.ts'
import type { Reading, Tx } from '../store/store.ts'

/** How many that are alike are looked at. */
const mostCompared = 12
const longestMemory = 20_000
/** When there are too many, so many go at once: making room is not done for each. */
const archivedAtOnce = 100

/** What became of something that was to be remembered. */
export interface Remembered {
  id: number
  /** It was known already: the older one was strengthened. */
  isMerged: boolean
  /** Older ones that said otherwise; they stay readable and are not found any more. */
  superseded: Memory[]
  /** Older ones that are alike: somebody should look whether both hold. */
  near: Memory[]
}

/**
 * Keeps something. What says the same strengthens the one that is there; what says otherwise about the same thing takes
 * its place, so that nobody meets both.
 */
export async function remember(tx: Tx, draft: MemoryDraft, now: Millis, most: number): Promise<Remembered> {
  const content = checkedContent(draft.content)
  await holdMemories(tx)
  const alike = await likeThis(tx, content)
  const corrected = draft.supersedes === undefined ? undefined : await mustChange(tx, draft.supersedes, draft.label)
  const isStrange = isUntrusted(draft.label)
  // What strangers say neither strengthens nor replaces what is trusted; what is trusted replaces what they said.
  const mayTouch = (each: Memory) => !isStrange || isUntrusted(each.label)
  const saidBefore = alike.filter((each) => relationOf(each.content, content) === 'same')
  const same = corrected ? undefined : saidBefore.find((each) => isUntrusted(each.label) === isStrange)
  if (same) return merged(tx, same, draft)
  const said = [...saidBefore, ...alike.filter((each) => relationOf(each.content, content) === 'contradicts')].filter(
    mayTouch,
  )
  const superseded = [...new Map([...(corrected ? [corrected] : []), ...said].map((each) => [each.id, each])).values()]
  const id = await insertMemory(tx, { ...draft, content }, now)
  for (const older of superseded) await supersede(tx, older.id, id)
  const gone = new Set(superseded.map((each) => each.id))
  const near = alike.filter((each) => !gone.has(each.id) && relationOf(each.content, content) !== 'other')
  if (id % archivedAtOnce === 0 && (await countMemories(tx)) > most) await archiveMemories(tx, archivedAtOnce)
  return { id, isMerged: false, superseded, near }
}

/** Says something anew: the old words stay readable behind the new ones. */
export async function rewrite(
  tx: Tx,
  id: number,
  change: { content?: string; tags?: string[]; keywords?: string[] },
  by: Pick<MemoryDraft, 'source' | 'label' | 'runId' | 'turnId'>,
  now: Millis,
): Promise<number> {
  const old = await mustChange(tx, id, by.label)
  const tags = change.tags ?? old.tags
  const keywords = change.keywords ?? old.keywords
  const content = change.content === undefined ? old.content : checkedContent(change.content)
  if (content === old.content) {
    await widenMemory(tx, { ...old, tags, keywords })
    return id
  }
  const { taskId, resultId } = old
  const next = await insertMemory(tx, { ...by, content, tags, keywords, taskId, resultId }, now)
  await addScore(tx, next, old.score - 1)
  await supersede(tx, id, next)
  return next
}

/**
 * One that is to be changed, back where it is found. What strangers said changes nothing that is trusted, however it
 * came into the talk.
 */
export async function mustChange(tx: Tx, id: number, by: Label): Promise<Memory> {
  await holdMemories(tx)
  const memory = await mustFind(tx, id)
  if (isUntrusted(by) && !isUntrusted(memory.label))
    throw new Misuse(
      `memory:${id} is trusted, and this talk has words in it that are not`,
      'keep what was found as a memory of its own; the person can change it: heddle memory edit',
      'not_trusted',
    )
  await unarchiveMemory(tx, id)
  return memory
}

/** What is kept of something that somebody says; nothing, and too much, is refused. */
export function checkedContent(said: string): string {
  const content = said.trim()
  if (content === '') throw new Misuse('there is nothing to remember', 'say it in a sentence', 'empty_memory')
  if (content.length > longestMemory)
    throw new Misuse(
      `a memory has at most ${longestMemory} characters`,
      'keep what matters, and say where the rest is',
      'long_memory',
    )
  return content
}

/** One that counts, by its number; one that does not says why. */
export async function mustFind(rows: Reading, id: number): Promise<Memory> {
  const memory = await findMemory(rows, id)
  if (!memory) throw new Misuse(`there is no memory ${id}`, 'heddle memory lists them', 'not_found')
  if (memory.forgottenAt !== null)
    throw new Misuse(`memory:${id} was forgotten`, 'heddle memory lists them', 'forgotten')
  if (memory.supersededBy !== null)
    throw new Misuse(
      `memory:${id} was replaced by memory:${memory.supersededBy}`,
      `use that one: heddle show memory:${memory.supersededBy}`,
      'superseded',
    )
  return memory
}

async function merged(tx: Tx, same: Memory, draft: MemoryDraft): Promise<Remembered> {
  const tags = [...new Set([...same.tags, ...(draft.tags ?? [])])]
  const keywords = [...new Set([...same.keywords, ...(draft.keywords ?? [])])]
  if (tags.length > same.tags.length || keywords.length > same.keywords.length)
    await widenMemory(tx, { ...same, tags, keywords })
  await addScore(tx, same.id, 1)
  return { id: same.id, isMerged: true, superseded: [], near: [] }
}

async function likeThis(rows: Reading, content: string): Promise<Memory[]> {
  const total = await newestMemory(rows)
  if (total === undefined) return []
  const hits = await searchMemories(rows, wordsIn(content), total, mostCompared)
  const found = await memoriesOf(
    rows,
    hits.map(({ id }) => id),
  )
  return hits.flatMap(({ id }) => found.get(id) ?? [])
}
