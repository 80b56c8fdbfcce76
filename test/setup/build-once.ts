import { existsSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { waitForFileLock } from '../../src/file-lock.ts'
import { systemClock } from '../../src/system.ts'

const timeout = 120_000
const pause = 50

/**
 * Builds a folder that several workers need once: the first makes it, the others wait. It is filled under another name,
 * so that a folder of this name is always whole.
 */
export async function buildOnce(folder: string, build: (directory: string) => Promise<unknown>): Promise<void> {
  if (existsSync(folder)) return
  mkdirSync(dirname(folder), { recursive: true })
  const lock = await waitForFileLock(`${folder}.lock`, { clock: systemClock, timeout, pause })
  if (!lock) throw new Error(`another process did not build ${folder} within ${timeout / 1000} s: end it, or try again`)
  try {
    if (existsSync(folder)) return
    const directory = mkdtempSync(`${folder}-`)
    await build(directory)
    renameSync(directory, folder)
  } finally {
    lock.remove()
  }
}
