import { existsSync, readFileSync } from 'node:fs'
import { HeddleError } from '../domain/errors.ts'
import { findLockHolder } from '../store/sqlite/owner-locks.ts'

/** Name of the lock that the daemon of a home holds. */
export const daemonLock = 'up'

/** The process that holds a home as its daemon, also one that starts, stops or hangs; undefined without one. */
export function findDaemonProcess(runFolder: string): { pid: number | undefined } | undefined {
  return findLockHolder(runFolder, daemonLock)
}

/** Asks a daemon to stop, as Ctrl-C does. Throws where its process cannot be reached from here. */
export function stopDaemonProcess(pid: number): void {
  if (!isDaemonProcess(pid))
    throw new HeddleError(
      'daemon_elsewhere',
      `the daemon is process ${pid} in another container or on another machine`,
      'stop it there: heddle down',
    )
  try {
    process.kill(pid, 'SIGTERM')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // It ended by itself.
    if (code === 'ESRCH') return
    throw new HeddleError('not_yours', `process ${pid} belongs to another user`, 'run heddle down as that user', {
      cause: error,
    })
  }
}

/**
 * Whether a process is alive and a daemon. One in a container has a number that means another process here; one that has
 * ended and was not yet noticed by its parent has no command line.
 */
export function isDaemonProcess(pid: number): boolean {
  try {
    if (!existsSync('/proc/self/cmdline')) return process.kill(pid, 0)
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('up')
  } catch {
    return false
  }
}
