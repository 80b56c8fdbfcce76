import { maxPage, type PageOptions } from '../../api/views/page.ts'
import { printable } from '../terminal/screen.ts'
import { wholeNumber } from './counts.ts'

/** Rows of a list, and the cursor of the last one if there are more. */
interface ReadPages<Row> {
  rows: Row[]
  next?: string
}

/**
 * Reads a list page by page until so many rows are there, or all with a limit of 0. A list in which the newest come last
 * goes on before its first row.
 */
export async function readPages<Row>(
  read: (page: PageOptions) => Promise<Row[]>,
  {
    limit,
    after,
    cursorOf,
    newest,
  }: PageOptions & { limit: number; newest: 'first' | 'last'; cursorOf(row: Row): string },
): Promise<ReadPages<Row>> {
  // One more than is wanted tells whether there are more.
  const wanted = limit === 0 ? Number.POSITIVE_INFINITY : limit + 1
  const rows: Row[] = []
  const last = () => (newest === 'first' ? rows.at(-1) : rows[0])
  for (let cursor = after; rows.length < wanted; ) {
    const size = Math.min(maxPage, wanted - rows.length)
    const page = await read({ limit: size, ...(cursor !== undefined && { after: cursor }) })
    if (newest === 'first') rows.push(...page)
    else rows.unshift(...page)
    const end = last()
    if (page.length < size || end === undefined) break
    cursor = cursorOf(end)
  }
  if (rows.length < wanted) return { rows }
  if (newest === 'first') rows.pop()
  else rows.shift()
  const end = last()
  return end === undefined ? { rows } : { rows, next: cursorOf(end) }
}

/** Options of a command that lists: how many, and after which cursor. */
export function pageOptions(
  options: Record<string, unknown>,
  otherwise: number,
  what: string,
): { limit: number; after?: string } {
  const limit =
    options['limit'] === undefined
      ? otherwise
      : wholeNumber(options['limit'], {
          what: `number of ${what}`,
          least: 0,
          remedy: 'give a whole number; 0 means all',
        })
  return { limit, ...(options['after'] !== undefined && { after: String(options['after']) }) }
}

/** Last line of a list that was cut, with the command that shows more. */
export function moreLine({ next }: Pick<ReadPages<unknown>, 'next'>, command: string, count?: number): string[] {
  return next === undefined
    ? []
    : [`… ${count === undefined ? 'more' : `${count} more`}    ${printable(command)} --limit 0`]
}
