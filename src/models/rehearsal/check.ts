import { count } from './counted.ts'
import { type Fact, factsIn, factsOf, readNumbers } from './facts.ts'
import { partNamed, usualReport } from './part.ts'
import { askedAll, atOnce, type Call, type Seen, type Step } from './seen.ts'
import { type Numbers, sumOf, tallyPart } from './tally.ts'
import { readLines, reasonIn } from './tool-texts.ts'

const mostDifferences = 20

/** Counts every number of a report again from the files, and tells which differ. */
export function checkReport(seen: Seen, heard: RegExpExecArray): Step {
  const path = heard[1] ?? reportOf(seen)
  const read = readWhole(seen, path)
  if ('calls' in read) return read
  if ('why' in read) return { text: `I could not read ${path}: ${read.why}` }
  const stated = statedIn(read.lines)
  if (stated.facts.length === 0) return { text: `${path}: it states no number that I could count again.` }
  const recount = recounted(seen, stated.parts, path)
  if ('calls' in recount) return recount
  const differences = stated.facts.flatMap(({ line, of, value }) => {
    const now = recount.facts.get(of)
    if (now === value) return []
    return [`${path}:${line}: ${of}: the report says ${value}, the files say ${now ?? 'nothing of it'}`]
  })
  const agree = stated.facts.length - differences.length
  const left = differences.length - mostDifferences
  const unwritten = seen.before.find(({ title, status }) => title === `write ${path}` && status !== 'completed')
  const age = unwritten ? ` It is an older report: the task that writes it is ${unwritten.status}.` : ''
  return {
    text: [
      `${count(stated.facts.length, 'number')} counted again from the files, ${agree} agree${differences.length === 0 ? '' : `, ${differences.length} differ`}.${age}`,
      ...(differences.length + recount.failures.length > 0 ? [''] : []),
      ...differences.slice(0, mostDifferences),
      ...(left > 0 ? [`… and ${left} more that differ`] : []),
      ...recount.failures,
    ].join('\n'),
  }
}

function reportOf({ brief, before }: Seen): string {
  const named = /^Report: (\S+)$/m.exec(brief)?.[1]
  const written = before.map(({ output }) => /^Files:\n(\S+)$/m.exec(output)?.[1]).find((path) => path !== undefined)
  return named ?? written ?? usualReport
}

interface Line {
  number: number
  text: string
}

/** A file in as many pages as it takes. */
function readWhole(seen: Seen, path: string): { calls: Call[] } | { why: string } | { lines: Line[] } {
  const lines: Line[] = []
  for (let offset: number | undefined = 1; offset !== undefined; ) {
    const asked = askedAll(seen, [{ name: 'read_file', input: { path, ...(offset > 1 && { offset }) } }])
    if ('calls' in asked) return asked
    const [text = ''] = asked.answers
    const page = readLines(text)
    if (!page) return { why: reasonIn(text) }
    lines.push(...page)
    const next: string | undefined = /^… \[cut: .*read on with offset=(\d+)\]$/m.exec(text)?.[1]
    offset = next === undefined || page.length === 0 ? undefined : Number(next)
  }
  return { lines }
}

interface Stated {
  facts: (Fact & { line: number })[]
  /** The parts that have numbers. */
  parts: string[]
}

/** What a report states, with the line where it does. */
function statedIn(lines: Line[]): Stated {
  const stated: Stated = { facts: [], parts: [] }
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

/** The same facts, counted anew. */
function recounted(
  seen: Seen,
  parts: string[],
  without: string,
): { calls: Call[] } | { facts: Map<string, string>; failures: string[] } {
  const facts: Fact[] = []
  const failures: string[] = []
  const numbers: Numbers[] = []
  const calls: Call[] = []
  for (const part of parts) {
    const tally = tallyPart(seen, partNamed(part), without)
    if ('calls' in tally) calls.push(...tally.calls)
    else if ('why' in tally) failures.push(`${part}: not counted again: ${tally.why}`)
    else {
      numbers.push(tally.numbers)
      facts.push(...tally.lines.flatMap((line) => factsIn(line, part)))
    }
  }
  if (calls.length > 0) return { calls: calls.slice(0, atOnce) }
  facts.push({ of: 'parts', value: String(numbers.length) }, ...factsOf('all parts', sumOf(numbers)))
  return { facts: new Map(facts.map(({ of, value }) => [of, value])), failures }
}
