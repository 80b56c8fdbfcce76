import type { Label } from '../domain/label.ts'
import type { Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import type { Result } from '../store/results.ts'
import type { Reading } from '../store/store.ts'
import { resultFor } from './ancestry.ts'
import { sharesOf } from './room-for.ts'

/** Bytes of one result that a brief is given at most; the rest is read with `read_result`. */
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
export async function resolvePointers(
  rows: Reading,
  text: string,
  session: Session,
  room = Number.POSITIVE_INFINITY,
): Promise<Resolved> {
  const found: { result: Result; by: Run }[] = []
  const problems: string[] = []
  for (const id of pointersIn(text)) {
    const made = await resultFor(rows, [session], id)
    if (made) found.push(made)
    else problems.push(`there is no result ${id} here: a result is there when its agent has ended`)
  }
  if (problems.length > 0) return { problems }
  const texts = shortenedAll(
    found.map(({ result }) => result),
    room - Buffer.byteLength(text),
    mostOfOne,
  )
  const told = new Map(
    found.map(({ result }, at) => [
      result.id,
      `[agent_result:${result.id}] ${toldOf(result)}:\n${texts[at]}\n[end of agent_result:${result.id}]`,
    ]),
  )
  return {
    text: text.replace(pointer, (_, id) => told.get(Number(id)) ?? ''),
    labels: found.map(({ by }) => by.label),
  }
}

/** Outputs that fit together into so many bytes, none with more than `most`; each that is cut says how to read on. */
export function shortenedAll(results: readonly Result[], room: number, most: number): string[] {
  const sizes = results.map(({ output }) => Math.min(most, Buffer.byteLength(output)))
  const shares = sharesOf(sizes, room)
  return results.map((result, at) => shortened(result, shares[at] ?? 0))
}

/** Who it is from and how that ended. */
export function toldOf({ skillUsed, status }: Pick<Result, 'skillUsed' | 'status'>): string {
  return `@${skillUsed ?? 'general'} ${status}`
}

/** An output, cut where it has more than so many bytes. */
function shortened({ id, output }: Pick<Result, 'id' | 'output'>, bytes: number): string {
  const all = Buffer.byteLength(output)
  if (all <= bytes) return output
  const most = Math.floor((bytes / all) * output.length)
  const more = output.length - most
  return `${output.slice(0, most).toWellFormed()}\n… [cut: ${more} more characters; read on with read_result id=${id} offset=${most}]`
}
