import { join, relative } from 'node:path'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import { decodeText } from '../../tools/files/text-kind.ts'
import { isSignificantLine } from '../../tools/guard/shared-lines.ts'
import { linesIn } from '../files/match-lines.ts'
import { findHolders, traceHolders } from './by-hand/content-holders.ts'
import { isShortText } from './by-hand/telling-lines.ts'
import {
  type LineAuthor,
  mergeTracedLines,
  type TracedFile,
  type TracedLine,
  type Tracer,
  unknownAuthor,
} from './traced-line.ts'

/**
 * Traces lines of a content that other files had when a command left it: of those that a step of the command copies. If none does, the
 * command may have copied any of them, or written each line itself. Undefined if there are none, or the content may be equal by chance.
 */
export async function traceCopiedContent(
  tracer: Tracer,
  file: TracedFile,
  { version, author }: { version: FileVersion; author: LineAuthor },
  lines: readonly number[],
): Promise<TracedLine[] | undefined> {
  const copied = { ...file, before: version }
  const holders = await findHolders(tracer, copied, version.after ?? '')
  if (holders.length === 0) return undefined
  const command = (await tracer.calls.commandOf(version)) ?? ''
  const transfers = await tracer.calls.transfersOf(version)
  const isSource = (each: FileVersion) =>
    transfers(relative(version.folder, join(each.folder, each.path)), version.path)
  const sources = holders.filter(isSource)
  const texts = await textsOfContent(tracer, version)
  if (sources.length === 0 && texts.length > 0 && isShortText(texts.join('\n'))) return undefined
  const { all, isCut } = await traceHolders(tracer, copied, sources.length > 0 ? sources : holders, lines, version)
  const doubt = { since: null, why: equalAfterCommand }
  const others: TracedLine[] = [
    ...(sources.length > 0 ? [] : [{ author, transfers: [] }]),
    ...(isCut ? [{ author: unknownAuthor(doubt.since, doubt.why), transfers: [] }] : []),
  ]
  return lines.map((line, at) => {
    const isOwn = sources.length === 0 && isInCommand(command, texts[line])
    return mergeTracedLines([...others, ...(isOwn ? [] : all.flatMap((each) => each[at] ?? []))], doubt)
  })
}

async function textsOfContent(tracer: Tracer, version: FileVersion): Promise<string[]> {
  const bytes = await tracer.contents.get(version.after ?? '', version)
  return linesIn((bytes && decodeText(bytes)) ?? '')
}

/** Whether a command has a line in its own text, as in a here-document: then it need not be a copy. */
export function isInCommand(command: string, line = ''): boolean {
  return isSignificantLine(line) && command.includes(line.trim())
}

export const equalAfterCommand = 'a command wrote or copied it, and another file had the same content'
