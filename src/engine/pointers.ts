import type { Label } from '../domain/label.ts'
import { findResult, type Result } from '../store/results.ts'
import { findRun } from '../store/runs.ts'
import type { Reading } from '../store/store.ts'

/** Characters of one result that a brief is given; the rest is read with `read_result`. */
const mostOfOne = 40_000

const pointer = /\[agent_result:(\d{1,15})\]/g

/** A text in which results stand where they were pointed to, or why that cannot be. */
export type Resolved = { text: string; labels: Label[] } | { problems: string[] }

/**
 * Puts results in the place of the pointers to them. Whoever points sees none of it: what one agent found out reaches
 * another through the rows. Only results that the pointing session was told of can be pointed to.
 */
export async function resolvePointers(rows: Reading, text: string, sessionId: string): Promise<Resolved> {
  const ids = [...new Set([...text.matchAll(pointer)].map(([, id]) => Number(id)))]
  const found = new Map<number, string>()
  const labels: Label[] = []
  const problems: string[] = []
  for (const id of ids) {
    const result = await findResult(rows, id)
    const run = result && (await findRun(rows, result.runId))
    if (!result || !run) problems.push(`there is no result ${id}: a result is there when its agent has ended`)
    else if (run.requesterSessionId !== sessionId) problems.push(`result ${id} belongs to another conversation`)
    else {
      found.set(id, `[agent_result:${id}] ${toldOf(result)}:\n${shortened(result)}\n[end of agent_result:${id}]`)
      labels.push(run.label)
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
