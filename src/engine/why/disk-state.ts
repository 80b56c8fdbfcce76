import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { FileName } from '../../store/rows/files/file-versions.ts'
import { type FileNow, fileNow, hasEntry } from '../files/file-now.ts'

/** Files on the disk, each looked at once per answer: many lines and versions lead to the same ones. */
export class DiskState {
  readonly #protect: ProtectedPlaces
  readonly #entries = new Map<string, boolean>()
  readonly #files = new Map<string, FileNow | undefined>()

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

  /** Undefined if it cannot be read. */
  async read({ folder, path }: FileName): Promise<FileNow | undefined> {
    const key = `${folder}\0${path}`
    if (!this.#files.has(key))
      this.#files.set(key, await fileNow({ folder, path, protect: this.#protect }).catch(() => undefined))
    return this.#files.get(key)
  }
}
