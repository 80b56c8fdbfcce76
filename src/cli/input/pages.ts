import { type ListPage, maxPage, type PageOptions } from '../../api/views/page.ts'
import { printable } from '../terminal/screen.ts'
import { wholeNumber } from './counts.ts'

/**
 * Reads a list page by page until so many rows are there, or all with a limit of 0. A list in which the newest come last
 * goes on before its first row.
 */
export async function readPages<P extends ListPage<unknown>>(
  read: (page: PageOptions) => Promise<P>,
  { limit, after, newest }: PageOptions & { limit: number; newest: 'first' | 'last' },
): Promise<P> {
  const size = (have: number) => (limit === 0 ? maxPage : Math.min(maxPage, limit - have))
  let all = await read({ limit: size(0), ...(after !== undefined && { after }) })
  while (all.next !== undefined && (limit === 0 || all.rows.length < limit)) {
    const more = await read({ limit: size(all.rows.length), after: all.next })
    all = { ...more, rows: newest === 'first' ? [...all.rows, ...more.rows] : [...more.rows, ...all.rows] }
  }
  return all
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
          min: 0,
          remedy: 'give a whole number; 0 means all',
        })
  return { limit, ...(options['after'] !== undefined && { after: String(options['after']) }) }
}

/** Last line of a list that was cut, with the command that shows more. */
export function moreLine({ next }: Pick<ListPage<unknown>, 'next'>, command: string, count?: number): string[] {
  return next === undefined
    ? []
    : [`… ${count === undefined ? 'more' : `${count} more`}    ${printable(command)} --limit 0`]
}
