import { join } from 'node:path'
import { compareVersions, type FileVersion } from '../../store/rows/files/file-versions.ts'
import { decodeText } from '../../tools/files/text-kind.ts'
import { isEarlier } from './content-holders.ts'
import { significantLines } from './similar-versions.ts'
import type { TracedFile, Tracer } from './traced-line.ts'

/**
 * The last version of a file that this one is, renamed and perhaps changed since; undefined if there is none, or that is not known.
 * Only files that had a line of it are looked at, and its own earlier versions: it may have been moved away and back.
 */
export async function findRenamed(tracer: Tracer, file: TracedFile, hash: string): Promise<FileVersion | undefined> {
  const bytes = file.bornAt === undefined ? undefined : await tracer.contents.get(hash)
  const text = bytes && decodeText(bytes)
  if (text === undefined) return undefined
  const lines = significantLines(text)
  const { files } = await tracer.index.filesWith(file.path, lines, lines)
  const found: FileVersion[] = []
  for (const path of [file.path, ...files.map(({ name }) => join(name.folder, name.path))]) {
    const versions = await tracer.versions.of(path)
    const last = await findLastOf(tracer, file, versions)
    if (last) found.push(last)
  }
  return found.sort(compareVersions).at(-1)
}

async function findLastOf(
  tracer: Tracer,
  file: TracedFile,
  versions: readonly FileVersion[],
): Promise<FileVersion | undefined> {
  for (const version of versions.toReversed())
    if (isEarlier(version, file) && (await isSameFile(tracer, file, version))) return version
  return undefined
}

/** Whether a file is the one that a version left, by the time at which it was made; undefined if that is not known. */
export async function isSameFile(
  tracer: Tracer,
  { bornAt }: TracedFile,
  version: FileVersion,
): Promise<boolean | undefined> {
  const birth = bornAt === undefined || version.after === null ? undefined : await tracer.calls.birthOf(version)
  return birth === undefined ? undefined : birth === bornAt
}
