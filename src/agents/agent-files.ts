import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readSync, realpathSync } from 'node:fs'
import type { Clock } from '../domain/clock.ts'
import { isWithin } from '../domain/within.ts'
import { error, type Finding } from './finding.ts'

/** What tells one state of a file from every other, and whether it is old enough for that. */
export interface Stamp {
  text: string
  /** False while a second change could leave the same stamp: times on disk are coarse. */
  isSettled: boolean
}

export type Now = Pick<Clock, 'now'>

const coarse = 100
const mostBytes = 1024 * 1024

export function stampOf(stats: BigIntStats, clock: Now): Stamp {
  const { dev, ino, size, mode, mtimeNs, ctimeNs } = stats
  const age = clock.now() - Number(ctimeNs / 1_000_000n)
  return { text: [dev, ino, size, mode, mtimeNs, ctimeNs].join(':'), isSettled: age > coarse }
}

/** How a file of ours stands now. */
export function stampNow(file: string, clock: Now): Stamp {
  try {
    const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false })
    return stats ? stampOf(stats, clock) : { text: '', isSettled: true }
  } catch {
    // Reading it will say why.
    return { text: '', isSettled: false }
  }
}

/** How a file stands, without opening it; undefined when it is gone. A link counts as what it leads to. */
export function lookAt(path: string, within: string): { stats: BigIntStats } | { finding: Finding } | undefined {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    if (stats === undefined) return undefined
    if (!stats.isSymbolicLink()) return stats.isFile() ? { stats } : { finding: noFile }
    const target = realpathSync(path)
    if (!isWithin(target, within)) return { finding: leaves(target) }
    const reached = lstatSync(target, { bigint: true })
    return reached.isFile() ? { stats: reached } : { finding: noFile }
  } catch (thrown) {
    return { finding: unreadable(thrown) }
  }
}

/** The content of a file and the stamp of just that content. */
export function readBytes(path: string, clock: Now): { bytes: Uint8Array; stamp: Stamp } | { finding: Finding } {
  let file: number | undefined
  try {
    // A pipe that somebody put in the place of a file must not hold us up.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stats = fstatSync(file, { bigint: true })
    if (!stats.isFile()) return { finding: noFile }
    const bytes = Buffer.alloc(Math.min(Number(stats.size), mostBytes) + 1)
    let filled = 0
    for (let read = -1; read !== 0 && filled < bytes.length; filled += read)
      read = readSync(file, bytes, filled, bytes.length - filled, null)
    return { bytes: bytes.subarray(0, filled), stamp: stampOf(stats, clock) }
  } catch (thrown) {
    return { finding: unreadable(thrown) }
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** The path without links, or nothing when there is nothing. */
export function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

export function unreadable(thrown: unknown): Finding {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  if (code === 'ENOENT' || code === 'ELOOP') return error('it is a link that leads nowhere', 'mend or remove the link')
  if (code === 'EACCES' || code === 'EPERM') return error('it may not be read', 'make it readable for you: chmod u+r')
  if (code === '') throw thrown
  return error(`reading it gave ${code}`, 'look at the file and its disk')
}

const noFile = error('it is not a file', 'rename it, or put a file there')

function leaves(target: string): Finding {
  return error(`it is a link out of its directory, to ${target}`, 'copy the file, or name its directory in skills:')
}
