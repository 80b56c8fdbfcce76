import { join } from 'node:path'
import type { FileVersion } from '../../../store/rows/files/file-versions.ts'
import { isSignificantLine } from '../../../tools/guard/shared-lines.ts'
import type { LineAuthor, MovedFile, TracedLine, Tracer } from '../traced-line.ts'
import { mayBeOlder } from './content-holders.ts'
import { mayBeRestored, wereSwapped } from './restored-content.ts'

/** A content that other files had, its lines traced in each of them, and those that their runs had been given. */
interface EqualContent {
  all: readonly TracedLine[][]
  texts: readonly string[]
  given: ReadonlySet<number>
}

/**
 * Whether an equal content must be a copy, though times do not tell: two files changed places, or it came about here, and nothing
 * speaks against a copy.
 */
export async function isCopied(
  tracer: Tracer,
  file: MovedFile,
  holders: readonly FileVersion[],
  content: EqualContent,
): Promise<boolean> {
  if (await wereSwapped(tracer, file, holders)) return true
  // Half of it was here before: it may have been edited until it was equal.
  const mayBeEdited = file.kept !== undefined && file.kept.size * 2 >= content.texts.length
  return !mayBeEdited && isDistinctive(content) && !(await mayBeOther(tracer, file, holders))
}

/** Fewer lines of an author may be equal elsewhere by chance. */
const minDistinctive = 3

/**
 * Whether a content came about here: a run typed a part of it, and the rest is of others. What one run wrote alone, or a command left,
 * may be from elsewhere as a whole: a licence, a template, the output of a generator.
 */
function isDistinctive({ all, texts, given }: EqualContent): boolean {
  const telling = [...texts.entries()].filter(([, text]) => isSignificantLine(text))
  const count = new Set(telling.map(([, text]) => text)).size
  return all.some((traced) => {
    const typed = new Map<string, Set<string>>()
    for (const [line, text] of telling) {
      const author = traced[line]?.author
      const runId = author && !given.has(line) ? toolVersionOf(author)?.runId : undefined
      if (runId) typed.set(runId, (typed.get(runId) ?? new Set()).add(text))
    }
    return [...typed.values()].some((own) => own.size >= minDistinctive && count - own.size >= minDistinctive)
  })
}

/** Whether a content may be something else than a copy of these versions: restored, older than they are, or of another project. */
async function mayBeOther(tracer: Tracer, file: MovedFile, holders: readonly FileVersion[]): Promise<boolean> {
  if (await mayBeRestored(tracer, file, holders)) return true
  let isAnyNear = false
  for (const version of holders) {
    if (mayBeOlder(file, version)) return true
    isAnyNear ||= await tracer.index.isNear(file.path, join(version.folder, version.path))
  }
  return !isAnyNear && !(await areGone(tracer, holders))
}

/** Whether the files of these versions no longer exist, and no command is recorded that moved or removed them. */
export async function areGone(tracer: Tracer, versions: readonly FileVersion[]): Promise<boolean> {
  for (const { folder, path } of versions) {
    if (await tracer.disk.has({ folder, path })) return false
    const last = (await tracer.versions.of(join(folder, path))).at(-1)
    if (last?.after === null) return false
  }
  return true
}

/** The version by which a tool wrote a line; undefined if another author did. */
export function toolVersionOf(author: LineAuthor): FileVersion | undefined {
  const isTool = author.by === 'version' && !author.version.command && author.version.runId !== null
  return isTool ? author.version : undefined
}

/** Lines whose runs were given them before they wrote them: they may have copied them from here. */
export async function linesGiven(
  tracer: Tracer,
  all: readonly TracedLine[][],
  texts: readonly string[],
): Promise<Set<number>> {
  const byVersion = new Map<FileVersion, number[]>()
  for (const traced of all)
    for (const [line, { author }] of traced.entries()) {
      const version = author.by === 'version' && author.version.runId !== null ? author.version : undefined
      if (version) byVersion.set(version, [...(byVersion.get(version) ?? []), line])
    }
  const given = new Set<number>()
  for (const [version, own] of byVersion) {
    const before = await tracer.calls.givenBefore(version)
    if (before.hadLines(own.map((line) => texts[line] ?? ''))) for (const line of own) given.add(line)
  }
  return given
}
