import type { Run } from '../domain/run.ts'
import { findResult, type Result } from '../store/results.ts'
import { findRun } from '../store/runs.ts'
import type { Reading } from '../store/store.ts'
import { findTask } from '../store/tasks.ts'
import { callNamed } from './call-named.ts'
import { pointersIn } from './pointers.ts'
import { inputsOf } from './run-inputs.ts'

/**
 * Results that a run was given with its work or was woken by, in their order. What a brief merely quotes does not count:
 * it must be a result of a task that the run's task needs, or one that its brief or whoever began it pointed to.
 */
export async function givenTo(rows: Reading, run: Run): Promise<number[]> {
  const items = await inputsOf(rows, run)
  const heard = items.flatMap(({ resultId }) => resultId ?? [])
  if (heard.length > 0) return heard
  const told = pointersIn(items.map(({ content }) => content).join('\n'))
  if (told.length === 0) return []
  if (run.taskId === null) {
    const pointed = await pointedTo(rows, run)
    return pointed ? told.filter((id) => pointed.includes(id)) : told
  }
  const task = await findTask(rows, run.taskId)
  const [needed, pointed] = [task?.dependsOn ?? [], pointersIn(task?.context ?? '')]
  const results = await Promise.all(told.map((id) => findResult(rows, id)))
  return results.flatMap((result) =>
    result && (needed.includes(result.taskId ?? 0) || pointed.includes(result.id)) ? result.id : [],
  )
}

/** What the call that began a run points to; undefined when the call is not kept. */
async function pointedTo(rows: Reading, { parentRunId, toolCallId }: Run): Promise<number[] | undefined> {
  if (parentRunId === null || toolCallId === null) return undefined
  const call = await callNamed(rows, parentRunId, toolCallId)
  return call && pointersIn(JSON.stringify(call.input ?? null))
}

/**
 * The result that a line most likely comes from: the one that holds it word for word, else the one with the most of its
 * words that the others do not have. Undefined when none stands out: a guess would be worse than nothing.
 */
export function sourceOf(line: string, results: readonly Result[]): Result | undefined {
  const plain = plainly(line)
  if (plain === '') return undefined
  const verbatim = results.filter(({ output }) => plain.length >= shortestQuote && plainly(output).includes(plain))
  if (verbatim.length === 1) return verbatim[0]
  const words = [...new Set(plain.match(/[\p{L}\p{N}_./-]{2,}/gu) ?? [])]
  const among = verbatim.length > 0 ? verbatim : results
  const held = among.map(({ output }) => new Set(plainly(output).match(/[\p{L}\p{N}_./-]{2,}/gu)))
  const scored = among.map((result, at) => {
    const own = words.filter((word) => held[at]?.has(word))
    const score = own.reduce((sum, word) => sum + 1 / held.filter((set) => set.has(word)).length, 0)
    return { result, score, share: own.length / Math.max(1, words.length) }
  })
  const [best, next] = scored.sort((a, b) => b.score - a.score)
  return best && best.share >= leastShare && best.score > (next?.score ?? 0) ? best.result : undefined
}

const shortestQuote = 8
/** Of a line's words, those that a result must hold to count as its source. */
const leastShare = 0.4

/** Without marks of headings, lists and emphasis, and with single blanks. */
function plainly(text: string): string {
  return text
    .replace(/[`*_#>|~]+/g, ' ')
    .replace(/\s+/gu, ' ')
    .replace(/^[\s\-+]+/, '')
    .trim()
    .toLowerCase()
}

/** The runs that made them, where they are still kept. */
export async function makersOf(rows: Reading, ids: readonly number[]): Promise<{ result: Result; run?: Run }[]> {
  const found: { result: Result; run?: Run }[] = []
  for (const id of ids) {
    const result = await findResult(rows, id)
    const run = result && (await findRun(rows, result.runId))
    if (result) found.push({ result, ...(run && { run }) })
  }
  return found
}
