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

/** Statements that go through a table, or all of an index but that of what is open, by what SQLite itself says of them. */
export function scansIn(file: string, asked: Iterable<string>): string[] {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return [...asked].flatMap((text) => {
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[]
      return plan.flatMap(({ detail }) =>
        /^SCAN (?!folders|line\b|approvals USING INDEX approvals_open$)/.test(detail) ? `${detail}: ${text}` : [],
      )
    })
  } finally {
    database.close()
  }
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
