import type { ForgetResult } from '../api/views/memory.ts'
import type { Millis } from '../domain/clock.ts'
import { UsageError } from '../domain/errors.ts'
import { type Memory, trustTool } from '../domain/memory.ts'
import { mayTell } from '../domain/text/retelling.ts'
import { alikeTo } from '../domain/text/statement.ts'
import { findMemory, hiddenMemories, lockMemories, supersededBy, wipeMemory } from '../store/knowledge/memories.ts'
import { runsRecallingMemory } from '../store/knowledge/memory-recalls.ts'
import { addBasis, allNarratives, narrativesBasedOn, narrativesCiting } from '../store/knowledge/narrative-basis.ts'
import { wipeChanges } from '../store/rows/approvals.ts'
import type { Reading, Tx } from '../store/store.ts'
import { similarMemories } from './describe.ts'

/**
 * Forgets a memory, also a replaced one, and reports what was based on it and what still says something similar. The
 * memories that it replaced stay readable unless `older` is set.
 */
export async function forget(
  tx: Tx,
  id: number,
  now: Millis,
  { older = false } = {},
): Promise<Omit<ForgetResult, 'notes'>> {
  await lockMemories(tx)
  const memory = await getKnownMemory(tx, id)
  const before = await replacedMemoriesOf(tx, id)
  const replaced = before.map((each) => each.id)
  const forgotten = [id, ...(older ? replaced : [])]
  const near = await similarMemories(tx, memory, [id, ...replaced], await hiddenTwins(tx, memory.content))
  await bindNarratives(tx, [memory, ...(older ? before : [])])
  const narratives = await Promise.all([
    ...forgotten.map((each) => narrativesBasedOn(tx, each)),
    ...(older ? [] : replaced.map((each) => narrativesCiting(tx, each))),
  ])
  for (const each of forgotten) {
    await wipeMemory(tx, each, now)
    // The question whether it is to be trusted has its words.
    await wipeChanges(tx, trustTool, { id: each })
  }
  return {
    id,
    narratives: sortedUnique(narratives),
    older: older ? replaced : [],
    kept: older ? [] : replaced,
    runs: sortedUnique(await Promise.all(forgotten.map((each) => runsRecallingMemory(tx, each)))),
    near,
  }
}

/** Archived and replaced memories that may say the same. */
async function hiddenTwins(rows: Reading, content: string): Promise<Memory[]> {
  const [isAlike, isIn] = [alikeTo(content), mayTell(content, { ofAnyone: true })]
  const twins: Memory[] = []
  for await (const each of hiddenMemories(rows)) if (isAlike(each.content) || isIn(each.content)) twins.push(each)
  return twins
}

/** Lets narratives that may tell memories without having seen them rest on them: without their words nothing would show that. */
async function bindNarratives(tx: Tx, memories: readonly Memory[]): Promise<void> {
  const told = memories.map(({ id, content }) => ({ id, isIn: mayTell(content) }))
  for await (const { id: narrativeId, topic, summary } of allNarratives(tx))
    for (const { id, isIn } of told) if (isIn(`${topic ?? ''}\n${summary}`)) await addBasis(tx, narrativeId, id)
}

async function getKnownMemory(rows: Reading, id: number): Promise<Memory> {
  const memory = await findMemory(rows, id)
  if (!memory) throw new UsageError(`there is no memory ${id}`, 'heddle memory lists them', 'not_found')
  if (memory.forgottenAt !== null)
    throw new UsageError(`memory:${id} was forgotten`, 'heddle memory lists them', 'forgotten')
  return memory
}

/** All memories that it replaced, directly or not, that are not forgotten. */
async function replacedMemoriesOf(rows: Reading, id: number): Promise<Memory[]> {
  const found: Memory[] = []
  for (let replaced = [id]; replaced.length > 0; ) {
    const next = (await Promise.all(replaced.map((each) => supersededBy(rows, each)))).flat()
    found.push(...next.filter(({ forgottenAt }) => forgottenAt === null))
    replaced = next.map((memory) => memory.id)
  }
  return found
}

function sortedUnique<T extends number | string>(lists: T[][]): T[] {
  return [...new Set(lists.flat())].sort((a, b) => (a < b ? -1 : 1))
}
