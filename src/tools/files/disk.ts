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

/** File system operations of handles. Callers that await results can use either disk. */
export interface Disk {
  lstat(path: string): Awaitable<Stats>
  /** The same; undefined if nothing is there. */
  find(path: string): Awaitable<Stats | undefined>
  readlink(path: string): Awaitable<string>
  realpath(path: string): Awaitable<string>
  /** Opens for reading: does not follow a final link, and never blocks on a pipe. */
  open(path: string): Awaitable<Descriptor>
  entries(path: string): Iterable<Dirent> | AsyncIterable<Dirent>
  /** All entries at once, which is faster. */
  list(path: string): Awaitable<Dirent[]>
  /** Directories whose names are not valid UTF-8. */
  unnameable(path: string): Awaitable<Buffer[]>
  /** Creates a file and opens it for writing: refuses a name that is taken, even by a dangling link. */
  create(path: string): Promise<NewFile>
  makeDirectory(path: string): Promise<void>
  /** Replaces an existing entry. */
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  /** Removes recursively; links are not followed. */
  removeTree(path: string): Promise<void>
  makeLink(target: string, path: string): Promise<void>
  renameBytes(from: Buffer, to: string): Promise<void>
  /** Adds rwx for the owner to a directory; refuses a link. */
  grantOwnerAccess(path: string): Promise<void>
  /** Directory in which the system shows what a descriptor refers to. */
  descriptors: string
  /** Real path behind a descriptor. Synchronous, since the kernel answers from memory. */
  pathBehind(descriptor: string): string
  /** The same without a way through a thread, for small files outside a session's folder: its disk may be slow, theirs is not. */
  readonly atOnce: Disk
}

export interface Descriptor {
  fd: number
  stat(): Awaitable<Stats>
  read(into: Uint8Array, position: number): Awaitable<number>
  /** fsync: makes a directory's names or a file's content durable. */
  sync(): Awaitable<void>
  close(): Awaitable<void>
}

/** A new file that no other process knows of yet. */
export interface NewFile {
  stat(): Promise<Stats>
  write(bytes: Uint8Array): Promise<void>
  setMode(mode: number): Promise<void>
  setOwner(uid: number, gid: number): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const newMode = 0o644
// Linux's O_PATH, which Node does not export.
const pathOnly = 0o10000000
// Enough to read most directories in one piece.
const entriesAtOnce = 256

const shared: Pick<
  Disk,
  | 'descriptors'
  | 'pathBehind'
  | 'create'
  | 'makeDirectory'
  | 'rename'
  | 'renameBytes'
  | 'remove'
  | 'removeTree'
  | 'makeLink'
  | 'grantOwnerAccess'
> = {
  descriptors: '/proc/self/fd',
  pathBehind: (descriptor) => readlinkSync(descriptor),
  async create(path) {
    const file = await open(path, createFlags, newMode)
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
  async grantOwnerAccess(path) {
    // By an O_PATH descriptor, which needs no permission, so that a swapped-in link is not followed.
    const fd = openSync(path, pathOnly | constants.O_NOFOLLOW | constants.O_DIRECTORY)
    try {
      chmodSync(`/proc/self/fd/${fd}`, (fstatSync(fd).mode & 0o7777) | 0o700)
    } finally {
      closeSync(fd)
    }
  },
}

/** Asynchronous disk for the main thread. */
export const asyncDisk: Disk = {
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
    const file = await open(path, readFlags)
    return {
      fd: file.fd,
      // Synchronous, since opening it has made the system ask for it.
      stat: () => fstatSync(file.fd),
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
  get atOnce() {
    return syncDisk
  },
}

/** Synchronous disk for worker threads: several times as fast. */
export const syncDisk: Disk = {
  ...shared,
  lstat: (path) => lstatSync(path),
  find: (path) => lstatSync(path, { throwIfNoEntry: false }),
  readlink: (path) => readlinkSync(path),
  realpath: (path) => realpathSync.native(path),
  open(path) {
    const fd = openSync(path, readFlags)
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
  get atOnce() {
    return syncDisk
  },
}

function undecodable(path: string): Buffer[] {
  return readdirSync(path, { withFileTypes: true, encoding: 'buffer' })
    .filter((entry) => entry.isDirectory() && !isUtf8(entry.name))
    .map(({ name }) => name)
}
