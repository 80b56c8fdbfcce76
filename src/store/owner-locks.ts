import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteBusy, sqliteCode } from './failures.ts'
import { SqliteConnection } from './sqlite-connection.ts'

/** Tells whether an owner lives without asking any clock. */
export interface OwnerLocks {
  /** Shows that this process lives, until the returned function is called or the process ends, however it ends. */
  hold(ownerId: string): () => void
  /** Undefined where only the beat can tell. */
  isHeld(ownerId: string): boolean | undefined
}

/** On one machine: an exclusive lock on a small file. The system gives it back within milliseconds of a kill. */
export function fileLocks(folder: string): OwnerLocks {
  const fileOf = (ownerId: string) => join(folder, `owner-${ownerId}.lock`)
  return {
    hold(ownerId) {
      const connection = new SqliteConnection(fileOf(ownerId))
      connection.script('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
      return () => {
        rmSync(fileOf(ownerId), { force: true })
        connection.close()
      }
    },
    isHeld(ownerId) {
      if (!readdirSync(folder).includes(`owner-${ownerId}.lock`)) return false
      const connection = new SqliteConnection(fileOf(ownerId))
      try {
        connection.exec('BEGIN IMMEDIATE')
        return false
      } catch (error) {
        if (sqliteCode(error) === sqliteBusy) return true
        throw error
      } finally {
        connection.close()
      }
    },
  }
}

/** Across machines: nobody can see another's locks, so the beat alone decides. */
export const noLocks: OwnerLocks = { hold: () => () => undefined, isHeld: () => undefined }
