import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { tryFileLock } from '../../file-lock.ts'

/** Liveness check of owners that does not depend on a clock. */
export interface OwnerLocks {
  /** Holds the owner's lock until the returned function is called or the process ends. */
  hold(workerId: string): () => void
  /** Undefined where only the heartbeat can tell. */
  isHeld(workerId: string): boolean | undefined
  /** Owners whose lock files are older than a minute, alive or not. */
  left(now: Millis): string[]
}

// A lock file exists before its owner is registered and before it is locked: a fresh one proves nothing yet.
const minLockFileAge: Millis = 60_000

/** Locks for one machine: an exclusive lock on a small file, which the system releases within milliseconds of a kill. */
export function fileLocks(folder: string): OwnerLocks {
  const fileOf = (workerId: string) => join(folder, `owner-${workerId}.lock`)
  return {
    hold(workerId) {
      const lock = tryFileLock(fileOf(workerId))
      if (!lock) throw new Error(`the lock of owner ${workerId} is held already`)
      return () => lock.remove()
    },
    isHeld(workerId) {
      if (!readdirSync(folder).includes(`owner-${workerId}.lock`)) return false
      const lock = tryFileLock(fileOf(workerId))
      // Only called for registered owners, which take their lock before they register: a free lock means a dead owner.
      lock?.remove()
      return lock === undefined
    },
    left: (now) =>
      readdirSync(folder).flatMap((file) => {
        const id = /^owner-(.+)\.lock$/.exec(file)?.[1]
        const madeAt = id === undefined ? undefined : statSync(fileOf(id), { throwIfNoEntry: false })?.mtimeMs
        return id !== undefined && madeAt !== undefined && now - madeAt > minLockFileAge ? [id] : []
      }),
  }
}

/** Who holds a singleton lock; undefined if it is free. The pid is undefined while its holder has not yet written it. */
export function findLockHolder(folder: string, name: string): { pid: number | undefined } | undefined {
  const file = join(folder, `${name}.lock`)
  if (!existsSync(file)) return undefined
  const lock = tryFileLock(file)
  lock?.release()
  return lock ? undefined : { pid: pidIn(join(folder, `${name}.pid`)) }
}

function pidIn(file: string): number | undefined {
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : Number.NaN
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
}

/**
 * Takes a singleton lock in a folder and writes a pid file; throws when another process holds it. Released by the
 * returned function or by the end of the process.
 */
export function takeSingletonLock(folder: string, name: string, pid: number): () => void {
  const pidFile = join(folder, `${name}.pid`)
  const lock = tryFileLock(join(folder, `${name}.lock`))
  if (!lock) {
    throw new HeddleError(
      'already_up',
      `heddle is already running in this home (process ${pidIn(pidFile) ?? 'unknown'})`,
      'use that one, or stop it first: heddle down',
    )
  }
  writeFileSync(pidFile, `${pid}\n`, { mode: 0o600 })
  return () => {
    rmSync(pidFile, { force: true })
    lock.release()
  }
}

/** Across machines locks are not visible: the heartbeat alone decides. */
export const heartbeatOnlyLocks: OwnerLocks = { hold: () => () => undefined, isHeld: () => undefined, left: () => [] }
