import type { Label } from '../domain/label.ts'
import type { Session } from '../domain/session.ts'
import type { Result } from '../store/results.ts'
import type { Reading } from '../store/store.ts'
import { resultFor } from './ancestry.ts'

/** Characters of one result that a brief is given; the rest is read with `read_result`. */
const mostOfOne = 40_000

const pointer = /\[agent_result:(\d{1,15})\]/g

/** A text in which results stand where they were pointed to, or why that cannot be. */
export type Resolved = { text: string; labels: Label[] } | { problems: string[] }

/** The results that a text points to, each once. */
export function pointersIn(text: string): number[] {
  return [...new Set([...text.matchAll(pointer)].map(([, id]) => Number(id)))]
}

/**
 * Puts results in the place of the pointers to them. Whoever points sees none of it: what one agent found out reaches
 * another through the rows. Only results that the pointing session or its ancestors asked for can be pointed to.
 */
export async function resolvePointers(rows: Reading, text: string, session: Session): Promise<Resolved> {
  const found = new Map<number, string>()
  const labels: Label[] = []
  const problems: string[] = []
  for (const id of pointersIn(text)) {
    const made = await resultFor(rows, [session], id)
    if (!made) problems.push(`there is no result ${id} here: a result is there when its agent has ended`)
    else {
      const { result, by } = made
      found.set(id, `[agent_result:${id}] ${toldOf(result)}:\n${shortened(result)}\n[end of agent_result:${id}]`)
      labels.push(by.label)
    }
  }
  if (problems.length > 0) return { problems }
  return { text: text.replace(pointer, (_, id) => found.get(Number(id)) ?? ''), labels }
}

/** Who it is from and how that ended. */
export function toldOf({ skillUsed, status }: Pick<Result, 'skillUsed' | 'status'>): string {
  return `@${skillUsed ?? 'general'} ${status}`
}

/** An output, cut where it is longer than anybody should be given at once. */
export function shortened({ id, output }: Pick<Result, 'id' | 'output'>, most = mostOfOne): string {
  if (output.length <= most) return output
  const more = output.length - most
  return `${output.slice(0, most).toWellFormed()}\n… [cut: ${more} more characters; read on with read_result id=${id} offset=${most}]`
}
