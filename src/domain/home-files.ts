import type { Millis } from './clock.ts'

/** A file that the owner wrote into the home, as a look at the disk tells it. */
export interface HomeFile {
  /** From the home on, such as `memory/2026-11-03.md`. */
  path: string
  size: number
  modifiedAt: Millis
}

/** What is in such a file; no text where it holds none, or is a form that nobody has filled in. */
export interface ReadHomeFile extends HomeFile {
  /** Of its bytes. */
  hash: string
  text: string
}

/** The owner's files, for whoever makes them findable. Nothing here throws: a file that cannot be read is left out. */
export interface HomeFiles {
  /** All of them, a few at a time: between two answers everything else may go on. */
  walk(): AsyncIterable<HomeFile[]>
  /** Undefined for what is gone or not ours to read, `later` for what is being written or cannot be read just now. */
  read(path: string): Promise<ReadHomeFile | 'later' | undefined>
}
