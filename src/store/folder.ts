import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs'
import type { Millis } from '../domain/clock.ts'

/** Makes names that were added to or taken from a folder survive a power cut. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** A moment as a part of a name: sorts by time, and both file systems and PostgreSQL accept it. */
export function stamp(moment: Millis): string {
  return new Date(moment).toISOString().replace('T', '_').replace('.', '_').replace(/[-:Z]/g, '')
}

/** The path itself, or with the first of -2, -3, … that nothing has: what is kept is never overwritten. */
export function freePath(path: string, extension = ''): string {
  if (!existsSync(path + extension)) return path + extension
  for (let number = 2; ; number++)
    if (!existsSync(`${path}-${number}${extension}`)) return `${path}-${number}${extension}`
}
