import { DatabaseSync } from 'node:sqlite'
import { homePaths } from '../../src/home/home.ts'

/**
 * Whether a process is inside a write of the home's SQLite file. One that is stopped there keeps the lock, and nobody
 * can take over before it wakes; on a server such a transaction is aborted.
 */
export function isWriteLocked(home: string): boolean {
  const db = new DatabaseSync(homePaths(home).database, { timeout: 0 })
  try {
    db.exec('BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch {
    return true
  } finally {
    db.close()
  }
}
