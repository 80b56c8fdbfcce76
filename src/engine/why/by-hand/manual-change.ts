import type { Millis } from '../../../domain/clock.ts'
import type { FileVersion } from '../../../store/rows/files/file-versions.ts'
import { mayRestore } from '../../../tools/exec/copied-files.ts'
import { decodeText } from '../../../tools/files/text-kind.ts'
import { type LineMap, lineBefore } from '../../files/line-map.ts'
import { linesIn } from '../../files/match-lines.ts'
import { newLine, possibleOrigins } from '../../files/possible-origins.ts'
import type { OpenLines } from '../open-lines.ts'
import { type LineAuthor, type MovedFile, mergeTracedLines, type TracedLine, type Tracer } from '../traced-line.ts'
import type { VersionNode } from '../version-chain.ts'
import type { VersionLines } from '../version-lines.ts'
import { manualOrigins } from './manual-origins.ts'
import { mayReplaceVersion } from './replaced-file.ts'
import { restoredLines, withRestored } from './restored-lines.ts'
import { isInPlace } from './same-file.ts'

/** A version of a file; `author`: of lines that no known content explains. `versionLines` reads the lines of versions. */
interface ChangedFile {
  file: MovedFile
  node: VersionNode
  author: LineAuthor
  versionLines: VersionLines
}

/** A line with a number. */
type OpenLine = { line: number }

/**
 * Lines that, after a change by the user or another program, may come from elsewhere than the version before: from another file that
 * replaced this one, or from an earlier content. `origins`: of each line in the version before.
 */
export async function linesFromElsewhere(
  tracer: Tracer,
  changed: ChangedFile & { node: { hash: string }; since: Millis },
  open: readonly OpenLine[],
  origins: readonly number[][],
): Promise<Map<number, TracedLine>> {
  const { file, node, since, author, versionLines } = changed
  const kept = new Set(origins.flatMap((from, line) => (from.includes(newLine) ? [] : line)))
  const isMostlyNew = kept.size * 2 < origins.length
  const lines = open.map(({ line }) => line)
  const changedFile = { ...file, since, kept, isInPlace: await isInPlace(tracer, file, node) }
  const found = await manualOrigins(tracer, changedFile, node.hash, lines, author)
  const all = (found?.traced ?? []).map((each, at): [number, TracedLine] => [lines[at] ?? 0, each])
  // A kept line is in doubt only if a file with exactly this content or a better match may have replaced this one; a "}" among new
  // lines, if any similar file may have.
  const mayBeReplaced = found?.hasExactMatch || found?.mayBeReplaced
  const isInDoubt = (line: number) => mayBeReplaced || !kept.has(line) || (isMostlyNew && found?.isTrivial[line])
  const moved = new Map(all.filter(([line, each]) => each.author !== author && isInDoubt(line)))
  const written: TracedLine = { author, transfers: [] }
  const content = await versionLines.contentOf(node)
  const lineCount = (await versionLines.textsOf(node.parent)).length
  const mayReplace = await mayReplaceVersion(tracer, file, node, { content, kept, lineCount })
  for (const line of mayReplace ? lines : []) {
    const from = moved.get(line)
    if (!from || !found?.isProved)
      moved.set(line, mergeTracedLines([written, ...(from ? [from] : [])], { since, why: replaced }))
  }
  if (found?.isProved) return moved
  for (const [line, restored] of await restoredIn(tracer, changed, origins, lines)) {
    const isNew = origins[line]?.includes(newLine)
    moved.set(line, withRestored(moved.get(line) ?? (isNew ? written : undefined), restored, since))
  }
  return moved
}

const replaced = 'another file may have been put in its place'

/** Lines of a file that was not there, or is another one that was renamed; undefined if they come from no known content. */
export async function linesOfNewFile(
  tracer: Tracer,
  changed: ChangedFile & { node: { hash: string } },
  open: readonly OpenLine[],
): Promise<TracedLine[] | undefined> {
  const { node, author } = changed
  const since = node.via.kind === 'gap' ? node.via.since : undefined
  const lines = open.map(({ line }) => line)
  const file = since === undefined ? changed.file : { ...changed.file, since }
  const found = await manualOrigins(tracer, file, node.hash, lines, author)
  const { renamed } = file
  if (found?.isProved || (since === undefined && !renamed)) return found?.traced
  const restored = await restoredIn(
    tracer,
    changed,
    renamed ? await originsInRenamed(tracer, changed, renamed) : [],
    lines,
  )
  if (!found && restored.size === 0) return undefined
  const written: TracedLine = { author, transfers: [] }
  return lines.map((line, at) =>
    withRestored(found?.traced[at] ?? written, restored.get(line), since ?? renamed?.at ?? node.at),
  )
}

/**
 * Lines of a content that a command may have brought back, as `git stash pop` does, with the origins of all lines in the version
 * before by the recorded map. Undefined if there are none.
 */
export async function linesRestoredByCommand(
  tracer: Tracer,
  { authorOf, ...left }: Omit<ChangedFile, 'author'> & { authorOf: () => Promise<LineAuthor> },
  map: LineMap,
  open: OpenLines,
): Promise<{ origins: number[][]; author: LineAuthor; moved: Map<number, TracedLine> } | undefined> {
  const { node, versionLines } = left
  const { via, hasReturned, parent } = node
  // A file may have thousands of versions, and most bring none of the lines that are followed.
  if (via.kind !== 'version' || !via.version.command || !(hasReturned || open.hasUnmapped(map))) return undefined
  if (!(await versionLines.contentOf(node))) return undefined
  if (!mayRestore((await tracer.calls.commandOf(via.version)) ?? '', via.version)) return undefined
  const isNew = (line: number) => lineBefore(map, line) === undefined
  const lines = open.lines().flatMap(({ line }) => (hasReturned || isNew(line) ? line : []))
  const origins = (await versionLines.textsOf(node)).map((_, line) => [lineBefore(map, line) ?? newLine])
  const author = await authorOf()
  const file = { ...left.file, before: via.version }
  const restored = await restoredIn(tracer, { ...left, file, author }, origins, lines)
  if (restored.size === 0) return undefined
  const written: TracedLine = { author, transfers: [] }
  const moved = [...restored].map(([line, earlier]): [number, TracedLine] => [
    line,
    withRestored(isNew(line) ? written : undefined, earlier, parent?.at ?? node.at),
  ])
  return { origins, author, moved: new Map(moved) }
}

/** Possible origins of each line of a file in the version that it was before it was renamed. */
async function originsInRenamed(tracer: Tracer, { node, versionLines }: ChangedFile, renamed: FileVersion) {
  const before = await textsOfVersion(tracer, renamed)
  return possibleOrigins(before, await versionLines.textsOf(node))
}

async function textsOfVersion({ contents }: Tracer, version: FileVersion): Promise<string[]> {
  const bytes = version.after ? await contents.get(version.after, version) : undefined
  return linesIn((bytes && decodeText(bytes)) ?? '')
}

async function restoredIn(
  tracer: Tracer,
  { file, node, versionLines }: ChangedFile,
  origins: readonly number[][],
  lines: readonly number[],
): Promise<Map<number, TracedLine[]>> {
  const { hash, parent } = node
  const texts = await versionLines.textsOf(node)
  const before = file.renamed ? await textsOfVersion(tracer, file.renamed) : await versionLines.textsOf(parent)
  const beforeHash = (file.renamed ? file.renamed.after : parent?.hash) ?? null
  const change = { hash: hash ?? '', beforeHash, texts, before, origins }
  return restoredLines(tracer, file, change, lines)
}
