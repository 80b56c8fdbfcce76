import { stripQuotes } from './find.ts'
import { stripLabel } from './label.ts'
import type { EarlierResult } from './order.ts'
import type { ScriptStep, ScriptView } from './script-view.ts'
import { readNumbers } from './survey/facts.ts'
import { formatCount } from './survey/format-count.ts'
import { formatNumbers, type Numbers, sumOf } from './survey/tally.ts'
import { writeFileStep } from './write.ts'

/** Writes a report from the results of earlier tasks only. */
export function writeReport(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const path = stripQuotes(match[1] ?? '')
  if (view.before.length === 0)
    return {
      text: `I did not write ${path}: there are no results of tasks before. Give me the words: write ${path}: …`,
    }
  const sections = sectionsOf(view)
  const counted = sections.flatMap(({ numbers }) => (numbers ? [numbers] : []))
  const missing = sections.filter(({ numbers }) => !numbers).map(({ name }) => name)
  const total = `${formatCount(counted.length, 'part')}: ${formatNumbers(sumOf(counted))}`
  const content = [
    '# Report',
    '',
    `${total}.`,
    ...missing.map((name) => `Missing: ${name}`),
    ...[...view.brief.matchAll(/^Say also: (.+)$/gm)].map(([, words]) => words ?? ''),
    ...sections.flatMap(({ name, lines }) => ['', `## ${name}`, '', ...lines.map((line) => `- ${line}`)]),
    '',
    `REHEARSAL: written by a script from ${sourcesOf(view.before)}. It counts and quotes; it does not judge.`,
    '',
  ].join('\n')
  const step = writeFileStep(view, path, content, total.replace(': ', ', '))
  if ('calls' in step || !step.text.startsWith('wrote ')) return step
  const gaps = missing.length > 0 ? ` Missing: ${missing.join(', ')}.` : ''
  return { text: `${step.text}${gaps}\n\nFiles:\n${path}` }
}

interface Section {
  name: string
  lines: string[]
  /** Set if the result has numbers. */
  numbers?: Numbers
}

/** One section for each part of the brief, in its order, then one for every other result. */
function sectionsOf({ brief, before }: ScriptView): Section[] {
  const titled = new Map(before.map((result) => [result.title.replace(/^summarise /, ''), result]))
  const fromBrief = [...brief.matchAll(/^- (.+)$/gm)].map(([, name = '']) => name)
  const names = [...new Set([...fromBrief, ...titled.keys()])]
  return names.map((name) => sectionOf(name, titled.get(name)))
}

function sectionOf(name: string, result: EarlierResult | undefined): Section {
  if (!result) return { name, lines: ['there is no result of its task, so nothing of it is counted here'] }
  const [first = '', ...rest] = wholeLines(stripLabel(result.output))
  const source = result.id === null ? '' : ` result:${result.id}`
  const found = result.status === 'completed' ? readNumbers(first) : undefined
  if (found?.name === name) return { name, numbers: found.numbers, lines: [`${first}${source}`, ...rest] }
  const outcome =
    result.status === 'completed'
      ? 'holds no numbers'
      : result.status === 'skipped'
        ? 'was skipped'
        : `ended as ${result.status}`
  return {
    name,
    lines: [`its task ${outcome}, so nothing of it is counted here${first === '' ? '' : `: ${first}`}${source}`],
  }
}

/** Lines of a result; drops the incomplete line where the runtime truncated it. */
function wholeLines(output: string): string[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const cut = lines.findIndex((line) => line.startsWith('… [cut: '))
  return cut === -1 ? lines : [...lines.slice(0, Math.max(cut - 1, 0)), 'the result was longer, and is cut here']
}

function sourcesOf(before: EarlierResult[]): string {
  const ids = before.flatMap(({ id }) => (id === null ? [] : [`result:${id}`]))
  return ids.length === 0 ? 'the results of the tasks before' : ids.join(', ')
}
