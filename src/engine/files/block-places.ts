/** Places at which a block of lines may have been put into a text, or taken out of it: each gives the same other text. */
interface BlockPlaces {
  first: number
  last: number
  /** Number of lines of the block. */
  count: number
}

/** Where one block was put into `less`, which makes it `more`; undefined if it takes more than one. */
export function placesOfBlock(less: readonly string[], more: readonly string[]): BlockPlaces | undefined {
  const count = more.length - less.length
  if (count <= 0) return undefined
  let [start, end] = [0, 0]
  while (start < less.length && less[start] === more[start]) start++
  while (end < less.length && less.at(-1 - end) === more.at(-1 - end)) end++
  if (start + end < less.length) return undefined
  return { first: less.length - end, last: start, count }
}

/**
 * The place where the block begins as blocks do: at the line that is indented least, and if several are, behind an empty line, or with
 * one at its end. Undefined if that leaves several.
 */
export function likelyPlace(lines: readonly string[], { first, last, count }: BlockPlaces): number | undefined {
  if (first === last) return first
  // Empty lines belong to the block before them.
  const places = new Map<number, number>()
  for (let place = first; place <= last; place++) places.set(firstWithText(lines, place), place)
  const begins = [...places].flatMap(([line, place]) => (isBegin(lines[line]) ? { line, place } : []))
  const least = Math.min(...begins.map(({ line }) => indentOf(lines[line])))
  const outer = begins.filter(({ line }) => indentOf(lines[line]) === least)
  const isApart = (line: number) => line > 0 && isEmpty(lines[line - 1])
  const apart = outer.filter(({ line, place }) => isApart(line) || isApart(place + count))
  const [only, other] = outer.length > 1 ? apart : outer
  return other ? undefined : only?.place
}

function firstWithText(lines: readonly string[], from: number): number {
  let line = from
  while (line < lines.length && isEmpty(lines[line])) line++
  return line
}

function isEmpty(line = ''): boolean {
  return line.trim() === ''
}

/** Whether a block may begin with a line: not with one that ends another, such as `}`. */
function isBegin(line: string | undefined): boolean {
  return line !== undefined && !/^\s*(?:[)\]}]|<\/|end\b|else\b|elif\b|except\b|finally\b)/.test(line)
}

function indentOf(line = ''): number {
  return line.length - line.trimStart().length
}
