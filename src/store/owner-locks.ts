import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { sqliteBusy, sqliteCode } from './failures.ts'
import { SqliteConnection } from './sqlite-connection.ts'

/** Tells whether an owner lives without asking any clock. */
export interface OwnerLocks {
  /** Shows that this process lives, until the returned function is called or the process ends, however it ends. */
  hold(ownerId: string): () => void
  /** Undefined where only the beat can tell. */
  isHeld(ownerId: string): boolean | undefined
  /** Owners whose sign of life has been lying there for a while, whether they live or not. */
  left(now: Millis): string[]
}

// A sign is made before its owner is registered, and held a moment after it is made: a fresh one says nothing yet.
const settledAfter: Millis = 60_000

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
        // Only owners that are registered are asked for, and they hold their lock from before that: this one is dead.
        rmSync(fileOf(ownerId), { force: true })
        return false
      } catch (error) {
        if (sqliteCode(error) === sqliteBusy) return true
        throw error
      } finally {
        connection.close()
      }
    },
    left: (now) =>
      readdirSync(folder).flatMap((file) => {
        const id = /^owner-(.+)\.lock$/.exec(file)?.[1]
        const madeAt = id === undefined ? undefined : statSync(fileOf(id), { throwIfNoEntry: false })?.mtimeMs
        return id !== undefined && madeAt !== undefined && now - madeAt > settledAfter ? [id] : []
      }),
  }
}

/**
 * Makes this process the only one of its kind in a folder, and says which one it is; refuses when another is. Given back
 * by the returned function or by the end of the process, however it ends.
 */
export function holdAlone(folder: string, name: string, pid: number): () => void {
  const file = join(folder, `${name}.lock`)
  const pidFile = join(folder, `${name}.pid`)
  const connection = new SqliteConnection(file)
  try {
    connection.script('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    connection.close()
    if (sqliteCode(error) !== sqliteBusy) throw error
    const other = existsSync(pidFile) ? readFileSync(pidFile, 'utf8').trim() : 'unknown'
    throw new HeddleError(
      'already_up',
      `heddle is already at work in this home (process ${other})`,
      `leave it to it, or stop it first: kill ${other}`,
    )
  }
  writeFileSync(pidFile, `${pid}\n`, { mode: 0o600 })
  return () => {
    rmSync(pidFile, { force: true })
    connection.close()
  }
}

/** Across machines: nobody can see another's locks, so the beat alone decides. */
export const noLocks: OwnerLocks = { hold: () => () => undefined, isHeld: () => undefined, left: () => [] }
