import { pointersIn } from '../../domain/pointer.ts'
import type { Run } from '../../domain/run.ts'
import { numberWords } from '../../domain/text/number-words.ts'
import { timeWords } from '../../domain/text/time-words.ts'
import { spellingsIn } from '../../domain/text/words.ts'
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
 * The result that a line is from: the one that the line points to, or the only one with the longest passage of the line. Undefined
 * if none of them proves it.
 */
export function quotedSource(line: string, results: readonly Result[]): Result | undefined {
  const [pointed, more] = pointersIn(line)
  if (pointed !== undefined && more === undefined) return results.find(({ id }) => id === pointed)
  if (results.length === 0) return undefined
  const words = lowerCaseWords(line)
  const shortest = shortestQuotes(words)
  const lengths = results.map(({ output }) => quotedLength(words, shortest, ` ${lowerCaseWords(output).join(' ')} `))
  const longest = Math.max(...lengths)
  const [source, other] = results.filter((_, at) => longest > 0 && lengths[at] === longest)
  return other ? undefined : source
}

/** Number of words of the longest passage of a line that a text quotes; 0 if there is none. */
function quotedLength(words: readonly string[], shortest: readonly Quote[], text: string): number {
  let longest = 0
  for (const { from, to } of shortest)
    for (let end = Math.max(to, from + longest + 1); end <= words.length; end++) {
      if (!text.includes(` ${words.slice(from, end).join(' ')} `)) break
      longest = end - from
    }
  return longest
}

/** Fewer words may be equal by chance. */
const minQuoted = 5
/** A line with more words of its own says something else. */
const minShare = 0.75
/** A line with more words, such as a minified file, is compared only as a whole: it has too many passages. */
const maxWords = 200

/** Number of words; of a script without spaces two characters are about one. */
function countWords(words: readonly string[]): number {
  return words.reduce((sum, each) => sum + (unspaced.test(each) ? Math.max(1, each.length / 2) : 1), 0)
}

const unspaced = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}/u

/** Words without which a line would say the opposite, or another fact, as without a number, a day or a month. */
const decisive = new Set(
  (
    'not no never none nor neither cannot without nobody nothing nowhere nicht nichts kein keine keinen keiner keinem keines nie ' +
    'niemals niemand ohne weder pas jamais sans rien aucun aucune personne nunca ni sin nada nadie non nessuno niente geen niet ' +
    'yesterday today tomorrow gestern heute morgen may'
  ).split(' '),
)

/** A part of a line that may be a quote: from one of its words to before another. */
interface Quote {
  from: number
  to: number
}

/**
 * The shortest passage from each place of a line that is long enough to be a quote and leaves out nothing decisive: without it the line
 * would state another fact.
 */
function shortestQuotes(words: readonly string[]): Quote[] {
  if (words.length > maxWords) return [{ from: 0, to: words.length }]
  const least = Math.max(minQuoted, minShare * countWords(words))
  const decisiveAt = [...words.keys()].filter((at) => isDecisive(words, at))
  const [first = words.length, last = -1] = [decisiveAt[0], decisiveAt.at(-1)]
  const quotes: Quote[] = []
  for (let from = 0; from <= first; from++) {
    let to = Math.max(from, last + 1)
    while (to < words.length && countWords(words.slice(from, to)) < least) to++
    // Those from later places are even shorter.
    if (countWords(words.slice(from, to)) < least) break
    quotes.push({ from, to })
  }
  return quotes
}

function isDecisive(words: readonly string[], at: number): boolean {
  const [before = '', each = ''] = [words[at - 1], words[at]]
  const isNumber = /\d/.test(each) && !/^result:\d+$/.test(each)
  // Its unit is a part of a number.
  const isUnit = /\d/.test(before) && /^\p{L}{1,3}$/u.test(each)
  const isFact = () => spellingsIn(each).some((form) => numberWords.has(form) || timeWords.has(form))
  return isNumber || isUnit || /n['’]t$/.test(each) || decisive.has(each) || isFact()
}

/** Signs that change what the next word says: comparisons, a negation, a currency, the sign of a number. */
const signBefore = String.raw`(?:[<>≤≥≠]=?|(?<!=)[=!]==?(?!=)|=>|&&|\|\||!(?=[\p{L}_(])|[$€£¥]|(?<![\p{L}\p{N}])[-−+±~](?=\d))[\s(]{0,3}`
/** Signs that change the word before: a unit or a currency, C++ and C#. */
const signAfter = String.raw`(?:\s?[%‰°€$£¥]|\+\+|#)(?![\p{L}\p{N}])`
const word = new RegExp(
  String.raw`(?:${signBefore}){0,3}[\p{L}\p{N}_]+(?:[./:'’-][\p{L}\p{N}_]+)*(?:${signAfter})?`,
  'gu',
)

/** Words and numbers in lower case with the signs that change what they say, without other punctuation and marks of quotes. */
function lowerCaseWords(text: string): string[] {
  const plain = text.toLowerCase().replace(/^ {0,3}>[> ]{0,9} /gm, '')
  return (plain.match(word) ?? []).map((found) => found.replace(/[\s(]+/g, '').replace('’', "'"))
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
