import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Keeps everybody from writing in a home, so that what stops has to wait; answers what lets them write again. */
export function holdDatabase(home: string): () => void {
  const database = new DatabaseSync(join(home, 'heddle.db'), { timeout: 30_000 })
  database.exec('BEGIN IMMEDIATE')
  return () => {
    if (database.isOpen) database.close()
  }
}
