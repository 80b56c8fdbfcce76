/** What lies at a path. A `link` is told apart only where it is not followed. */
export type Kind = 'file' | 'directory' | 'link' | 'other'

/**
 * What a look at a path shows, links followed as far as they stay inside. Of what lies `outside` nothing is told, not
 * even whether it is there.
 */
export type Sight =
  | {
      kind: 'file' | 'directory' | 'other'
      /** The whole real path, and the names that lead to it from the folder on. */
      path: string
      names: string[]
      bytes: number
    }
  | { kind: 'missing' }
  | { kind: 'outside' }

/**
 * A path that a tool was asked for, as the runtime resolved it: the only way to what lies there. It never leads out of
 * the folder, whatever links say and whoever changes them meanwhile; what it opens is closed after use.
 */
export interface PathHandle {
  /** The path from the folder on, for telling; `.` is the folder itself. */
  readonly shown: string
  /** From which a thread makes the same handle. */
  readonly address: PathAddress
  look(): Promise<Sight>
  /** Refuses whatever is not a file inside the folder, in words for the model. */
  openFile<T>(use: (file: OpenFile) => Promise<T>): Promise<T>
  /** Likewise for a directory. */
  openDirectory<T>(use: (directory: OpenDirectory) => Promise<T>): Promise<T>
  /**
   * Decides what becomes of the file here while its place is held, and does it: whoever looks sees the old content or the
   * new, whole. Directories that are missing are made. Refuses what is not a place for a file inside the folder.
   */
  replaceFile<T>(decide: (place: FilePlace) => Promise<{ fate: Fate; answer: T }>): Promise<T>
}

/** A place where a file is or could be, known to lie inside. */
export interface FilePlace {
  /** The folder's real path, and the names that lead to the place from there on. */
  readonly folder: string
  readonly names: readonly string[]
  /** What lies there; undefined when nothing does. */
  readonly before: FoundFile | undefined
}

export interface FoundFile {
  bytes: Buffer
  /** Who may read, write and execute it. */
  mode: number
}

/** What becomes of a file; one that had a mode keeps it unless told otherwise. */
export type Fate = { bytes: Buffer; mode?: number } | 'removed' | 'kept'

/**
 * What the runtime itself trusts, wherever it lies: no tool and no command changes it. Paths may be links and need not
 * exist.
 */
export interface ProtectedPlaces {
  /** Files and directories that count as outside every folder. */
  readonly hidden: readonly string[]
  /** Files and directories that can be read and not changed. */
  readonly readOnly: readonly string[]
  /** Directories in which no command runs at all: the runtime's own sources. */
  readonly noCommands: readonly string[]
}

/** For a folder that certainly holds nothing of the runtime. */
export const nothingProtected: ProtectedPlaces = { hidden: [], readOnly: [], noCommands: [] }

export interface PathAddress {
  folder: string
  path: string
  protect?: ProtectedPlaces
}

/** A file that is open and known to lie inside. */
export interface OpenFile {
  readonly bytes: number
  /** The names that lead to it from the folder on. */
  readonly names: string[]
  /** Fills the buffer from a position of the file on; tells how much there was, 0 at the end. */
  read(into: Uint8Array, position: number): Promise<number>
}

/** A directory that is open and known to lie inside. */
export interface OpenDirectory {
  /** The names that lead to it from the folder on. */
  readonly names: string[]
  /** In the order of the disk. */
  entries(): AsyncIterable<{ name: string; kind: Kind }>
  /** The sizes of entries, 0 for one that cannot be looked at; links are not followed. */
  bytes(names: readonly string[]): Promise<number[]>
  /** Whether there is an entry of that name. */
  has(name: string): Promise<boolean>
  /** Differs as soon as an entry was written to, replaced or given other permissions; a link is not followed. */
  mark(name: string): Promise<string>
  /** The handle of an entry. */
  at(name: string): PathHandle
}
