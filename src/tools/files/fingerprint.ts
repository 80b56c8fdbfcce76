import type { Stats } from 'node:fs'
import type { Millis } from '../../domain/clock.ts'
import type { FileIdentity, FileTimes } from '../../domain/tools/path-handle.ts'

/** Fingerprint that changes with every change of a file: only the kernel sets `ctime`, so no program can hide a change. */
export function fileFingerprint({ ino, size, mode, ctimeMs, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mode} ${ctimeMs} ${mtimeMs}`
}

// Of a file's mode: S_IFMT and S_IFREG.
const kindBits = 0o170000
const plainFile = 0o100000

/** What a fingerprint says of its file. Links and devices have no content of their own. A move counts as a change. */
export function readFingerprint(mark: string): { size: number; isFile: boolean; changedAt: Millis } {
  const [, size = 0, mode = 0, changedAt = 0] = mark.split(' ').map(Number)
  return { size, isFile: (mode & kindBits) === plainFile, changedAt }
}

export function fileTimes({ ino, ctimeMs, mtimeMs, birthtimeMs }: Stats): FileTimes {
  return { changedAt: ctimeMs, modifiedAt: mtimeMs, ...(birthtimeMs > 0 && { identity: `${ino} ${birthtimeMs}` }) }
}

/** When a file with this identity was made. */
export function birthOf(identity: FileIdentity): Millis {
  return Number(identity.split(' ')[1])
}
