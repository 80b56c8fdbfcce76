import { pointersIn } from '../../domain/pointer.ts'
import type { Run } from '../../domain/run.ts'
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
  const words = results.length === 0 ? [] : lowerCaseWords(line)
  const shortest = words.length > maxWords ? words.length : 1
  const least = Math.max(minQuoted, minShare * countWords(words))
  const texts = results.map((result) => ({ result, text: ` ${lowerCaseWords(result.output).join(' ')} ` }))
  for (let length = words.length; length >= shortest; length--) {
    const quotes = wordSequences(words, length).filter((quote) => countWords(quote) >= least)
    // No part of them is long enough, either.
    if (quotes.length === 0) return undefined
    const quoted = texts.filter(({ text }) => quotes.some((quote) => text.includes(` ${quote.join(' ')} `)))
    if (quoted.length > 0) return quoted.length === 1 ? quoted[0]?.result : undefined
  }
  return undefined
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

/** Words without which a line would say the opposite, or another fact: negations, numbers, days and months. */
const decisive = new Set(
  (
    'not no never none nor neither cannot without nobody nothing nowhere nicht nichts kein keine keinen keiner keinem keines nie ' +
    'niemals niemand ohne weder pas jamais sans rien aucun aucune personne nunca ni sin nada nadie non nessuno niente geen niet ' +
    'one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million ' +
    'zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert tausend million millionen ' +
    'first second third fourth fifth erste ersten zweite zweiten dritte dritten deux trois quatre cinq dos tres cuatro cinco ' +
    'yesterday today tomorrow gestern heute morgen may'
  ).split(' '),
)

/** Sequences of so many words that leave out nothing decisive: without it the line would state another fact. */
function wordSequences(words: readonly string[], length: number): string[][] {
  const isDecisive = words.map((each, at) => {
    const isNumber = /\d/.test(each) && !/^result:\d+$/.test(each)
    // Its unit is a part of a number.
    const isUnit = /\d/.test(words[at - 1] ?? '') && /^\p{L}{1,3}$/u.test(each)
    return (
      isNumber ||
      isUnit ||
      /n['’]t$/.test(each) ||
      decisive.has(each) ||
      spellingsIn(each).some((form) => timeWords.has(form))
    )
  })
  const starts = Array.from({ length: words.length - length + 1 }, (_, at) => at)
  return starts
    .filter((at) => !isDecisive.some((is, place) => is && (place < at || place >= at + length)))
    .map((at) => words.slice(at, at + length))
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
