import type { Coverage } from '../approval.ts'
import type { FileTimes } from './path-handle.ts'

/**
 * Changes of a folder's files during a call, from a scan before and one after it; also those that other processes made.
 * Paths are relative to the folder, links are not followed.
 */
export interface TouchedFiles {
  /** The folder's real path. */
  folder: string
  created: string[]
  changed: string[]
  removed: string[]
  /** Number of further paths that are not listed. */
  more: number
  /** Number of them that have no version; absent if no versions were recorded. */
  unrecorded?: number
  /** Kinds of files that were not scanned, such as `ignored files`; absent if all were. */
  passedOver?: string[]
  /** A command's changes to files that surveys hide; absent if there were none, or no scan. */
  hidden?: HiddenChanges
  /** What else of a command can carry text; absent if there is none, or no scan. */
  others?: OtherChanges
}

/** New directories whose names are more than a plain word, and changes in git's own files; surveys tell users of neither. */
export interface OtherChanges {
  /** Some of the paths, relative to the folder. */
  paths: string[]
  /** Number of further paths that are not listed. */
  more: number
}

/** Changes in ignored files, packages and git's configuration: they end every grant except one for this very command. */
export interface HiddenChanges {
  by: Pick<Coverage, 'cwd' | 'pattern' | 'confinement'>
  /** Some of the paths, relative to the folder. */
  paths: string[]
  /** Number of further paths that are not listed. */
  more: number
}

/** File changes of a call; `unseen` is the reason why they could not be scanned. */
export type Touched = TouchedFiles | { unseen: string }

/** A file's content; `bytes` are absent if it is binary, or too large to be kept. */
export interface ReadContent {
  /** Empty if it was not read. */
  sha256: string
  bytes?: Buffer
  /** Of the file when it was read. */
  times?: FileTimes
}

/** A file before and after a command. */
export interface CommandVersion {
  path: string
  /** Null if there was no file. */
  before: ReadContent | null
  after: ReadContent | null
  /** The file with these lines that was moved or copied there; its path is empty where several files come into question. */
  origin?: { path: string; content: ReadContent }
}

/** A folder's files before a command: fingerprints of all, and the contents of those that were read. */
export interface FolderBefore {
  marks: ReadonlyMap<string, string>
  contents: ReadonlyMap<string, ReadContent>
}

/** Files of a folder that a command changed; `left` counts those for which there was no room. */
export interface CommandVersions {
  folder: string
  versions: CommandVersion[]
  left: number
  before: FolderBefore
}

/** A call that cannot be undone, and its observed file changes. */
export interface UnsafeCall {
  name: string
  about: string
  /** Absent if the files were not scanned. */
  touched?: Touched
}
