import { DatabaseSync } from 'node:sqlite'
import { prepare, type Query } from '../../src/store/statement.ts'
import type { Reading, Store } from '../../src/store/store.ts'

/** The same store, which tells what is asked of it. */
export function heard(store: Store, asked: Set<string>): Store {
  return {
    ...store,
    dialect: store.dialect,
    place: store.place,
    write: (area, body) => store.write(area, body),
    read: (body) => store.read((rows) => body(noting(rows, asked))),
  }
}

/**
 * Statements that go through a table, or all of an index but that of what is open, by what SQLite itself says of them. Rows
 * that a statement makes itself are no table: what they are made from has lines of its own in the plan.
 */
export function scansIn(file: string, asked: Iterable<string>): string[] {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[]
    const stored = new Set(tables.map(({ name }) => name))
    return [...asked].flatMap((text) => {
      const own = ownRowsOf(text)
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[]
      return plan.flatMap(({ detail }) => {
        const scanned =
          /^SCAN (?!CONSTANT ROW$|approvals USING (?:COVERING )?INDEX approvals_(?:open|refused_plans)$)(\w+)/.exec(
            detail,
          )?.[1]
        return scanned === undefined || (own.has(scanned) && !stored.has(scanned)) ? [] : `${detail}: ${text}`
      })
    })
  } finally {
    database.close()
  }
}

/** Names of subqueries, of lists that are given as one value, and of what `WITH` makes. */
function ownRowsOf(text: string): Set<string> {
  const names = text.matchAll(/\) AS "?(\w+)|\b(?:WITH|RECURSIVE) "?(\w+)"?(?: \([^)]*\))? AS/gi)
  return new Set([...names].flatMap(([, after, before]) => after ?? before ?? []))
}

function noting(rows: Reading, asked: Set<string>): Reading {
  const note = <R>(query: Query<R>) => {
    asked.add(prepare(query, rows.dialect).sql)
    return query
  }
  return {
    dialect: rows.dialect,
    build: rows.build,
    all: (query) => rows.all(note(query)),
    first: (query) => rows.first(note(query)),
  }
}
