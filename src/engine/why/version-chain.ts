import type { Millis } from '../../domain/clock.ts'
import type { FileTimes } from '../../domain/tools/path-handle.ts'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import { isSignificantLine } from '../../tools/guard/shared-lines.ts'
import { hashesInRow, hashLine } from '../files/line-hashes.ts'
import type { CallFacts } from './call-facts.ts'
import { CommandTimes } from './command-times.ts'
import { type LineAuthor, unknownAuthor } from './traced-line.ts'

/** A version of a file, with the one before it. */
export interface VersionNode {
  /** Null if there was no file, empty if its content was not read. */
  hash: string | null
  at: Millis
  /** When a survey last saw this version again. */
  seenAt?: Millis
  /** Record of the command that found it, if there is no other record. */
  foundBy?: FileVersion
  /** Times of the file, if a tool recorded them when it replaced this version, which has no other record. */
  times?: FileTimes
  via: Via
  parent?: VersionNode
  /** A command left a content that the file had before. */
  hasReturned?: true
}

/**
 * How a version was made. `start`: it is the first known one. `version`: by a tool or a command; `isUnread` if the content before the
 * command was not read, or was changed meanwhile. `gap`: not recorded; `isUnclear` if even the version before is in doubt.
 */
type Via =
  | { kind: 'start' }
  | { kind: 'version'; version: FileVersion; isUnread?: true }
  | { kind: 'gap'; since: Millis; until: Millis; isUnclear?: true }

type VersionCalls = Pick<CallFacts, 'isMade' | 'endOf'>

/**
 * The chain of versions that led to a file's content, from all its records, oldest first. An undo goes back to the version before the
 * changes that it undid. A change that was recorded and never made is left out.
 */
export async function chainOf(
  versions: readonly FileVersion[],
  calls: VersionCalls,
  end: { hash: string | null; at: Millis } | undefined,
): Promise<VersionNode | undefined> {
  let node: VersionNode | undefined
  let last: { version: FileVersion; from: VersionNode } | undefined
  /** The node with this content: the current one, the one before a change that was not made, or a new one after a gap. */
  const nodeWith = async (hash: string | null, at: Millis, times?: FileTimes): Promise<VersionNode> => {
    if (!node) return { hash, at, via: { kind: 'start' }, ...(times && { times }) }
    if (node.hash === hash) return node
    const made = last && last.from.hash === hash ? await calls.isMade(last.version) : true
    if (last && made === false) return last.from
    const since = node.seenAt ?? node.at
    const gap: Via = { kind: 'gap', since, until: at, ...(made === undefined && { isUnclear: true as const }) }
    return { hash, at, via: gap, parent: node, ...(times && { times }) }
  }
  const commands = new CommandTimes(versions)
  const known = new Set<string | null>()
  for (const version of versions) {
    const { before, after, at, command } = version
    if (version.found) {
      node = node && applyManualRestore(node, at)
      // Records of concurrent commands and changes tell more than this survey.
      if (commands.within({ since: at, until: at + 1 }).some(({ callId }) => callId !== version.callId)) continue
      if (node && (await isMadeAfter(node, at, calls))) continue
      const next: VersionNode = await nodeWith(after, at)
      if (next === node) node = { ...node, seenAt: at }
      else node = next.parent === node ? { ...next, foundBy: version } : next
      last = undefined
      continue
    }
    if (version.runId === null) {
      const undone: VersionNode | undefined = node && versionBeforeUndo(node, after)
      node = undone ? { ...undone, at } : await nodeWith(after, at)
      last = undefined
      continue
    }
    node = node && applyManualRestore(node, at)
    const isChangedMeanwhile =
      command !== undefined &&
      node !== undefined &&
      before !== node.hash &&
      (await isMadeAfter(node, command.since, calls))
    // The survey saw a concurrent change, which has a record of its own.
    if (isChangedMeanwhile && node && after === node.hash) {
      node = { ...node, seenAt: at }
      continue
    }
    const found = isChangedMeanwhile && node?.hash === '' ? stateSeenBy(version, node) : undefined
    const isUnread = node !== undefined && !found && (isChangedMeanwhile || before === '')
    const from: VersionNode =
      found ?? (isUnread && node ? node : await nodeWith(before, command?.since ?? at, version.replaced))
    known.add(from.hash)
    node = {
      hash: after,
      at,
      via: { kind: 'version', version, ...(isUnread && { isUnread: true as const }) },
      parent: from,
      ...(command && after && known.has(after) && { hasReturned: true as const }),
    }
    known.add(after)
    last = command ? undefined : { version, from }
  }
  node = node && applyManualRestore(node, end?.at ?? Number.MAX_SAFE_INTEGER)
  return end ? nodeWith(end.hash, end.at) : node
}

