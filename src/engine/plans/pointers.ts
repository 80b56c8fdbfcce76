import type { Label } from '../../domain/label.ts'
import { pointersIn, resultPointer } from '../../domain/pointer.ts'
import type { Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import type { Result } from '../../store/rows/results.ts'
import type { Reading } from '../../store/store.ts'
import { lossNote, lostByResult } from '../files/lost-writes.ts'
import { resultFor } from '../turns/ancestry.ts'
import { fairShares } from './brief-size.ts'

/** Max bytes of one result in a brief; the rest is read with `read_result`. */
const maxOfOne = 40_000

/** A text with its pointers replaced by results, or why that failed. */
type Resolved = { text: string; labels: Label[] } | { problems: string[] }

/**
 * Replaces pointers by the results they name. The agent that wrote the pointer never sees the results: they go from one
 * agent to another through the rows. Only results requested by this session or its ancestors resolve.
 */
export async function resolvePointers(
  rows: Reading,
  text: string,
  session: Session,
  room = Number.POSITIVE_INFINITY,
): Promise<Resolved> {
  const found: { result: Result; by: Run; lost: string }[] = []
  const problems: string[] = []
  for (const id of pointersIn(text)) {
    const made = await resultFor(rows, [session], id)
    if (made) found.push({ ...made, lost: lossNote(await lostByResult(rows, made.result, made.by)) })
    else problems.push(`there is no result ${id} here: a result is there when its agent has ended`)
  }
  if (problems.length > 0) return { problems }
  const texts = truncateOutputs(
    found.map(({ result }) => result),
    room - Buffer.byteLength(text),
    maxOfOne,
  )
  const replacements = new Map(
    found.map(({ result, lost }, at) => [
      result.id,
      [
        `[agent_result:${result.id}] ${resultCaption(result)}:`,
        ...(lost === '' ? [] : [lost]),
        ...[texts[at], `[end of agent_result:${result.id}]`],
      ].join('\n'),
    ]),
  )
  return {
    text: text.replace(resultPointer, (_, id) => replacements.get(Number(id)) ?? ''),
    labels: found.map(({ by }) => by.label),
  }
}

/** Outputs cut to fit into `room` bytes together and `maxBytes` each; a cut output says how to read on. */
export function truncateOutputs(results: readonly Result[], room: number, maxBytes: number): string[] {
  const sizes = results.map(({ output }) => Math.min(maxBytes, Buffer.byteLength(output)))
  const shares = fairShares(sizes, room)
  return results.map((result, at) => truncateOutput(result, shares[at] ?? 0))
}

/** Agent and status of a result. */
function resultCaption({ skillUsed, status }: Pick<Result, 'skillUsed' | 'status'>): string {
  return `@${skillUsed ?? 'general'} ${status}`
}

function truncateOutput({ id, output }: Pick<Result, 'id' | 'output'>, bytes: number): string {
  const all = Buffer.byteLength(output)
  if (all <= bytes) return output
  const kept = Math.floor((bytes / all) * output.length)
  const more = output.length - kept
  return `${output.slice(0, kept).toWellFormed()}\n… [cut: ${more} more characters; continue with read_result id=${id} offset=${kept}]`
}
