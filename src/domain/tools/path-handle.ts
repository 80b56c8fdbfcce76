import type { Millis } from '../clock.ts'

/** Kind of a directory entry. `link` occurs only where links are not followed. */
export type Kind = 'file' | 'directory' | 'link' | 'other'

/**
 * Status of a path, with links followed as long as they stay inside the folder. `outside` does not reveal whether anything
 * exists there.
 */
type PathStatus =
  | {
      kind: 'file' | 'directory' | 'other'
      /** Absolute real path, and its components relative to the folder. */
      path: string
      names: string[]
      bytes: number
      times: FileTimes
      /** Names that the file has, on the whole disk: hard links. */
      links: number
    }
  | { kind: 'missing' }
  | { kind: 'outside' }

/**
 * A tool's path argument, resolved by the runtime: the tool's only access to that path. It never leaves the folder, even
 * if another process swaps links meanwhile. Files it opens are closed after use.
 */
export interface PathHandle {
  /** Path relative to the folder, for messages; `.` is the folder itself. */
  readonly shown: string
  /** Lets a worker thread create the same handle. */
  readonly address: PathAddress
  stat(): Promise<PathStatus>
  /** Refuses anything but a file inside the folder, with a message for the model. */
  openFile<T>(use: (file: OpenFile) => Promise<T>): Promise<T>
  /** Likewise for a directory. */
  openDirectory<T>(use: (directory: OpenDirectory) => Promise<T>): Promise<T>
  /**
   * Decides the file's new state under a lock and applies it atomically: readers see the old content or the new. Creates missing
   * directories. Refuses a path that cannot be a file inside the folder. `onWritten` is called with the times of a file that was written.
   */
  replaceFile<T>(
    decide: (place: FileLocation) => Promise<{ state: NewFileState; answer: T }>,
    onWritten?: (times: FileTimes) => void,
  ): Promise<T>
}

/** Location of an existing or new file, verified to lie inside the folder. */
export interface FileLocation {
  /** The folder's real path, and the path components below it. */
  readonly folder: string
  readonly names: readonly string[]
  /** The existing file; undefined when there is none. */
  readonly before: FileContent | undefined
}

export interface FileContent {
  bytes: Buffer
  /** Permission bits. */
  mode: number
  times: FileTimes
}

/** Inode of a file and when it was made: many are made in one tick of the clock, and inodes are used again. */
export type FileIdentity = string

/** When a file was last changed, as only the kernel sets it, and its content last modified: a move changes only the former. */
export interface FileTimes {
  changedAt: Millis
  modifiedAt: Millis
  /** Absent if the file system does not tell when files are made. A file keeps it whatever it is called and whoever writes into it. */
  identity?: FileIdentity
}

/** New state of a file; an existing mode is kept unless given. */
export type NewFileState = { bytes: Buffer; mode?: number } | 'removed' | 'kept'

/**
 * Paths that the runtime itself trusts: no tool and no command may change them. They may be links and need not exist.
 */
export interface ProtectedPlaces {
  /** Files and directories that are treated as outside every folder. */
  readonly hidden: readonly string[]
  /** Files and directories that can be read but not changed. */
  readonly readOnly: readonly string[]
  /** Directories in which no command may run: the runtime's own sources. */
  readonly noCommands: readonly string[]
  /** The user's own git configuration; if absent, that of the user who runs this process. */
  readonly userGit?: UserGit
}

/** Files of the user's git configuration, besides those of a repository. */
export interface UserGit {
  home: string
  configs: readonly string[]
}

/** For folders that hold no files of the runtime. */
export const nothingProtected: ProtectedPlaces = { hidden: [], readOnly: [], noCommands: [] }

export interface PathAddress {
  folder: string
  path: string
  protect?: ProtectedPlaces
}

/** An open file, verified to lie inside the folder. */
export interface OpenFile {
  readonly bytes: number
  /** Path components relative to the folder. */
  readonly names: string[]
  /** Fills the buffer from a position of the file on; returns the bytes read, 0 at the end. */
  read(into: Uint8Array, position: number): Promise<number>
}

/** An open directory, verified to lie inside the folder. */
export interface OpenDirectory {
  /** Path components relative to the folder. */
  readonly names: string[]
  /** In directory order, unsorted. */
  entries(): AsyncIterable<{ name: string; kind: Kind }>
  /** Sizes of entries, 0 for one that cannot be read; links are not followed. */
  bytes(names: readonly string[]): Promise<number[]>
  /** Whether there is an entry of that name. */
  has(name: string): Promise<boolean>
  /** Fingerprint that changes when the entry is written, replaced or gets other permissions; links are not followed. */
  mark(name: string): Promise<string>
  /**
   * Content, times and fingerprint of a plain file of at most so many bytes; undefined for every other entry, for one that changed
   * meanwhile, and for those that must be opened by their handle.
   */
  content(name: string, maxBytes: number): Promise<{ mark: string; times: FileTimes; bytes: Buffer } | undefined>
  /** The handle of an entry. */
  at(name: string): PathHandle
}
