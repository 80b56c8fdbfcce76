import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'

/** The system takes no more than 107 bytes for a socket's path, some take less. */
const longestPath = 100

/** Where people look for the socket of a home: the socket itself, or a link to it where this path is too long for one. */
export function socketName(runFolder: string): string {
  return join(runFolder, 'heddle.sock')
}

/** The path to connect to; undefined when there is nothing, or something that is not ours to trust. */
export function findSocket(runFolder: string): string | undefined {
  const name = socketName(runFolder)
  const found = lstatSync(name, { throwIfNoEntry: false })
  if (!found) return undefined
  const path = found.isSymbolicLink() ? readlinkSync(name) : name
  const socket = lstatSync(path, { throwIfNoEntry: false })
  return socket?.isSocket() && socket.uid === process.getuid?.() ? path : undefined
}

/**
 * Makes a socket appear where people look for it, already private: it is bound in a folder that only we can enter and
 * moved into place, over whatever a dead daemon has left there. The caller must be the only daemon of the home.
 */
export async function placeSocket(runFolder: string, bind: (path: string) => Promise<void>): Promise<PlacedSocket> {
  const name = socketName(runFolder)
  const isLong = Buffer.byteLength(name) > longestPath
  const folder = isLong ? shortFolder(runFolder) : runFolder
  const path = join(folder, 'heddle.sock')
  const hidden = mkdtempSync(join(folder, '.'))
  try {
    await bind(join(hidden, 's'))
    chmodSync(join(hidden, 's'), 0o600)
    renameSync(join(hidden, 's'), path)
    if (isLong) {
      symlinkSync(path, join(hidden, 'l'))
      renameSync(join(hidden, 'l'), name)
    }
  } finally {
    rmSync(hidden, { recursive: true, force: true })
  }
  return {
    path,
    remove() {
      rmSync(name, { force: true })
      rmSync(isLong ? folder : path, { recursive: isLong, force: true })
    },
  }
}

export interface PlacedSocket {
  path: string
  remove(): void
}

/** A folder of its own in the temporary directory, where anyone may have made one of this name before us. */
function shortFolder(runFolder: string): string {
  const name = createHash('sha256').update(runFolder).digest('hex').slice(0, 16)
  const folder = join(tmpdir(), `heddle-${name}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  const isOurs = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0
  if (isOurs && Buffer.byteLength(join(folder, 'heddle.sock')) <= longestPath) return folder
  throw new HeddleError(
    'socket_unsafe',
    isOurs ? `${dirname(folder)} is too long a path for a socket` : `${folder} is there and not private to you`,
    isOurs ? 'choose a shorter home with --home DIR' : `remove it, or choose a shorter home with --home DIR`,
  )
}
