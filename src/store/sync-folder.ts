import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs'
import type { Millis } from '../domain/clock.ts'

/** Fsyncs a folder, so that created, renamed and removed files survive a power cut. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Timestamp for file and schema names: sorts by time, valid on file systems and in PostgreSQL. */
export function stamp(moment: Millis): string {
  return new Date(moment).toISOString().replace('T', '_').replace('.', '_').replace(/[-:Z]/g, '')
}

/** First unused path: the path itself, or with -2, -3, … appended. Kept files are never overwritten. */
export function freePath(path: string, extension = ''): string {
  if (!existsSync(path + extension)) return path + extension
  for (let number = 2; ; number++)
    if (!existsSync(`${path}-${number}${extension}`)) return `${path}-${number}${extension}`
}