/** The version that a command found at its start, if all later ones are of concurrent commands, of which one was not read. */
function stateSeenBy({ before, command }: FileVersion, node: VersionNode): VersionNode | undefined {
  const since = command?.since ?? 0
  const isConcurrent = ({ via, at }: VersionNode) => via.kind === 'version' && via.version.command && at >= since
  let each: VersionNode | undefined = node
  while (each && each.hash !== before) each = isConcurrent(each) ? each.parent : undefined
  return each
}

/** Whether a version may have been made after this time; a tool's change is recorded before it is made. */
async function isMadeAfter({ at, via }: VersionNode, since: Millis, calls: VersionCalls): Promise<boolean> {
  return at >= since || (via.kind === 'version' && !via.version.command && (await calls.endOf(via.version)) >= since)
}

/** Adds the version that the user restored, if an undo found the last changes undone already. */
function applyManualRestore(node: VersionNode, until: Millis): VersionNode {
  const { via } = node
  if (via.kind !== 'version' || via.version.undoneAt === null || via.version.undoneAt > until) return node
  let first = node
  while (first.parent && first.via.kind === 'version' && first.via.version.undoneAt !== null) first = first.parent
  const at = via.version.undoneAt
  return { hash: first.hash, at, via: { kind: 'gap', since: node.at, until: at }, parent: node }
}

/** The version before the changes that an undo has undone: the earliest with only these in between, else the nearest. */
function versionBeforeUndo(node: VersionNode, hash: string | null): VersionNode | undefined {
  let found: VersionNode | undefined
  let nearest: VersionNode | undefined
  let isOnlyUndone = true
  for (let each: VersionNode | undefined = node; each; each = each.parent) {
    if (each.hash === hash) {
      nearest ??= each
      if (isOnlyUndone) found = each
    }
    isOnlyUndone &&= each.via.kind === 'version' && each.via.version.undoneAt !== null
    if (!isOnlyUndone && nearest) break
  }
  return found ?? nearest
}

/** Max runs that are named for a line which cannot be followed. */
const maxNamed = 50

/** Runs of versions up to this one that brought a line, as far as it has a hash; of others all runs. */
export function runsThatBrought(last: VersionNode | undefined): (text: string) => string[] {
  const versions: FileVersion[] = []
  for (let node = last; node; node = node.parent) if (node.via.kind === 'version') versions.push(node.via.version)
  return (text) => {
    const wanted = isSignificantLine(text) ? new Set([hashLine(text)]) : undefined
    const isFrom = ({ lineHashes }: FileVersion) =>
      !wanted || lineHashes === null || hashesInRow(lineHashes, wanted).length > 0
    return [...new Set(versions.filter(isFrom).flatMap(({ runId }) => runId ?? []))].slice(0, maxNamed)
  }
}

/** Author of new lines if the content before a command was not read. */
export function authorOfUnread({ via, parent }: VersionNode): LineAuthor | undefined {
  if (via.kind !== 'version' || !via.isUnread) return undefined
  const { runId } = via.version
  return unknownAuthor(parent?.at ?? null, 'its content before a command was not read', runId === null ? [] : [runId])
}
