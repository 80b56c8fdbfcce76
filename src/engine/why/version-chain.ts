import type { Millis } from '../../domain/clock.ts'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import { CommandTimes } from './command-times.ts'
import { type LineAuthor, unknown } from './traced-line.ts'

/** A version of a file with the one that it came from. */
export interface VersionNode {
  /** Null for no file, empty for a content that was not read. */
  hash: string | null
  at: Millis
  /** When a survey found the file in this version again. */
  seenAt?: Millis
  /** The record of a command that found it, if nothing else recorded it. */
  foundBy?: FileVersion
  via: Via
  parent?: VersionNode
}

/**
 * How a version came about: it was there at first; a tool or a command left it; or it was not recorded, which is `unclear` if
 * even the version before is in doubt. `unread`: what the command started from was not read, or was changed meanwhile.
 */
type Via =
  | { kind: 'start' }
  | { kind: 'version'; version: FileVersion; isUnread?: true }
  | { kind: 'gap'; since: Millis; until: Millis; isUnclear?: true }

/** What the journals tell of the calls that left versions. */
interface VersionCalls {
  /** Whether a recorded change was made; undefined if that is no longer known. */
  isMade(version: FileVersion): Promise<boolean | undefined>
  /** Until when the call may have made its change, which is recorded before. */
  endOf(version: FileVersion): Promise<Millis>
}

/**
 * The sequence of versions that led to a file's content, from all that was recorded, oldest first. An undo goes back to the
 * version before the changes that it undid. A change that was recorded and never made is left out.
 */
export async function chainOf(
  versions: readonly FileVersion[],
  calls: VersionCalls,
  end: { hash: string | null; at: Millis } | undefined,
): Promise<VersionNode | undefined> {
  let node: VersionNode | undefined
  let last: { version: FileVersion; from: VersionNode } | undefined
  /** The node of this content: the current one, the one before a change that was not made, or one after a gap. */
  const reach = async (hash: string | null, at: Millis): Promise<VersionNode> => {
    if (!node) return { hash, at, via: { kind: 'start' } }
    if (node.hash === hash) return node
    const made = last && last.from.hash === hash ? await calls.isMade(last.version) : true
    if (last && made === false) return last.from
    const since = node.seenAt ?? node.at
    const gap: Via = { kind: 'gap', since, until: at, ...(made === undefined && { isUnclear: true as const }) }
    return { hash, at, via: gap, parent: node }
  }
  const commands = new CommandTimes(versions)
  for (const version of versions) {
    const { before, after, at, command } = version
    if (version.found) {
      node = node && putBack(node, at)
      // A command was at work on it, or another change was recorded meanwhile: these tell more.
      if (commands.within({ since: at, until: at + 1 }).some(({ callId }) => callId !== version.callId)) continue
      if (node && (await isMadeAfter(node, at, calls))) continue
      const reached: VersionNode = await reach(after, at)
      if (reached === node) node = { ...node, seenAt: at }
      else node = reached.parent === node ? { ...reached, foundBy: version } : reached
      last = undefined
      continue
    }
    if (version.runId === null) {
      node = (node && restored(node, after)) ?? (await reach(after, at))
      last = undefined
      continue
    }
    node = node && putBack(node, at)
    const isDuring =
      command !== undefined &&
      node !== undefined &&
      before !== node.hash &&
      (await isMadeAfter(node, command.since, calls))
    // Another change that was recorded while the command ran is what the survey saw.
    if (isDuring && node && after === node.hash) {
      node = { ...node, seenAt: at }
      continue
    }
    const found = isDuring && node?.hash === '' ? foundAtStart(version, node) : undefined
    const isUnread = node !== undefined && !found && (isDuring || before === '')
    const from: VersionNode = found ?? (isUnread && node ? node : await reach(before, command?.since ?? at))
    node = {
      hash: after,
      at,
      via: { kind: 'version', version, ...(isUnread && { isUnread: true as const }) },
      parent: from,
    }
    last = command ? undefined : { version, from }
  }
  node = node && putBack(node, end?.at ?? Number.MAX_SAFE_INTEGER)
  return end ? reach(end.hash, end.at) : node
}

/** What a command found, if all that came after it are versions of commands that ran at the same time: one of them was not read. */
function foundAtStart({ before, command }: FileVersion, node: VersionNode): VersionNode | undefined {
  const since = command?.since ?? 0
  const isRival = ({ via, at }: VersionNode) => via.kind === 'version' && via.version.command && at >= since
  let each: VersionNode | undefined = node
  while (each && each.hash !== before) each = isRival(each) ? each.parent : undefined
  return each
}

/** Whether a version may have come about after this time; a tool's change is recorded before it is made. */
async function isMadeAfter({ at, via }: VersionNode, since: Millis, calls: VersionCalls): Promise<boolean> {
  return at >= since || (via.kind === 'version' && !via.version.command && (await calls.endOf(via.version)) >= since)
}

/** Changes that an undo found undone already: a person had put the file back by hand. */
function putBack(node: VersionNode, until: Millis): VersionNode {
  const { via } = node
  if (via.kind !== 'version' || via.version.undoneAt === null || via.version.undoneAt > until) return node
  let first = node
  while (first.parent && first.via.kind === 'version' && first.via.version.undoneAt !== null) first = first.parent
  const at = via.version.undoneAt
  return { hash: first.hash, at, via: { kind: 'gap', since: node.at, until: at }, parent: node }
}

/** The version before the changes that an undo has undone: as far back as only those lie in between. */
function restored(node: VersionNode, hash: string | null): VersionNode | undefined {
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

/** Author of new lines where a command started from a content that was not read. */
export function authorOfUnread({ via, parent }: VersionNode): LineAuthor | undefined {
  if (via.kind !== 'version' || !via.isUnread) return undefined
  const { runId } = via.version
  return unknown(parent?.at ?? null, 'its content before a command was not read', runId === null ? [] : [runId])
}
