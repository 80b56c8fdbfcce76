import type { Chance } from '../simulator-schedule.ts'

/** Who wrote a line: runs by id, or `hand`. */
export type Author = string
export const hand = 'hand'
/** Among the carriers of a line: a hand copied its file without its times, and nobody can tell that from the same content from elsewhere. */
export const plainCopy = 'a plain copy'

/**
 * A line of a file as it is known to have come about. Where equal lines stand next to each other, contents alone cannot tell
 * which of them is the new one: then several authors are right. `carriers` copied the line to where it is.
 */
export interface TrueLine {
  text: string
  authors: ReadonlySet<Author>
  carriers: ReadonlySet<Author>
}

/** The next version of a text: each line with the index of the line it was, or -1 if it is new. */
export type Redraft = { text: string; from: number }[]

const common = ['}', '', '  return', 'import os']
let lineCount = 0

/** A line that no other file has, or now and then one that many have. */
function newLine(chance: Chance): string {
  return chance(8) === 0
    ? (common[chance(common.length)] ?? '}')
    : `line ${++lineCount} says ${chance(1000)} and ${chance(1000)}`
}

export function newLines(chance: Chance, count: number): string[] {
  return Array.from({ length: count }, () => newLine(chance))
}

/** Takes away, replaces and adds lines in one to three places. */
export function redraft(chance: Chance, lines: readonly TrueLine[]): Redraft {
  const next: Redraft = lines.map(({ text }, from) => ({ text, from }))
  for (let hunk = 0; hunk <= chance(3); hunk++) {
    const gone = chance(4)
    const fresh = newLines(chance, gone === 0 ? 1 + chance(4) : chance(5))
    next.splice(chance(next.length + 1), gone, ...fresh.map((text) => ({ text, from: -1 })))
  }
  return next.length === 0 ? newLines(chance, 4).map((text) => ({ text, from: -1 })) : next
}

/** The text as it was once: lines that are still there stay, the others are put back. */
export function goBack(now: readonly TrueLine[], then: readonly string[]): Redraft {
  const pairs = longestCommon(
    now.map(({ text }) => text),
    then,
  ).pairs
  return then.map((text, at) => ({ text, from: pairs.get(at) ?? -1 }))
}

/**
 * Lines after a hand changed a file, whose last recorded content had these, if there was one: a line that was put back between two
 * records cannot be told from one that stayed, with whoever had carried that one: the bytes and all records are the same. Lines such as "}" do not tell where a file is from that came there by hand, too.
 */
export function seenByHand(lines: readonly TrueLine[], last: readonly TrueLine[] | undefined): TrueLine[] {
  const texts = lines.map(({ text }) => text)
  const seen = last ? observe(last, goBack(last, texts), hand) : []
  const isToldApart = last || lines.some(({ text, authors }) => text.trim().length > 3 && !authors.has(hand))
  return lines.map((line, at) => {
    const runs = [...(seen[at]?.authors ?? [])].filter((each) => each !== hand)
    const carriers = new Set([...line.carriers, ...(seen[at]?.carriers ?? [])])
    return { ...line, authors: new Set([...line.authors, ...runs, ...(isToldApart ? [] : [hand])]), carriers }
  })
}

/** Lines that a hand put back while other files had the same content: nobody can tell that from a copy of one of these. */
export function asCopied(lines: readonly TrueLine[], twins: readonly (readonly TrueLine[])[]): TrueLine[] {
  return lines.map((line, at) => {
    const equal = [line, ...twins.flatMap((twin) => twin[at] ?? [])]
    return {
      ...line,
      authors: new Set(equal.flatMap(({ authors }) => [...authors])),
      carriers: new Set(equal.flatMap(({ carriers }) => [...carriers])),
    }
  })
}

/** The lines after a redraft that is known place by place. */
export function rewrite(lines: readonly TrueLine[], next: Redraft, author: Author): TrueLine[] {
  return next.map(({ text, from }) => lines[from] ?? { text, authors: new Set([author]), carriers: new Set() })
}

