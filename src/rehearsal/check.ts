import {
  answersOrCalls,
  maxConcurrentCalls,
  type ScriptedCall,
  type ScriptStep,
  type ScriptView,
} from './script-view.ts'
import { factsIn, factsOf, type ReportFact, readNumbers } from './survey/facts.ts'
import { formatCount } from './survey/format-count.ts'
import { defaultReport, parsePart } from './survey/part.ts'
import { type Numbers, sumOf, tallyPart } from './survey/tally.ts'
import { parseReadFile, reasonIn } from './tool-texts.ts'

const maxDifferences = 20

/** Recounts every number of a report from the files and lists the differences. */
export function checkReport(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const path = match[1] ?? reportOf(view)
  const read = readWhole(view, path)
  if ('calls' in read) return read
  if ('why' in read) return { text: `I could not read ${path}: ${read.why}` }
  const stated = parseStatements(read.lines)
  if (stated.facts.length === 0) return { text: `${path}: it states no number that I could count again.` }
  const recount = recountFacts(view, stated.parts, path)
  if ('calls' in recount) return recount
  const differences = stated.facts.flatMap(({ line, of, value }) => {
    const now = recount.facts.get(of)
    if (now === value) return []
    return [`${path}:${line}: ${of}: the report says ${value}, the files say ${now ?? 'nothing of it'}`]
  })
  const agree = stated.facts.length - differences.length
  const left = differences.length - maxDifferences
  const unwritten = view.before.find(({ title, status }) => title === `write ${path}` && status !== 'completed')
  const age = unwritten ? ` It is an older report: the task that writes it is ${unwritten.status}.` : ''
  return {
    text: [
      `${formatCount(stated.facts.length, 'number')} counted again from the files, ${agree} agree${differences.length === 0 ? '' : `, ${differences.length} differ`}.${age}`,
      ...(differences.length + recount.failures.length > 0 ? [''] : []),
      ...differences.slice(0, maxDifferences),
      ...(left > 0 ? [`… and ${left} more that differ`] : []),
      ...recount.failures,
    ].join('\n'),
  }
}

function reportOf({ brief, before }: ScriptView): string {
  const fromBrief = /^Report: (\S+)$/m.exec(brief)?.[1]
  const fromResults = before
    .map(({ output }) => /^Files:\n(\S+)$/m.exec(output)?.[1])
    .find((path) => path !== undefined)
  return fromBrief ?? fromResults ?? defaultReport
}

interface Line {
  number: number
  text: string
}

/** Reads a file page by page. */
function readWhole(view: ScriptView, path: string): { calls: ScriptedCall[] } | { why: string } | { lines: Line[] } {
  const lines: Line[] = []
  for (let offset: number | undefined = 1; offset !== undefined; ) {
    const step = answersOrCalls(view, [{ name: 'read_file', input: { path, ...(offset > 1 && { offset }) } }])
    if ('calls' in step) return step
    const [text = ''] = step.answers
    const page = parseReadFile(text)
    if (!page) return { why: reasonIn(text) }
    lines.push(...page)
    const next: string | undefined = /^… \[cut: .*continue with offset=(\d+)\]$/m.exec(text)?.[1]
    offset = next === undefined || page.length === 0 ? undefined : Number(next)
  }
  return { lines }
}

interface ReportStatements {
  facts: (ReportFact & { line: number })[]
  /** Parts with numbers. */
  parts: string[]
}

/** Statements of a report with their line numbers. */
function parseStatements(lines: Line[]): ReportStatements {
  const stated: ReportStatements = { facts: [], parts: [] }
  let part: string | undefined
  for (const { number, text } of lines) {
    part = /^## (.+)$/.exec(text)?.[1] ?? part
    const words = part === undefined ? text : /^- (.+)$/.exec(text)?.[1]
    if (words === undefined) continue
    const total = part === undefined ? readNumbers(words) : undefined
    const name = /^(\d+) parts?$/.exec(total?.name ?? '')?.[1]
    const found =
      part !== undefined
        ? factsIn(words, part)
        : total && name !== undefined
          ? [{ of: 'parts', value: name }, ...factsOf('all parts', total.numbers)]
          : []
    if (part !== undefined && readNumbers(words)?.name === part) stated.parts.push(part)
    stated.facts.push(...found.map((fact) => ({ ...fact, line: number })))
  }
  return stated
}

/** Counts the same facts from the files. */
function recountFacts(
  view: ScriptView,
  parts: string[],
  excluded: string,
): { calls: ScriptedCall[] } | { facts: Map<string, string>; failures: string[] } {
  const facts: ReportFact[] = []
  const failures: string[] = []
  const numbers: Numbers[] = []
  const calls: ScriptedCall[] = []
  for (const part of parts) {
    const tally = tallyPart(view, parsePart(part), excluded)
    if ('calls' in tally) calls.push(...tally.calls)
    else if ('why' in tally) failures.push(`${part}: not counted again: ${tally.why}`)
    else {
      numbers.push(tally.numbers)
      facts.push(...tally.lines.flatMap((line) => factsIn(line, part)))
    }
  }
  if (calls.length > 0) return { calls: calls.slice(0, maxConcurrentCalls) }
  facts.push({ of: 'parts', value: String(numbers.length) }, ...factsOf('all parts', sumOf(numbers)))
  return { facts: new Map(facts.map(({ of, value }) => [of, value])), failures }
}
