import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chmodSync, constants, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** For what the workers of this run share. */
    runFolder: string
    /** For databases: on a disk, most of the time of a test is spent waiting for fsync. */
    databaseFolder: string
  }
}

const memory = '/dev/shm'
const enoughBytes = 2 * 1024 ** 3

/** Makes the folders of this test run, in memory where there is room for databases, and removes them at its end. */
export default async function provideRunFolders(project: TestProject): Promise<() => Promise<void>> {
  const runFolder = newFolder(tmpdir())
  const databaseFolder = hasRoomInMemory() ? newFolder(memory) : runFolder
  project.provide('runFolder', runFolder)
  project.provide('databaseFolder', databaseFolder)
  // However the run ends, kill -9 included, its input closes and the folders go. Without a word before, the server of
  // postgres.ts is only about to stop, and needs its files for that.
  const sweep = 'trap "" INT HUP TERM; read -r _ || sleep 5; rm -rf "$@"'
  const sweeper = spawn('/bin/sh', ['-c', sweep, 'sweep', runFolder, databaseFolder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  return async () => {
    const swept = once(sweeper, 'exit')
    sweeper.stdin.end('now\n')
    await swept
  }
}

function newFolder(parent: string): string {
  const folder = mkdtempSync(join(parent, 'heddle-run-'))
  // As the one of the system is: servers and programs that run as another user make their own in it.
  chmodSync(folder, 0o1777)
  return folder
}

function hasRoomInMemory(): boolean {
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize >= enoughBytes
  } catch {
    return false
  }
}
