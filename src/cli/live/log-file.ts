import { copyFileSync, fstatSync, statSync, truncateSync } from 'node:fs'
import type { Output } from '../io.ts'

const maxBytes = 5 * 1024 * 1024

/**
 * Keeps the log file of a daemon that `heddle open` started small: when it is full, its lines go to `FILE.1`, in place of those
 * that were there, and it starts empty. Returns what to call for each line; undefined if stderr is another place than this
 * file, whose size is the business of who chose it.
 */
export function keepLogSmall(file: string, stderr: Output): ((line: string) => void) | undefined {
  if (!isFile(file, stderr)) return undefined
  let bytes = statSync(file).size
  return (line) => {
    bytes += Buffer.byteLength(line)
    if (bytes < maxBytes) return
    copyFileSync(file, `${file}.1`)
    // It was opened for appending: the next line is its first.
    truncateSync(file)
    bytes = 0
  }
}

function isFile(file: string, { fd }: { fd?: number }): boolean {
  const named = statSync(file, { throwIfNoEntry: false })
  if (fd === undefined || !named) return false
  const { dev, ino } = fstatSync(fd)
  return named.dev === dev && named.ino === ino
}
