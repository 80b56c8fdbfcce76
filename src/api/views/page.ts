import { UsageError } from '../../domain/errors.ts'

/** Which part of a list: at most `limit` rows (1 to 1000), those that follow `after`, the cursor of the last row seen. */
export interface PageOptions {
  limit?: number
  after?: string
}

/** Rows of a list; `next` is the cursor after which more follow, and missing where there are none. */
export interface ListPage<Row> {
  rows: Row[]
  next?: string
}

/** Most rows that one call lists. */
export const maxPage = 1000

/** The limit of a list, checked. */
export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxPage) return limit
  throw new UsageError(`a list cannot have ${limit} rows`, `use a whole number from 1 to ${maxPage}`, 'bad_limit')
}

/** An opaque cursor out of what orders a list. */
export function cursorFrom(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/** The position of a cursor: a number, then a text. */
export function positionOfCursor(cursor: string): [number, string] {
  try {
    const [order, key] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Number.isSafeInteger(order) && typeof key === 'string') return [order, key]
  } catch {
    // Not one of ours, either way.
  }
  throw new UsageError('this is not the cursor of a list', 'use the next of an earlier page', 'bad_cursor')
}
