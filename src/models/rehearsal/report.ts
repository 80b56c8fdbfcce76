import { count } from './counted.ts'
import { readNumbers } from './facts.ts'
import { unquoted } from './find.ts'
import { unlabelled } from './label.ts'
import type { ResultBefore } from './order.ts'
import type { Seen, Step } from './seen.ts'
import { inWords, type Numbers, sumOf } from './tally.ts'
import { written } from './write.ts'

/** Writes a report of what the tasks before have counted: nothing in it comes from anywhere else. */
export function writeReport(seen: Seen, heard: RegExpExecArray): Step {
  const path = unquoted(heard[1] ?? '')
  if (seen.before.length === 0)
    return {
      text: `I did not write ${path}: there are no results of tasks before. Give me the words: write ${path}: …`,
    }
  const sections = sectionsOf(seen)
  const counted = sections.flatMap(({ numbers }) => (numbers ? [numbers] : []))
  const missing = sections.filter(({ numbers }) => !numbers).map(({ name }) => name)
  const total = `${count(counted.length, 'part')}: ${inWords(sumOf(counted))}`
  const content = [
    '# Report',
    '',
    `${total}.`,
    ...missing.map((name) => `Missing: ${name}`),
    ...[...seen.brief.matchAll(/^Say also: (.+)$/gm)].map(([, words]) => words ?? ''),
    ...sections.flatMap(({ name, lines }) => ['', `## ${name}`, '', ...lines.map((line) => `- ${line}`)]),
    '',
    `REHEARSAL: written by a script from ${sourcesOf(seen.before)}. It counts and quotes; it does not judge.`,
    '',
  ].join('\n')
  const step = written(seen, path, content, total.replace(': ', ', '))
  if ('calls' in step || !step.text.startsWith('wrote ')) return step
  const gaps = missing.length > 0 ? ` Missing: ${missing.join(', ')}.` : ''
  return { text: `${step.text}${gaps}\n\nFiles:\n${path}` }
}

interface Section {
  name: string
  lines: string[]
  /** Where the result holds them. */
  numbers?: Numbers
}

/** One for each part that the brief names, in its order, then one for every other result. */
function sectionsOf({ brief, before }: Seen): Section[] {
  const titled = new Map(before.map((result) => [result.title.replace(/^summarise /, ''), result]))
  const named = [...brief.matchAll(/^- (.+)$/gm)].map(([, name = '']) => name)
  const names = [...new Set([...named, ...titled.keys()])]
  return names.map((name) => sectionOf(name, titled.get(name)))
}

function sectionOf(name: string, result: ResultBefore | undefined): Section {
  if (!result) return { name, lines: ['there is no result of its task, so nothing of it is counted here'] }
  const [first = '', ...rest] = wholeLines(unlabelled(result.output))
  const source = result.id === null ? '' : ` result:${result.id}`
  const found = result.status === 'completed' ? readNumbers(first) : undefined
  if (found?.name === name) return { name, numbers: found.numbers, lines: [`${first}${source}`, ...rest] }
  const became =
    result.status === 'completed'
      ? 'holds no numbers'
      : result.status === 'skipped'
        ? 'was skipped'
        : `ended as ${result.status}`
  return {
    name,
    lines: [`its task ${became}, so nothing of it is counted here${first === '' ? '' : `: ${first}`}${source}`],
  }
}

/** The lines of a result; where the runtime has cut it, the line that was cut says nothing any more. */
function wholeLines(output: string): string[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const cut = lines.findIndex((line) => line.startsWith('… [cut: '))
  return cut === -1 ? lines : [...lines.slice(0, Math.max(cut - 1, 0)), 'the result was longer, and is cut here']
}

function sourcesOf(before: ResultBefore[]): string {
  const ids = before.flatMap(({ id }) => (id === null ? [] : [`result:${id}`]))
  return ids.length === 0 ? 'the results of the tasks before' : ids.join(', ')
}
