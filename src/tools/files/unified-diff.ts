import { escapeInvisible } from '../../domain/text/visible.ts'

const contextLines = 3
// Max differences to find line by line; beyond that the whole text is one difference.
const maxDifferences = 1000

/** Unified diff for an approval: complete, with invisible characters escaped. */
export function unifiedDiff(path: string, before: string | undefined, after: string): string {
  const [old, fresh] = [linesOf(before ?? ''), linesOf(after)]
  const name = escapeInvisible(path)
  const head = [`--- ${before === undefined ? '/dev/null' : `a/${name}`}`, `+++ b/${name}`]
  return [...head, ...hunks(editScript(old, fresh)).flatMap(renderHunk)].join('\n')
}

interface Line {
  sign: ' ' | '-' | '+'
  text: string
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/)
}

/** Edit script: every line of both texts as kept, removed or added. */
export function editScript(old: string[], fresh: string[]): Line[] {
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++
  let end = 0
  const shorter = Math.min(old.length, fresh.length)
  while (end < shorter - start && old.at(-1 - end) === fresh.at(-1 - end)) end++
  const [removed, added] = [old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)]
  return [
    ...old.slice(0, start).map(keptLine),
    ...(shortestScript(removed, added) ?? [...removed.map(removedLine), ...added.map(addedLine)]),
    ...old.slice(old.length - end).map(keptLine),
  ]
}

const keptLine = (text: string): Line => ({ sign: ' ', text })
const removedLine = (text: string): Line => ({ sign: '-', text })
const addedLine = (text: string): Line => ({ sign: '+', text })

/** Myers' shortest edit script; undefined when the texts differ in too much. */
export function shortestScript(a: string[], b: string[]): Line[] | undefined {
  const reach: Map<number, number>[] = []
  let last = new Map([[1, 0]])
  for (let edits = 0; edits <= maxDifferences; edits++) {
    const furthest = new Map<number, number>()
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && (last.get(k - 1) ?? -1) < (last.get(k + 1) ?? -1))
      let x = down ? (last.get(k + 1) ?? 0) : (last.get(k - 1) ?? 0) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      furthest.set(k, x)
      if (x >= a.length && x - k >= b.length) return backtrack(a, b, [...reach, last])
    }
    reach.push(last)
    last = furthest
  }
  return undefined
}

function backtrack(a: string[], b: string[], reach: Map<number, number>[]): Line[] {
  const lines: Line[] = []
  let [x, y] = [a.length, b.length]
  for (let edits = reach.length - 1; edits >= 0; edits--) {
    const last = reach[edits] ?? new Map<number, number>()
    const k = x - y
    const down = k === -edits || (k !== edits && (last.get(k - 1) ?? -1) < (last.get(k + 1) ?? -1))
    const from = down ? k + 1 : k - 1
    const [fromX, fromY] = edits === 0 ? [0, 0] : [last.get(from) ?? 0, (last.get(from) ?? 0) - from]
    while (x > fromX && y > fromY) {
      lines.push(keptLine(a[--x] ?? ''))
      y--
    }
    if (edits > 0) lines.push(down ? addedLine(b[--y] ?? '') : removedLine(a[--x] ?? ''))
  }
  return lines.reverse()
}

interface Hunk {
  lines: Line[]
  /** Line numbers, from 1, of its first line in either text. */
  old: number
  fresh: number
}

/** Groups differences with their context lines into hunks. */
function hunks(lines: Line[]): Hunk[] {
  const spans: { from: number; to: number }[] = []
  for (const [at, { sign }] of lines.entries()) {
    if (sign === ' ') continue
    const [from, to] = [Math.max(0, at - contextLines), at + contextLines + 1]
    const last = spans.at(-1)
    if (last && from <= last.to) last.to = to
    else spans.push({ from, to })
  }
  let [old, fresh, passed] = [1, 1, 0]
  return spans.map(({ from, to }) => {
    for (; passed < from; passed++) {
      if (lines[passed]?.sign !== '+') old++
      if (lines[passed]?.sign !== '-') fresh++
    }
    return { lines: lines.slice(from, to), old, fresh }
  })
}

function renderHunk({ lines, old, fresh }: Hunk): string[] {
  const count = (sign: '-' | '+') => lines.filter((line) => line.sign === ' ' || line.sign === sign).length
  const [removed, added] = [count('-'), count('+')]
  const place = `@@ -${removed === 0 ? old - 1 : old},${removed} +${added === 0 ? fresh - 1 : fresh},${added} @@`
  return [place, ...lines.flatMap(renderLine)]
}

function renderLine({ sign, text }: Line): string[] {
  const isEnded = text.endsWith('\n')
  const line = isEnded ? text.slice(0, -1) : text
  return [sign + escapeInvisible(line), ...(isEnded ? [] : ['\\ No newline at end of file'])]
}
