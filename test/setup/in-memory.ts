import { spawnSync } from 'node:child_process'
import { mkdirSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from './packages.ts'

/** What statfs(2) calls a file system in memory. */
const tmpfs = 0x01021994
const enoughBytes = 6 * 1024 ** 3

/**
 * Starts this program again with a temporary folder in memory, where that is allowed and there is room. Tests make homes,
 * commit and remove them: on a disk, that is a fifth of their processor time and half of their waiting.
 *
 * Only this program and those that it starts see the folder, and it ends with the last of them, however they end. It is
 * not /dev/shm: no agent works in /dev.
 */
export function restartInMemory(leastBytes = enoughBytes): void {
  const unshare = findProgram('unshare')
  if (process.getuid?.() !== 0 || unshare === undefined || process.execve === undefined) return
  if (statfsSync(tmpdir()).type === tmpfs || process.availableMemory() < leastBytes) return
  const folder = join(tmpdir(), 'heddle')
  mkdirSync(folder, { recursive: true })
  const mount = 'mount -t tmpfs -o mode=1777 tests "$0" && exec "$@"'
  const words = ['--mount', '--propagation', 'private', 'sh', '-c', mount, folder]
  if (spawnSync(unshare, [...words, 'true']).status !== 0) return
  const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(unshare, [unshare, ...words, ...program], { ...process.env, TMPDIR: folder })
}
