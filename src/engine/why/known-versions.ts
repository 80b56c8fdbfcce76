import { type FileVersion, versionsOfFile } from '../../store/rows/files/file-versions.ts'
import type { Reading } from '../../store/store.ts'
import { namesInFolders } from '../files/file-author.ts'

/** Max versions of a file that are followed; before them its lines have unknown authors. */
export const maxVersions = 20_000

/** Versions of files, each file's read once: a line may be followed to the same file many times. */
export class KnownVersions {
  readonly #rows: Reading
  readonly #known = new Map<string, FileVersion[]>()

  constructor(rows: Reading) {
    this.#rows = rows
  }

  add(path: string, versions: FileVersion[]): void {
    this.#known.set(path, versions)
  }

  /** Versions of the file at an absolute path, oldest first. */
  async of(path: string): Promise<FileVersion[]> {
    const known = this.#known.get(path)
    if (known) return known
    const versions = await versionsOfFile(this.#rows, namesInFolders(path), maxVersions)
    this.add(path, versions)
    return versions
  }
}
