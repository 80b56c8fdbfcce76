import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
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
  if (!isPrivate(dirname(path))) return undefined
  const socket = lstatSync(path, { throwIfNoEntry: false })
  return socket?.isSocket() && socket.uid === process.getuid?.() ? path : undefined
}

/**
 * Makes a socket appear where people look for it, already private: it is bound in a folder that only we can enter and
 * moved into place, over whatever a dead daemon has left there. The caller must be the only daemon of the home. Where
 * the path in the home is too long for a socket it goes into the other folder, if there is one.
 */
export async function placeSocket(
  { runFolder, otherFolder }: SocketFolders,
  bind: (path: string) => Promise<void>,
): Promise<PlacedSocket> {
  const name = socketName(runFolder)
  const isLong = Buffer.byteLength(name) > longestPath
  const folder = isLong ? shortFolder(runFolder, otherFolder) : runFolder
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

export interface SocketFolders {
  /** Of the home: where clients look. */
  runFolder: string
  /** Private to the user, and with a shorter path. */
  otherFolder?: string | undefined
}

export interface PlacedSocket {
  path: string
  remove(): void
}

function shortFolder(runFolder: string, folder: string | undefined): string {
  const remedy = 'choose a shorter home with --home DIR, or set XDG_RUNTIME_DIR to a directory that is private to you'
  if (folder === undefined || Buffer.byteLength(join(folder, 'heddle.sock')) > longestPath)
    throw new HeddleError('socket_unsafe', `${runFolder} is too long a path for a socket`, remedy)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // Whoever can write to a directory around the socket can put another one in its place.
  const shared = [folder, dirname(folder), dirname(dirname(folder))].find((each) => !isPrivate(each))
  if (shared !== undefined)
    throw new HeddleError('socket_unsafe', `${shared} is not private to you, so no socket is put there`, remedy)
  return folder
}

function isPrivate(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
}