/** The lines after a redraft of which only the contents before and after can be seen: every shortest way counts as right. */
export function observe(lines: readonly TrueLine[], next: Redraft, author: Author): TrueLine[] {
  const real = rewrite(lines, next, author)
  const common = longestCommon(
    lines.map(({ text }) => text),
    next.map(({ text }) => text),
  )
  return real.map((line, at) => {
    const others = common.origins(at)
    const authors = new Set([
      ...line.authors,
      ...others.flatMap((from) => [...(from === -1 ? [author] : (lines[from]?.authors ?? []))]),
    ])
    const carriers = new Set([...line.carriers, ...others.flatMap((from) => [...(lines[from]?.carriers ?? [])])])
    return { text: line.text, authors, carriers }
  })
}

/**
 * The lines after a command of which only the contents before and after can be seen. One that leaves the same lines in another order
 * has written none of them; else it has not written long ones that are there once before and after it.
 */
export function afterCommand(lines: readonly TrueLine[], next: Redraft, author: Author): TrueLine[] {
  const isPermuted = sorted(lines).join('\n') === sorted(next).join('\n')
  return isPermuted ? reorder(lines, next, author) : observe(lines, keepLong(lines, next), author)
}

/** Lines that a command took out of a file: if all of them are short, nobody can tell whether it has written them anew. */
export function writtenIfShort(lines: readonly TrueLine[], author: Author): TrueLine[] {
  if (lines.some(({ text }) => isLong(text))) return [...lines]
  return lines.map((line) => ({ ...line, authors: new Set([...line.authors, author]) }))
}

function sorted(lines: readonly { text: string }[]): string[] {
  return lines.map(({ text }) => text).sort()
}

function keepLong(lines: readonly TrueLine[], next: Redraft): Redraft {
  return next.map(({ text, from }) => {
    const isKept = from === -1 && isLong(text) && isOnce(lines, text) && isOnce(next, text)
    return { text, from: isKept ? lines.findIndex((each) => each.text === text) : from }
  })
}

/** Of equal lines it may be each. A short one may have been taken away in one place and written in another. */
function reorder(lines: readonly TrueLine[], next: Redraft, author: Author): TrueLine[] {
  return next.map(({ text, from }) => {
    const equal = lines.filter((line) => line.text === text)
    const mayBeNew = from === -1 && !(isLong(text) && equal.length === 1)
    return {
      text,
      authors: new Set([...equal.flatMap(({ authors }) => [...authors]), ...(mayBeNew ? [author] : [])]),
      carriers: new Set(equal.flatMap(({ carriers }) => [...carriers])),
    }
  })
}

function isLong(text: string): boolean {
  return text.length >= 16
}

function isOnce(lines: readonly { text: string }[], text: string): boolean {
  return lines.filter((each) => each.text === text).length === 1
}

/** Longest common subsequence: one of them, and for each new line all the old ones that it is in some of them. */
function longestCommon(old: readonly string[], fresh: readonly string[]) {
  const [n, m] = [old.length, fresh.length]
  const table = () => Array.from({ length: n + 1 }, () => new Array<number>(m + 1).fill(0))
  const [ahead, behind] = [table(), table()]
  const at = (of: number[][], i: number, j: number) => of[i]?.[j] ?? 0
  const set = (of: number[][], i: number, j: number, value: number) => {
    const row = of[i]
    if (row) row[j] = value
  }
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      set(
        ahead,
        i,
        j,
        old[i] === fresh[j] ? at(ahead, i + 1, j + 1) + 1 : Math.max(at(ahead, i + 1, j), at(ahead, i, j + 1)),
      )
  for (let i = 1; i <= n; i++)
    for (let j = 1; j <= m; j++)
      set(
        behind,
        i,
        j,
        old[i - 1] === fresh[j - 1]
          ? at(behind, i - 1, j - 1) + 1
          : Math.max(at(behind, i - 1, j), at(behind, i, j - 1)),
      )
  const best = at(ahead, 0, 0)
  const pairs = new Map<number, number>()
  for (let [i, j] = [0, 0]; i < n && j < m; ) {
    if (old[i] === fresh[j]) pairs.set(j++, i++)
    else if (at(ahead, i + 1, j) >= at(ahead, i, j + 1)) i++
    else j++
  }
  return {
    pairs,
    origins(j: number): number[] {
      const all: number[] = []
      for (let i = 0; i < n; i++)
        if (old[i] === fresh[j] && at(behind, i, j) + 1 + at(ahead, i + 1, j + 1) === best) all.push(i)
      for (let i = 0; i <= n; i++)
        if (at(behind, i, j) + at(ahead, i, j + 1) === best) {
          all.push(-1)
          break
        }
      return all
    },
  }
}
