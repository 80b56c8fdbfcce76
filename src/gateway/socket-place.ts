import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'

/** Max length of a socket path: Linux allows 107 bytes, other systems less. */
const maxPathBytes = 100

/** Path where clients look for the socket of a home: the socket, or a link to it if this path is too long for a socket. */
export function socketName(runFolder: string): string {
  return join(runFolder, 'heddle.sock')
}

/** The path to connect to; undefined if there is no socket, or it is not private to this user. */
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
 * Binds a socket in a private temporary folder and moves it into place, so that it is never visible with open
 * permissions; replaces what a dead daemon left. The caller must be the only daemon of the home. If the path in the home
 * is too long for a socket, the socket goes into the fallback folder.
 */
export async function placeSocket(
  { runFolder, fallbackFolder }: SocketFolders,
  bind: (path: string) => Promise<void>,
): Promise<PlacedSocket> {
  const name = socketName(runFolder)
  const isLong = Buffer.byteLength(name) > maxPathBytes
  const folder = isLong ? shortFolder(runFolder, fallbackFolder) : runFolder
  const path = join(folder, 'heddle.sock')
  const staging = mkdtempSync(join(folder, '.'))
  try {
    await bind(join(staging, 's'))
    chmodSync(join(staging, 's'), 0o600)
    renameSync(join(staging, 's'), path)
    if (isLong) {
      symlinkSync(path, join(staging, 'l'))
      renameSync(join(staging, 'l'), name)
    }
  } finally {
    rmSync(staging, { recursive: true, force: true })
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
  /** Folder in the home where clients look. */
  runFolder: string
  /** Private to the user, and with a shorter path. */
  fallbackFolder?: string | undefined
}

interface PlacedSocket {
  path: string
  remove(): void
}

function shortFolder(runFolder: string, folder: string | undefined): string {
  const remedy = 'choose a shorter home with --home DIR, or set XDG_RUNTIME_DIR to a directory that is private to you'
  if (folder === undefined || Buffer.byteLength(join(folder, 'heddle.sock')) > maxPathBytes)
    throw new HeddleError('socket_unsafe', `${runFolder} is too long a path for a socket`, remedy)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // A user who can write to a directory above the socket can replace the socket.
  const shared = [folder, dirname(folder), dirname(dirname(folder))].find((each) => !isPrivate(each))
  if (shared !== undefined)
    throw new HeddleError('socket_unsafe', `${shared} is not private to you, so no socket is put there`, remedy)
  return folder
}

function isPrivate(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
}
