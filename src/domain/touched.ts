import type { Coverage } from './approval.ts'

/**
 * What became of the files of a folder while a call was made, as a look before and one after it tell: paths from the
 * folder on, links as such, whoever changed them.
 */
export interface TouchedFiles {
  /** The folder's real path. */
  folder: string
  created: string[]
  changed: string[]
  removed: string[]
  /** How many there are besides those that are named. */
  more: number
  /** Kinds of files that were not looked at, in words, such as `ignored files`; absent where all were. */
  passedOver?: string[]
  /** What a command did to files that surveys hide; absent where nothing was done to them, or nobody looked. */
  hidden?: HiddenChanges
}

/** Changes in ignored files, packages and what git obeys: a grant lapses by them unless it is for this very command. */
export interface HiddenChanges {
  by: Pick<Coverage, 'cwd' | 'pattern' | 'confinement'>
  /** Some of the paths, from the folder on. */
  paths: string[]
  /** How many there are besides those that are named. */
  more: number
}

/** What a call did to files; `unseen` is why nobody could look. */
export type Touched = TouchedFiles | { unseen: string }

/** A call that nobody can take back, and what it was seen to do. */
export interface UnsafeCall {
  name: string
  about: string
  /** Absent where nobody looked. */
  touched?: Touched
}
