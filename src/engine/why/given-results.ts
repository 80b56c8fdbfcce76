import { pointersIn } from '../../domain/pointer.ts'
import type { Run } from '../../domain/run.ts'
import { foldProse } from '../../domain/text/statement.ts'
import { findResult, type Result } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findTask } from '../../store/rows/tasks.ts'
import type { Reading } from '../../store/store.ts'
import { findCall } from '../run/calls/find-call.ts'
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
 * The result that a line is from: the one that the line points to, or the only one that quotes all of it. Undefined if none of them
 * proves it.
 */
export function quotedSource(line: string, results: readonly Result[]): Result | undefined {
  const [pointed, more] = pointersIn(line)
  if (pointed !== undefined && more === undefined) return results.find(({ id }) => id === pointed)
  const cited = citation.exec(line)?.[1]
  const statement = withoutMarks(line.replace(citation, ''))
    .replace(/[.;,:!。、]+$/u, '')
    .trim()
  if (countWords(statement) < minQuoted) return undefined
  const possible = results.filter(({ id }) => cited === undefined || id === Number(cited))
  const [source, other] = possible.filter(({ output }) => saysWhole(output, statement))
  return other ? undefined : source
}

/** What a line that quotes a result may end with. */
const citation = /\s[([]?result:(\d{1,15})[)\]]?\.?\s*$/

/** Fewer words may be equal by chance. */
const minQuoted = 5

/** Number of words; of a script without spaces two characters are about one. */
function countWords(text: string): number {
  const words = text.match(/[\p{L}\p{N}\p{M}_]+/gu) ?? []
  return words.reduce((sum, each) => sum + (unspaced.test(each) ? Math.max(1, each.length / 2) : 1), 0)
}

const unspaced = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}/u

/**
 * Whether a text has a statement as a line, a cell or a sentence of its own, sign by sign: one word more or less before or behind
 * it may say the opposite.
 */
function saysWhole(text: string, statement: string): boolean {
  const [first = ''] = statement
  const rest = statement.slice(first.length)
  const spellings = new Set([first, first.toLowerCase(), first.toUpperCase()].map((letter) => letter + rest))
  const paragraphs = text.split(/\n\s*\n|\n(?=\s*(?:[-*+•>|]|#+ |\d{1,3}[.)] ))/u).map(withoutMarks)
  const parts = [...paragraphs, ...text.split('\n').map(withoutMarks)]
  return parts.some((part) => [...spellings].some((spelling) => standsAlone(spelling, part)))
}

function standsAlone(statement: string, text: string): boolean {
  for (let at = text.indexOf(statement); at !== -1; at = text.indexOf(statement, at + 1))
    if (beginning.test(text.slice(Math.max(0, at - 20), at)) && end.test(text.slice(at + statement.length))) return true
  return false
}

/** What stands before a sentence or a cell. */
const beginning = /(?:^|[.;:!?|]\s|[。！？：；(])["'«»「『(\s]{0,5}$/u
/** What stands behind one: no question mark, which would make it another. */
const end = /^["'«»」』)\s]{0,5}(?:$|[,:]$|[.;!]+(?=["'«»)\s]|$)|[|。！]|(?<=\s)\()/u

/** A text on one line without marks of lists, quotes, headings, tables and emphasis, and without case that says nothing. */
function withoutMarks(text: string): string {
  const plain = text
    .replace(/^(?:[>|\s]|#{1,6}\s|[-*+•]\s|\d{1,3}[.)]\s){1,20}/gm, '')
    .replace(/(?<![*_\p{L}\p{N}])(\*{1,3}|_{1,3})(?=[^\s*_])([^*_\n]{1,500})(?<=\S)\1(?![*_\p{L}\p{N}])/gu, '$2')
    .replace(/`|\|\s*$/gm, '')
    .replace(/(?<=\d)\s+(?=[%‰°€$£¥])/gu, '')
  return foldProse(plain)
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
