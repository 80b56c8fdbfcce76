import { hash } from 'node:crypto'
import type { Passage } from '../../domain/text/passage.ts'

/** Max characters of the passages that one transaction inserts: a few milliseconds of work. */
const maxCharacters = 4000

/** A passage with a digest that identifies it across changes of its file. */
export interface DigestedPassage extends Passage {
  digest: string
}

export function withDigest(passage: Passage): DigestedPassage {
  const { heading, text } = passage
  return { ...passage, digest: hash('sha256', JSON.stringify([heading, text])).slice(0, 32) }
}

interface Differences {
  removed: number[]
  moved: { id: number; line: number }[]
  added: DigestedPassage[]
}

/** Compares stored with current passages; duplicates are matched in order. */
export function passageChanges(
  stored: readonly { id: number; line: number; digest: string }[],
  wanted: readonly DigestedPassage[],
): Differences {
  const remaining = Map.groupBy(stored, ({ digest }) => digest)
  const changes: Differences = { removed: [], moved: [], added: [] }
  for (const passage of wanted) {
    const same = remaining.get(passage.digest)?.shift()
    if (!same) changes.added.push(passage)
    else if (same.line !== passage.line) changes.moved.push({ id: same.id, line: passage.line })
  }
  changes.removed = [...remaining.values()].flat().map(({ id }) => id)
  return changes
}

/** Passages that are inserted in one transaction, at least one. */
export function firstBatch(passages: readonly DigestedPassage[]): DigestedPassage[] {
  let room = maxCharacters
  return passages.filter(({ text }) => {
    const fits = room > 0
    room -= text.length
    return fits
  })
}
