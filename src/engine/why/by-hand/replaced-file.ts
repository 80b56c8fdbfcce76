import { birthOf } from '../../../tools/files/fingerprint.ts'
import { decodeText } from '../../../tools/files/text-kind.ts'
import { isSignificantLine } from '../../../tools/guard/shared-lines.ts'
import { linesIn } from '../../files/match-lines.ts'
import type { TracedFile, Tracer } from '../traced-line.ts'
import type { VersionNode } from '../version-chain.ts'
import { fileTimeSlackMs } from './content-holders.ts'
import { isSameFile } from './same-file.ts'
import { hasWord } from './telling-lines.ts'

/** A content, and which of its lines the version before had, too. */
interface ComparedContent {
  content: Buffer | undefined
  kept: ReadonlySet<number>
  /** Number of lines of the version before. */
  lineCount: number
}

/**
 * Whether a file may have been put in the place of the version before, instead of being an edit of that: it is older, or another file
 * with little in common, or has only such lines in common as many files have, or the run of that version had been given lines of it.
 * Then lines that both have need not be the same ones.
 */
export async function mayReplaceVersion(
  tracer: Tracer,
  file: TracedFile,
  { parent }: VersionNode,
  { content, kept: keptLines, lineCount }: ComparedContent,
): Promise<boolean> {
  const texts = linesIn((content && decodeText(content)) ?? '')
  const kept = texts.filter((_, at) => keptLines.has(at))
  const added = texts.filter((_, at) => !keptLines.has(at))
  if (added.length > 0 && kept.length < lineCount && areTrivial(kept, texts.length)) return true
  const before = parent?.via.kind === 'version' ? parent.via.version : undefined
  if (!before) return false
  const { identity, modifiedAt } = file
  const madeAt = (before.command?.since ?? before.at) - fileTimeSlackMs
  if (modifiedAt !== undefined && modifiedAt < madeAt) return true
  const isSame = await isSameFile(tracer, file, before)
  if (identity !== undefined && isSame === false && birthOf(identity) < madeAt) return true
  // An editor that saves a new file keeps what it had read.
  if (isSame === false && kept.length < added.length && kept.length < lineCount) return true
  if (before.command || before.runId === null) return false
  const given = await tracer.calls.givenBefore(before)
  return (added.length === 0 ? isSame === false : given.hadLines(added)) && given.hadLines(kept)
}

/** Whether these are lines that any other file may have, too: brackets and empty ones, or a few short ones such as numbers. */
function areTrivial(kept: readonly string[], lineCount: number): boolean {
  if (kept.some(isSignificantLine)) return false
  return kept.length * 2 < lineCount || !kept.some(hasWord)
}
