import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import type { MemoryImport } from '../../../api/views/memory.ts'
import { placeFile, toFileError } from '../../../config/files.ts'
import { HeddleError } from '../../../domain/errors.ts'
import { countNoun } from '../../../domain/text/count-noun.ts'
import type { CommandContext, CommandResult } from '../../command.ts'
import { wholeInput } from '../../input/piped-input.ts'
import { joinFirst } from '../../pages/memory-page.ts'
import { printable } from '../../terminal/screen.ts'

const maxImportBytes = 256 * 1024 * 1024

/** Exports all current memories, with `all` the archive too, to a new file or stdout. */
export async function exportMemory(
  here: CommandContext,
  file: string | undefined,
  all: boolean,
): Promise<CommandResult | undefined> {
  const client = await here.client()
  if (file === undefined && here.json) {
    const memories = await client.memories({ limit: 1_000_000, all })
    return { json: { memories }, text: '' }
  }
  if (file === undefined) {
    // Untrusted text may hold escape sequences, which a terminal would obey.
    const isTerminal = here.io.stdout.isTTY === true
    for await (const piece of client.exportMemories({ all }))
      await here.write(isTerminal ? printable(piece, { lines: true }) : piece)
    return undefined
  }
  const pieces: string[] = []
  for await (const piece of client.exportMemories({ all })) pieces.push(piece)
  const path = here.pathOf(file)
  try {
    if (!(await placeFile(path, pieces.join(''))))
      throw new HeddleError('file_exists', `${file} already exists`, 'use another name, or move it out of the way')
  } catch (error) {
    throw toFileError(error, 'file_unwritable', `cannot write ${file}`)
  }
  // The first piece is the header.
  const count = pieces.length - 1
  return {
    json: { ok: true, file: path, count },
    text: `wrote ${countNoun(count, 'memory')} to ${printable(file)} (private to you)    heddle memory import ${printable(file)}`,
  }
}

/** Imports an exported file, and reports what is new and what to check. */
export async function importMemory(here: CommandContext, file: string, trust: boolean): Promise<CommandResult> {
  const text = decoded(file === '-' ? await wholeInput(here.io) : bytesOf(here, file), file)
  const name = file === '-' ? 'standard input' : basename(file)
  const report = await (await here.client()).importMemories(text, { name, trust })
  return { json: { ok: true, ...report }, text: pageOf(report) }
}

function pageOf({ imported, skipped, distrusted, alike, archived }: MemoryImport): string {
  const pairs = joinFirst(alike.map(({ id, with: other }) => `memory:${id} and memory:${other}`))
  return [
    `imported ${countNoun(imported.length, 'memory')}, already here ${skipped}    heddle memory`,
    ...(distrusted > 0
      ? [`  ${distrusted} untrusted, because anyone can write a file; --trust is for files you vouch for`]
      : []),
    ...(archived > 0
      ? [`  ${countNoun(archived, 'memory')} moved to the archive: memory.most in heddle.yaml sets how many are kept`]
      : []),
    ...(pairs === null ? [] : [`  look alike, all kept: ${pairs}    heddle memory show ID`]),
  ].join('\n')
}

function bytesOf({ pathOf }: CommandContext, file: string): Buffer {
  try {
    if (statSync(pathOf(file)).size > maxImportBytes)
      throw new HeddleError('bad_import', `${file} is larger than 256 MB`, 'split it at the start of a memory')
    return readFileSync(pathOf(file))
  } catch (error) {
    if (error instanceof HeddleError) throw error
    throw new HeddleError(
      'file_unreadable',
      `${file} cannot be read (${(error as Error).message})`,
      'use a file that `heddle memory export` wrote',
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
