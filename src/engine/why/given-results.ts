import { pointersIn } from '../../domain/pointer.ts'
import type { Run } from '../../domain/run.ts'
import { findResult, type Result } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findTask } from '../../store/rows/tasks.ts'
import type { Reading } from '../../store/store.ts'
import { findCall } from '../run/find-call.ts'
import { inputsOf } from '../run/run-inputs.ts'

/**
 * Results that a run was given in its brief or was woken by, in order. A quoted pointer does not count: the result must be
 * of a task that the run's task depends on, or be pointed to by its brief or by the call that started it.
 */
export async function resultsGivenTo(rows: Reading, run: Run): Promise<number[]> {
  const items = await inputsOf(rows, run)
  const delivered = items.flatMap(({ resultId }) => resultId ?? [])
  if (delivered.length > 0) return delivered
  const mentioned = pointersIn(items.map(({ content }) => content).join('\n'))
  if (mentioned.length === 0) return []
  if (run.taskId === null) {
    const pointers = await pointersOfCall(rows, run)
    return pointers ? mentioned.filter((id) => pointers.includes(id)) : mentioned
  }
  const task = await findTask(rows, run.taskId)
  const [dependencies, pointers] = [task?.dependsOn ?? [], pointersIn(task?.context ?? '')]
  const results = await Promise.all(mentioned.map((id) => findResult(rows, id)))
  return results.flatMap((result) =>
    result && (dependencies.includes(result.taskId ?? 0) || pointers.includes(result.id)) ? result.id : [],
  )
}

/** Results that the call which started a run points to; undefined if the call is not stored. */
async function pointersOfCall(rows: Reading, { parentRunId, toolCallId }: Run): Promise<number[] | undefined> {
  if (parentRunId === null || toolCallId === null) return undefined
  const call = await findCall(rows, parentRunId, toolCallId)
  return call && pointersIn(JSON.stringify(call.input ?? null))
}

/**
 * The result that a line most likely comes from: the one that contains it verbatim, else the one with the most of its words
 * that the others lack. Undefined when none stands out: a guess would be worse than nothing.
 */
export function likelySource(line: string, results: readonly Result[]): Result | undefined {
  const plain = stripMarkup(line)
  if (plain === '') return undefined
  const verbatim = results.filter(({ output }) => plain.length >= minQuote && stripMarkup(output).includes(plain))
  if (verbatim.length === 1) return verbatim[0]
  const words = [...new Set(plain.match(/[\p{L}\p{N}_./-]{2,}/gu) ?? [])]
  const among = verbatim.length > 0 ? verbatim : results
  const held = among.map(({ output }) => new Set(stripMarkup(output).match(/[\p{L}\p{N}_./-]{2,}/gu)))
  const scored = among.map((result, at) => {
    const own = words.filter((word) => held[at]?.has(word))
    const score = own.reduce((sum, word) => sum + 1 / held.filter((set) => set.has(word)).length, 0)
    return { result, score, share: own.length / Math.max(1, words.length) }
  })
  const [best, next] = scored.sort((a, b) => b.score - a.score)
  return best && best.share >= minShare && best.score > (next?.score ?? 0) ? best.result : undefined
}

const minQuote = 8
/** Min share of a line's words that a result must contain to count as its source. */
const minShare = 0.4

/** Text without heading, list and emphasis marks, in lower case, with single spaces. */
function stripMarkup(text: string): string {
  return text
    .replace(/[`*_#>|~]+/g, ' ')
    .replace(/\s+/gu, ' ')
    .replace(/^[\s\-+]+/, '')
    .trim()
    .toLowerCase()
}

/** Results with the runs that made them, if those are still stored. */
export async function resultsWithRuns(rows: Reading, ids: readonly number[]): Promise<{ result: Result; run?: Run }[]> {
  const found: { result: Result; run?: Run }[] = []
  for (const id of ids) {
    const result = await findResult(rows, id)
    const run = result && (await findRun(rows, result.runId))
    if (result) found.push({ result, ...(run && { run }) })
  }
  return found
}
