import { isUtf8 } from 'node:buffer'
import {
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  fsyncSync,
  lstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { lstat, mkdir, open, opendir, readdir, readlink, realpath, rename, rm, symlink, unlink } from 'node:fs/promises'

type Awaitable<T> = T | Promise<T>

/** The few things that handles ask of the system; whoever awaits them may use either disk. */
export interface Disk {
  lstat(path: string): Awaitable<Stats>
  /** The same; undefined where nothing is. */
  find(path: string): Awaitable<Stats | undefined>
  readlink(path: string): Awaitable<string>
  realpath(path: string): Awaitable<string>
  /** Opens for reading: follows no link at the end, and waits for nobody. */
  open(path: string): Awaitable<Descriptor>
  entries(path: string): Iterable<Dirent> | AsyncIterable<Dirent>
  /** All of them at once, which is faster. */
  list(path: string): Awaitable<Dirent[]>
  /** Directories whose names are no UTF-8: no text stands for them. */
  unnameable(path: string): Awaitable<Buffer[]>
  /** Makes a file and opens it for writing: refuses a name that is taken, also by a link that leads nowhere. */
  create(path: string): Promise<NewFile>
  makeDirectory(path: string): Promise<void>
  /** Takes the place of what has that name. */
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  /** With everything in it; links are removed and not followed. */
  removeTree(path: string): Promise<void>
  makeLink(target: string, path: string): Promise<void>
  renameBytes(from: Buffer, to: string): Promise<void>
  /** Lets its owner list a directory and change names in it; refuses a link. */
  open700(path: string): Promise<void>
  /** Where the system tells what a descriptor stands for. */
  descriptors: string
  /** What it tells there. Asked without a detour, since it answers from memory: no disk is waited for. */
  behind(descriptor: string): string
}

export interface Descriptor {
  fd: number
  stat(): Awaitable<Stats>
  read(into: Uint8Array, position: number): Awaitable<number>
  /** Resolves when it would survive a loss of power: of a directory its names, of a file its content. */
  sync(): Awaitable<void>
  close(): Awaitable<void>
}

/** A file that nobody else knows of yet. */
export interface NewFile {
  stat(): Promise<Stats>
  write(bytes: Uint8Array): Promise<void>
  setMode(mode: number): Promise<void>
  setOwner(uid: number, gid: number): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

const reading = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const making = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const newMode = 0o644
// Linux's O_PATH, which Node does not name.
const pathOnly = 0o10000000
// Most directories come in one piece.
const entriesAtOnce = 256

const shared: Pick<
  Disk,
  | 'descriptors'
  | 'behind'
  | 'create'
  | 'makeDirectory'
  | 'rename'
  | 'renameBytes'
  | 'remove'
  | 'removeTree'
  | 'makeLink'
  | 'open700'
> = {
  descriptors: '/proc/self/fd',
  behind: (descriptor) => readlinkSync(descriptor),
  async create(path) {
    const file = await open(path, making, newMode)
    return {
      stat: () => file.stat(),
      write: (bytes) => file.writeFile(bytes),
      setMode: (mode) => file.chmod(mode),
      setOwner: (uid, gid) => file.chown(uid, gid),
      sync: () => file.sync(),
      close: () => file.close(),
    }
  },
  makeDirectory: async (path) => void (await mkdir(path)),
  rename: (from, to) => rename(from, to),
  remove: (path) => unlink(path),
  removeTree: (path) => rm(path, { recursive: true, force: true }),
  makeLink: (target, path) => symlink(target, path),
  renameBytes: (from, to) => rename(from, to),
  async open700(path) {
    // By a descriptor that needs no permission, so that a link that is put in its place is not followed.
    const fd = openSync(path, pathOnly | constants.O_NOFOLLOW | constants.O_DIRECTORY)
    try {
      chmodSync(`/proc/self/fd/${fd}`, (fstatSync(fd).mode & 0o7777) | 0o700)
    } finally {
      closeSync(fd)
    }
  },
}

/** The disk as seen from the main thread, which it never holds up. */
export const patientDisk: Disk = {
  ...shared,
  lstat: (path) => lstat(path),
  find: (path) =>
    lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      return undefined
    }),
  readlink: (path) => readlink(path),
  realpath: (path) => realpath(path),
  async open(path) {
    const file = await open(path, reading)
    return {
      fd: file.fd,
      stat: () => file.stat(),
      read: async (into, position) => (await file.read(into, 0, into.length, position)).bytesRead,
      sync: () => file.sync(),
      close: () => file.close(),
    }
  },
  async *entries(path) {
    yield* await opendir(path, { bufferSize: entriesAtOnce })
  },
  list: (path) => readdir(path, { withFileTypes: true }),
  unnameable: (path) => undecodable(path),
}

/** The disk as seen from a thread that may be held up: several times as fast. */
export const directDisk: Disk = {
  ...shared,
  lstat: (path) => lstatSync(path),
  find: (path) => lstatSync(path, { throwIfNoEntry: false }),
  readlink: (path) => readlinkSync(path),
  realpath: (path) => realpathSync.native(path),
  open(path) {
    const fd = openSync(path, reading)
    return {
      fd,
      stat: () => fstatSync(fd),
      read: (into, position) => readSync(fd, into, 0, into.length, position),
      sync: () => fsyncSync(fd),
      close: () => closeSync(fd),
    }
  },
  list: (path) => readdirSync(path, { withFileTypes: true }),
  unnameable: (path) => undecodable(path),
  *entries(path) {
    const directory = opendirSync(path, { bufferSize: entriesAtOnce })
    try {
      for (let entry = directory.readSync(); entry; entry = directory.readSync()) yield entry
    } finally {
      directory.closeSync()
    }
  },
}

function undecodable(path: string): Buffer[] {
  return readdirSync(path, { withFileTypes: true, encoding: 'buffer' })
    .filter((entry) => entry.isDirectory() && !isUtf8(entry.name))
    .map(({ name }) => name)
}
