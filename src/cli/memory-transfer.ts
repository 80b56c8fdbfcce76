import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { fileTrouble, placeFile } from '../config/files.ts'
import { HeddleError } from '../domain/errors.ts'
import type { MemoryImport } from '../domain/memory-views.ts'
import type { Answer, Here } from './cli.ts'
import { few } from './memory-page.ts'
import { wholeInput } from './piped.ts'
import { printable } from './screen.ts'

const largestFile = 256 * 1024 * 1024

/** Everything that counts, with `all` the archive, too, into a file of its own or to stdout. */
export async function exportMemory(here: Here, file: string | undefined, all: boolean): Promise<Answer | undefined> {
  const app = await here.app()
  if (file === undefined && here.json) {
    const memories = await app.memories({ limit: 1_000_000, all })
    return { json: { memories }, text: '' }
  }
  if (file === undefined) {
    // A terminal would obey what strangers put into their words.
    const isSeen = here.io.stdout.isTTY === true
    for await (const piece of app.exportMemories({ all }))
      await here.write(isSeen ? printable(piece, { lines: true }) : piece)
    return undefined
  }
  const pieces: string[] = []
  for await (const piece of app.exportMemories({ all })) pieces.push(piece)
  const path = here.pathOf(file)
  try {
    if (!(await placeFile(path, pieces.join(''))))
      throw new HeddleError('file_exists', `there is a file ${file} already`, 'name another, or move it away')
  } catch (error) {
    throw fileTrouble(error, 'file_unwritable', `Cannot write ${file}`)
  }
  // The first piece is the head.
  const count = pieces.length - 1
  return {
    json: { ok: true, file: path, count },
    text: `wrote ${memoriesCounted(count)} to ${printable(file)} (private to you)    heddle memory import ${printable(file)}`,
  }
}

/** Reads such a file, and says what is new here and what has to be looked at. */
export async function importMemory(here: Here, file: string, trust: boolean): Promise<Answer> {
  const text = decoded(file === '-' ? await wholeInput(here.io) : bytesOf(here, file), file)
  const name = file === '-' ? 'standard input' : basename(file)
  const report = await (await here.app()).importMemories(text, { name, trust })
  return { json: { ok: true, ...report }, text: pageOf(report) }
}

function pageOf({ imported, skipped, distrusted, alike, archived }: MemoryImport): string {
  const pairs = few(alike.map(({ id, with: other }) => `memory:${id} and memory:${other}`))
  return [
    `imported ${memoriesCounted(imported.length)}, already here ${skipped}    heddle memory`,
    ...(distrusted > 0
      ? [`  ${distrusted} untrusted, since a file proves nothing; --trust is for those that you vouch for`]
      : []),
    ...(archived > 0
      ? [`  ${memoriesCounted(archived)} went to the archive: memory.most in heddle.yaml is how many are kept`]
      : []),
    ...(pairs === null ? [] : [`  look alike, and are kept: ${pairs}    heddle memory show ID`]),
  ].join('\n')
}

function memoriesCounted(count: number): string {
  return count === 1 ? '1 memory' : `${count} memories`
}

function bytesOf({ pathOf }: Here, file: string): Buffer {
  try {
    if (statSync(pathOf(file)).size > largestFile)
      throw new HeddleError('bad_import', `${file} is larger than 256 MB`, 'split it at a line that begins a memory')
    return readFileSync(pathOf(file))
  } catch (error) {
    if (error instanceof HeddleError) throw error
    throw new HeddleError(
      'file_unreadable',
      `${file} cannot be read (${(error as Error).message})`,
      'name a file that `heddle memory export` wrote',
    )
  }
}

function decoded(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new HeddleError('bad_import', `${file} is not UTF-8`, 'save it as UTF-8 in your editor')
  }
}
