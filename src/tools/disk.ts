import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { lstat, open, opendir, readlink, realpath } from 'node:fs/promises'

type Awaitable<T> = T | Promise<T>

/** The few things that handles ask of the system; whoever awaits them may use either disk. */
export interface Disk {
  lstat(path: string): Awaitable<Stats>
  readlink(path: string): Awaitable<string>
  realpath(path: string): Awaitable<string>
  /** Opens for reading: follows no link at the end, and waits for nobody. */
  open(path: string): Awaitable<Descriptor>
  entries(path: string): AsyncIterable<Dirent>
  /** Where the system tells what a descriptor stands for. */
  descriptors: string
}

export interface Descriptor {
  fd: number
  stat(): Awaitable<Stats>
  read(into: Uint8Array, position: number): Awaitable<number>
  close(): Awaitable<void>
}

const reading = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const descriptors = '/proc/self/fd'

/** The disk as seen from the main thread, which it never holds up. */
export const patientDisk: Disk = {
  descriptors,
  lstat: (path) => lstat(path),
  readlink: (path) => readlink(path),
  realpath: (path) => realpath(path),
  async open(path) {
    const file = await open(path, reading)
    return {
      fd: file.fd,
      stat: () => file.stat(),
      read: async (into, position) => (await file.read(into, 0, into.length, position)).bytesRead,
      close: () => file.close(),
    }
  },
  async *entries(path) {
    yield* await opendir(path)
  },
}

/** The disk as seen from a thread that may be held up: several times as fast. */
export const directDisk: Disk = {
  descriptors,
  lstat: (path) => lstatSync(path),
  readlink: (path) => readlinkSync(path),
  realpath: (path) => realpathSync.native(path),
  open(path) {
    const fd = openSync(path, reading)
    return {
      fd,
      stat: () => fstatSync(fd),
      read: (into, position) => readSync(fd, into, 0, into.length, position),
      close: () => closeSync(fd),
    }
  },
  async *entries(path) {
    const directory = opendirSync(path)
    try {
      for (let entry = directory.readSync(); entry; entry = directory.readSync()) yield entry
    } finally {
      directory.closeSync()
    }
  },
}
