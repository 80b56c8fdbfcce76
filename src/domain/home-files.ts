import type { Millis } from './clock.ts'

/** A file that the owner put into the home, as stat reports it. */
export interface HomeFile {
  /** Relative to the home, such as `memory/2026-11-03.md`. */
  path: string
  size: number
  modifiedAt: Millis
}

/** Such a file with its content; the text is empty for a binary file or an unchanged template. */
export interface ReadHomeFile extends HomeFile {
  /** Hash of its bytes. */
  hash: string
  text: string
}

/** The owner's files, as the search index reads them. Must not throw: a file that cannot be read is left out. */
export interface HomeFiles {
  /** Identity of their home among those that share a database; empty where the database is the home's own. */
  home: string
  /** All files, in small batches, so that other work can go on in between. */
  walk(): AsyncIterable<HomeFile[]>
  /** Undefined for a file that is gone or must not be read, `later` for one that is being written or is unreadable now. */
  read(path: string): Promise<ReadHomeFile | 'later' | undefined>
}
