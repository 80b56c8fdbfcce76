import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Turn } from '../src/domain/turn.ts'
import type { Scratch } from './scratch.ts'

/** What SQLite does at least: one table, one row with a text key per turn, the turn as one JSON text. */
export interface Floor {
  /** A prepared insert that commits durably by itself, as ours does. */
  insert(key: string, parent: string | null, json: string): void
  /** The path up to the root by a recursive query over the parents, oldest first, each turn parsed. */
  readPath(key: string): Turn[]
  /** Runs many inserts in one commit. */
  together(inserts: () => void): void
  close(): void
}

/** The bare table has the durability of ours: WAL, synchronous FULL. */
export function openFloor({ directory }: Scratch, name: string): Floor {
  const db = new DatabaseSync(join(directory, `${name}.db`), { timeout: 0 })
  db.exec(`PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE bare (key TEXT PRIMARY KEY, parent TEXT, json TEXT NOT NULL)`)
  const insert = db.prepare('INSERT INTO bare (key, parent, json) VALUES (?, ?, ?)')
  const path = db.prepare(`
    WITH RECURSIVE path (key, parent, json) AS (
      SELECT key, parent, json FROM bare WHERE key = ?
      UNION ALL
      SELECT bare.key, bare.parent, bare.json FROM path JOIN bare ON bare.key = path.parent
    )
    SELECT json FROM path`)
  return {
    insert: (key, parent, json) => void insert.run(key, parent, json),
    readPath: (key) =>
      path
        .all(key)
        .map(({ json }) => JSON.parse(json as string) as Turn)
        .reverse(),
    together(inserts) {
      db.exec('BEGIN IMMEDIATE')
      inserts()
      db.exec('COMMIT')
    },
    close: () => db.close(),
  }
}
