import {
  type BigIntStats,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
} from 'node:fs'
import type { Clock } from '../domain/clock.ts'
import { isWithin } from '../domain/tools/within.ts'
import { errorFinding, type Finding } from './finding.ts'

/** Fingerprint of a file's state, and whether it is old enough to be reliable. */
export interface Stamp {
  text: string
  /** False while a second change could give the same stamp: file times are coarse. */
  isSettled: boolean
}

export type CurrentTime = Pick<Clock, 'now'>

const timeResolutionMs = 100
const maxBytes = 1024 * 1024

export function stampOf(stats: BigIntStats, clock: CurrentTime): Stamp {
  const { dev, ino, size, mode, mtimeNs, ctimeNs } = stats
  const age = clock.now() - Number(ctimeNs / 1_000_000n)
  return { text: [dev, ino, size, mode, mtimeNs, ctimeNs].join(':'), isSettled: age > timeResolutionMs }
}

/** Stamp of one of Heddle's own files. */
export function stampOfFile(file: string, clock: CurrentTime): Stamp {
  try {
    const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false })
    return stats ? stampOf(stats, clock) : { text: '', isSettled: true }
  } catch {
    // Reading the file will report the reason.
    return { text: '', isSettled: false }
  }
}

/** Stats of a file without opening it; undefined if it is gone. Links are followed. */
export function statFile(path: string, within: string): { stats: BigIntStats } | { finding: Finding } | undefined {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    if (stats === undefined) return undefined
    if (!stats.isSymbolicLink()) return stats.isFile() ? { stats } : { finding: noFile }
    const target = realpathSync.native(path)
    if (!isWithin(target, within)) return { finding: linkOutside(target) }
    const reached = lstatSync(target, { bigint: true })
    return reached.isFile() ? { stats: reached } : { finding: noFile }
  } catch (thrown) {
    return { finding: unreadableFinding(thrown) }
  }
}

/** Content of a file, with the stamp of exactly that content. */
export function readBytes(
  path: string,
  clock: CurrentTime,
): { bytes: Uint8Array; stamp: Stamp } | { finding: Finding } {
  let file: number | undefined
  try {
    // Must not block on a pipe.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stats = fstatSync(file, { bigint: true })
    if (!stats.isFile()) return { finding: noFile }
    const bytes = Buffer.alloc(Math.min(Number(stats.size), maxBytes) + 1)
    let filled = 0
    for (let read = -1; read !== 0 && filled < bytes.length; filled += read)
      read = readSync(file, bytes, filled, bytes.length - filled, null)
    return { bytes: bytes.subarray(0, filled), stamp: stampOf(stats, clock) }
  } catch (thrown) {
    return { finding: unreadableFinding(thrown) }
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** Real path; undefined if it does not exist. */
export function realPathOf(path: string): string | undefined {
  try {
    // Most places of agents do not exist, and an error that is made and thrown costs more than this look.
    return existsSync(path) ? realpathSync.native(path) : undefined
  } catch {
    return undefined
  }
}

export function unreadableFinding(thrown: unknown): Finding {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  if (code === 'ENOENT' || code === 'ELOOP') return errorFinding('it is a broken link', 'fix or remove the link')
  if (code === 'EACCES' || code === 'EPERM')
    return errorFinding('you have no permission to read it', 'make it readable for you: chmod u+r')
  if (code === '') throw thrown
  return errorFinding(`reading it failed with ${code}`, 'check the file and its disk')
}

const noFile = errorFinding('it is not a file', 'rename it, or put a file there')

function linkOutside(target: string): Finding {
  return errorFinding(
    `it is a link out of its directory, to ${target}`,
    'copy the file, or add its directory to skills: in heddle.yaml',
  )
}
