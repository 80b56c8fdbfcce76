import type { Millis } from '../domain/clock.ts'
import { UsageError } from '../domain/errors.ts'
import { isUntrusted, type Label } from '../domain/label.ts'
import type { Memory, MemoryDraft } from '../domain/memory.ts'
import { foldStatement } from '../domain/text/statement.ts'
import {
  addScore,
  archiveMemories,
  countMemories,
  findMemory,
  insertMemory,
  lockMemories,
  noteSaidAgain,
  retagMemory,
  supersede,
  unarchiveMemory,
} from '../store/knowledge/memories.ts'
import type { Reading, Tx } from '../store/store.ts'
import { memoriesLike, similarTo } from './similar.ts'

const maxLength = 20_000
/** Memories archived at once when there are too many. */
const archiveBatch = 100

/** Result of storing a memory. */
export interface StoredMemory {
  id: number
  /** Stored text. */
  content: string
  /** Whether the same statement existed already: its score was raised. */
  isMerged: boolean
  /** Memories that it replaced: the given one, and untrusted ones with the same text. They stay readable. */
  superseded: Memory[]
  /** Similar memories, unchanged: the caller should check whether all still hold. If it existed already, those said since. */
  near: Memory[]
}

/**
 * Stores a statement. An equal statement raises the score of the existing one, which counts as said now. Similar ones are kept and reported; only
 * the memory given as `draft.replaces` is replaced.
 */
export async function remember(tx: Tx, draft: MemoryDraft, now: Millis, maxMemories: number): Promise<StoredMemory> {
  const content = checkedContent(draft.content)
  await lockMemories(tx)
  const replaced = draft.replaces === undefined ? undefined : await getChangeableMemory(tx, draft.replaces, draft.label)
  return keep(tx, { ...draft, content }, replaced, now, maxMemories)
}

/** Changes text, tags or keywords of a memory. A new text becomes a new memory that replaces the old one. */
export async function rewrite(
  tx: Tx,
  id: number,
  change: { content?: string; tags?: string[]; keywords?: string[] },
  by: Pick<MemoryDraft, 'source' | 'label' | 'runId' | 'turnId'>,
  now: Millis,
  maxMemories: number,
): Promise<StoredMemory> {
  const old = await getChangeableMemory(tx, id, by.label)
  const tags = change.tags ?? old.tags
  const keywords = change.keywords ?? old.keywords
  const content = change.content === undefined ? old.content : checkedContent(change.content)
  if (content === old.content) {
    await retagMemory(tx, { ...old, tags, keywords })
    return { id, content, isMerged: false, superseded: [], near: [] }
  }
  const { taskId, resultId } = old
  return keep(tx, { ...by, content, tags, keywords, taskId, resultId }, old, now, maxMemories)
}

/**
 * Makes an untrusted memory trusted, because a person vouches for it: a trusted one with the same words and sources
 * replaces it.
 */
export async function trustMemory(tx: Tx, id: number, now: Millis, maxMemories: number): Promise<StoredMemory> {
  const memory = await getUntrustedMemory(tx, id)
  const label: Label = { integrity: 'trusted', sources: memory.label.sources }
  return remember(tx, { ...memory, label, replaces: id }, now, maxMemories)
}

/** Finds an active untrusted memory by id; throws if there is none. */
export async function getUntrustedMemory(rows: Reading, id: number): Promise<Memory> {
  const memory = await getActiveMemory(rows, id)
  if (isUntrusted(memory.label)) return memory
  throw new UsageError(`memory:${id} is already trusted`, 'there is nothing to do', 'already_trusted')
}

async function keep(
  tx: Tx,
  draft: MemoryDraft,
  replaced: Memory | undefined,
  now: Millis,
  maxMemories: number,
): Promise<StoredMemory> {
  const { content } = draft
  const isDraftUntrusted = isUntrusted(draft.label)
  const found = (await memoriesLike(tx, content)).filter(({ id }) => id !== replaced?.id)
  const folded = foldStatement(content)
  const equal = found.filter((each) => foldStatement(each.content) === folded)
  const candidates = replaced?.content === content ? [replaced, ...equal] : equal
  const same = candidates.find((each) => isUntrusted(each.label) === isDraftUntrusted)
  // Untrusted memories with the same text add nothing, and would taint every run that recalls them.
  const untrustedEqual = isDraftUntrusted ? [] : equal.filter((each) => isUntrusted(each.label))
  const superseded = [...(replaced && replaced !== same ? [replaced] : []), ...untrustedEqual]
  const id = same?.id ?? (await insertMemory(tx, draft, now))
  if (same) {
    await addTags(tx, same, draft)
    await noteSaidAgain(tx, id, now)
  }
  for (const older of superseded) await supersede(tx, older.id, id)
  // A new text keeps the score of the old one.
  const gained = replaced && replaced !== same ? replaced.score - 1 : same ? 1 : 0
  if (gained !== 0) await addScore(tx, id, gained)
  if (!same && id % archiveBatch === 0 && (await countMemories(tx)) > maxMemories)
    await archiveMemories(tx, archiveBatch)
  const others = found.filter((each) => each !== same && !untrustedEqual.includes(each))
  // What was said since may be what it takes back.
  const near = similarTo(content, same ? others.filter(({ saidAt }) => saidAt > same.saidAt) : others)
  return { id, content: same?.content ?? content, isMerged: same !== undefined, superseded, near }
}

/**
 * Finds a memory for a change and moves it out of the archive. Throws if an untrusted run would change a trusted memory.
 */
export async function getChangeableMemory(tx: Tx, id: number, by: Label): Promise<Memory> {
  await lockMemories(tx)
  const memory = await getActiveMemory(tx, id)
  if (isUntrusted(by) && !isUntrusted(memory.label))
    throw new UsageError(
      `memory:${id} is trusted, and this session contains untrusted content`,
      'store it as a new memory; the user can change this one: heddle memory edit',
      'not_trusted',
    )
  await unarchiveMemory(tx, id)
  return memory
}

/** Trims the text of a memory; throws if it is empty or too long. */
export function checkedContent(text: string): string {
  const content = text.trim()
  if (content === '') throw new UsageError('there is nothing to remember', 'write it as a sentence', 'empty_memory')
  if (content.length > maxLength)
    throw new UsageError(
      `a memory has at most ${maxLength} characters`,
      'keep what matters, and say where the rest is',
      'long_memory',
    )
  return content
}

/** Finds an active memory by id; throws if it is missing, forgotten or replaced. */
export async function getActiveMemory(rows: Reading, id: number): Promise<Memory> {
  const memory = await findMemory(rows, id)
  if (!memory) throw new UsageError(`there is no memory ${id}`, 'heddle memory lists them', 'not_found')
  if (memory.forgottenAt !== null)
    throw new UsageError(`memory:${id} was forgotten`, 'heddle memory lists them', 'forgotten')
  if (memory.supersededBy !== null)
    throw new UsageError(
      `memory:${id} was replaced by memory:${memory.supersededBy}`,
      `use that one: heddle show memory:${memory.supersededBy}`,
      'superseded',
    )
  return memory
}

/** Adds tags and keywords to an existing memory. */
async function addTags(tx: Tx, same: Memory, draft: MemoryDraft): Promise<void> {
  const tags = [...new Set([...same.tags, ...(draft.tags ?? [])])]
  const keywords = [...new Set([...same.keywords, ...(draft.keywords ?? [])])]
  if (tags.length > same.tags.length || keywords.length > same.keywords.length)
    await retagMemory(tx, { ...same, tags, keywords })
}
