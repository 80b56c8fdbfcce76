import type { Millis } from '../domain/clock.ts'
import { Misuse } from '../domain/errors.ts'
import { isUntrusted, type Label } from '../domain/label.ts'
import type { Memory, MemoryDraft } from '../domain/memory.ts'
import { foldStatement, looksAlike } from '../domain/statement.ts'
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

/** Search hits that a new statement is compared with: the same one shares all words and is among the first. */
const maxCompared = 50
/** Of those that look alike, so many are pointed out. */
const maxNear = 12
const longestMemory = 20_000
/** When there are too many, so many go at once: making room is not done for each. */
const archivedAtOnce = 100

/** What became of something that was to be remembered. */
export interface Remembered {
  id: number
  /** The text that is kept under this id. */
  content: string
  /** The same statement was there already: it counts more now. */
  isMerged: boolean
  /** Those that it replaced: the one that was named, and the same words of strangers. They stay readable. */
  superseded: Memory[]
  /** Those that look alike and stay as they are: whoever stores it should look whether all hold. */
  near: Memory[]
}

/**
 * Keeps a statement. The same statement again strengthens the one that is there. Nothing else is decided by words: what
 * looks alike is kept and pointed out, and only the memory that `draft.replaces` names gives way.
 */
export async function remember(tx: Tx, draft: MemoryDraft, now: Millis, most: number): Promise<Remembered> {
  const content = checkedContent(draft.content)
  await holdMemories(tx)
  const replaced = draft.replaces === undefined ? undefined : await mustChange(tx, draft.replaces, draft.label)
  return keep(tx, { ...draft, content }, replaced, now, most)
}

/** Gives a memory new words, tags or keywords: new words replace the old ones, which stay readable. */
export async function rewrite(
  tx: Tx,
  id: number,
  change: { content?: string; tags?: string[]; keywords?: string[] },
  by: Pick<MemoryDraft, 'source' | 'label' | 'runId' | 'turnId'>,
  now: Millis,
  most: number,
): Promise<Remembered> {
  const old = await mustChange(tx, id, by.label)
  const tags = change.tags ?? old.tags
  const keywords = change.keywords ?? old.keywords
  const content = change.content === undefined ? old.content : checkedContent(change.content)
  if (content === old.content) {
    await widenMemory(tx, { ...old, tags, keywords })
    return { id, content, isMerged: false, superseded: [], near: [] }
  }
  const { taskId, resultId } = old
  return keep(tx, { ...by, content, tags, keywords, taskId, resultId }, old, now, most)
}

async function keep(
  tx: Tx,
  draft: MemoryDraft,
  replaced: Memory | undefined,
  now: Millis,
  most: number,
): Promise<Remembered> {
  const { content } = draft
  const isStrange = isUntrusted(draft.label)
  const found = (await searchLike(tx, content)).filter(({ id }) => id !== replaced?.id)
  const folded = foldStatement(content)
  const equal = found.filter((each) => foldStatement(each.content) === folded)
  const again = replaced?.content === content ? [replaced, ...equal] : equal
  const same = again.find((each) => isUntrusted(each.label) === isStrange)
  // The same words of strangers say nothing that the trusted ones do not, and would make whoever is shown them untrusted.
  const strangers = isStrange ? [] : equal.filter((each) => isUntrusted(each.label))
  const superseded = [...(replaced && replaced !== same ? [replaced] : []), ...strangers]
  const id = same?.id ?? (await insertMemory(tx, draft, now))
  if (same) await widen(tx, same, draft)
  for (const older of superseded) await supersede(tx, older.id, id)
  // What proved right stays so in new words.
  const gained = replaced && replaced !== same ? replaced.score - 1 : same ? 1 : 0
  if (gained !== 0) await addScore(tx, id, gained)
  if (!same && id % archivedAtOnce === 0 && (await countMemories(tx)) > most) await archiveMemories(tx, archivedAtOnce)
  if (same) return { id, content: same.content, isMerged: true, superseded, near: [] }
  const near = found.filter((each) => !strangers.includes(each) && looksAlike(each.content, content)).slice(0, maxNear)
  return { id, content, isMerged: false, superseded, near }
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

/** Adds tags and keywords to one that is there already. */
async function widen(tx: Tx, same: Memory, draft: MemoryDraft): Promise<void> {
  const tags = [...new Set([...same.tags, ...(draft.tags ?? [])])]
  const keywords = [...new Set([...same.keywords, ...(draft.keywords ?? [])])]
  if (tags.length > same.tags.length || keywords.length > same.keywords.length)
    await widenMemory(tx, { ...same, tags, keywords })
}

async function searchLike(rows: Reading, content: string): Promise<Memory[]> {
  const total = await newestMemory(rows)
  if (total === undefined) return []
  const hits = await searchMemories(rows, wordsIn(content), total, maxCompared)
  const found = await memoriesOf(
    rows,
    hits.map(({ id }) => id),
  )
  return hits.flatMap(({ id }) => found.get(id) ?? [])
}
