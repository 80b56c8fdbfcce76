import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { FileName } from '../../store/rows/files/file-versions.ts'
import { hasEntry, hashNow } from '../files/file-now.ts'

/** Files on the disk, each looked at once per answer: many lines and versions lead to the same ones. */
export class DiskState {
  readonly #protect: ProtectedPlaces
  readonly #entries = new Map<string, boolean>()
  readonly #hashes = new Map<string, string | null | undefined>()

  constructor(protect: ProtectedPlaces) {
    this.#protect = protect
  }

  /** Whether a directory has an entry of this name. */
  async has({ folder, path }: FileName): Promise<boolean> {
    const key = `${folder}\0${path}`
    const known = this.#entries.get(key) ?? (await hasEntry({ folder, path, protect: this.#protect }))
    this.#entries.set(key, known)
    return known
  }

  /** Hash of a file; null if it does not exist, undefined if it cannot be read. */
  async hashOf({ folder, path }: FileName): Promise<string | null | undefined> {
    const key = `${folder}\0${path}`
    if (!this.#hashes.has(key)) this.#hashes.set(key, await hashNow({ folder, path, protect: this.#protect }))
    return this.#hashes.get(key)
  }
}
