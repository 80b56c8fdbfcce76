import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { type FileVersion, versionsOfCall } from '../../store/rows/files/file-versions.ts'
import type { Reading } from '../../store/store.ts'
import { birthOf } from '../../tools/files/fingerprint.ts'
import { fileTimeSlackMs } from './by-hand/content-holders.ts'
import { CommandTimes, lastChange, runsOfVersions } from './command-times.ts'
import { maxVersions } from './known-versions.ts'
import { type LineAuthor, type TracedFile, unknownAuthor } from './traced-line.ts'
import { madeElsewhere, UnseenCommands } from './unseen-commands.ts'
import { authorOfUnread, type VersionNode } from './version-chain.ts'

const otherNames = 'the file has several hard links, and changes by another name are not recorded'

/** Authors of the lines that are new in a version of a file. */
export class VersionAuthors {
  readonly #gaps = new Map<VersionNode, LineAuthor>()
  readonly #commands = new WeakMap<readonly FileVersion[], CommandTimes>()
  readonly #fromElsewhere = new WeakMap<FileVersion, boolean>()
  readonly #rows: Reading
  readonly #unseen: UnseenCommands

  constructor(rows: Reading, protect: ProtectedPlaces) {
    this.#rows = rows
    this.#unseen = new UnseenCommands(rows, protect)
  }

  /** Author of the lines that a version has and the one before it does not. */
  async authorOf(file: TracedFile, node: VersionNode): Promise<LineAuthor> {
    const { via } = node
    if (via.kind === 'version')
      return (
        (await this.#concurrentAuthor(file, via.version)) ??
        ((await this.isFromElsewhere(via.version)) ? await this.#authorOfOlder(file.path, via.version) : undefined) ??
        authorOfUnread(node) ?? { by: 'version', version: via.version }
      )
    const known = this.#gaps.get(node)
    if (known) return known
    const author = await this.#authorOfGap(file, node)
    this.#gaps.set(node, author)
    return author
  }

  /** Unknown if commands of other runs ran at the same time: each may have made the change. */
  async #concurrentAuthor(file: TracedFile, { command, at, runId }: FileVersion): Promise<LineAuthor | undefined> {
    if (!command) return undefined
    const span = { since: command.since, until: at }
    const others = [
      ...this.#commandsOf(file).within(span),
      ...(await this.#unseen.unsurveyed(file.path, span)),
    ].flatMap((each) => each.runId ?? [])
    if (others.every((other) => other === runId)) return undefined
    const runIds = [...new Set([...(runId === null ? [] : [runId]), ...others])]
    return unknownAuthor(command.since, 'commands of several runs ran at that time', runIds)
  }

  /**
   * Whether the file that a command left is older than the command, and not one of those that it found: it came from a place where nothing
   * looks.
   */
  async isFromElsewhere(version: FileVersion): Promise<boolean> {
    const known = this.#fromElsewhere.get(version) ?? (await this.#comesFromElsewhere(version))
    this.#fromElsewhere.set(version, known)
    return known
  }

  async #comesFromElsewhere({ identity, command, replaced, runId, callId }: FileVersion): Promise<boolean> {
    if (!command || identity === undefined || identity === replaced?.identity) return false
    if (birthOf(identity) >= command.since - fileTimeSlackMs) return false
    const changed = await versionsOfCall(this.#rows, runId ?? '', callId ?? '')
    return !changed.some((each) => each.replaced?.identity === identity)
  }

  /** Author of a file that came from where nothing looks: any command may have changed it there. */
  async #authorOfOlder(path: string, { identity = '', modifiedAt, command, runId }: FileVersion): Promise<LineAuthor> {
    const [madeAt, start] = [birthOf(identity), command?.since ?? 0]
    const until = Math.min(modifiedAt ?? start, start)
    const elsewhere = await this.#unseen.authorElsewhere(path, [madeAt, until])
    const runIds = elsewhere?.by === 'unknown' ? elsewhere.runIds : []
    const between = await this.#unseen.runsBetween(path, { since: madeAt, until })
    const isChanged = modifiedAt === undefined || modifiedAt + fileTimeSlackMs >= start
    const own = isChanged && runId !== null ? [runId] : []
    const all = [...new Set([...own, ...runIds, ...between])]
    return all.length === 0 ? { by: 'before' } : unknownAuthor(madeAt, madeElsewhere, all)
  }

  #commandsOf({ versions: followed, all: versions = followed }: TracedFile): CommandTimes {
    const known = this.#commands.get(versions) ?? new CommandTimes(versions)
    this.#commands.set(versions, known)
    return known
  }

  async #authorOfGap(file: TracedFile, { via, parent }: VersionNode): Promise<LineAuthor> {
    const { path, changedAt, hasOtherNames } = file
    if (via.kind !== 'gap') return { by: 'outside' }
    const { since, isUnclear } = via
    const until = Math.max(since, lastChange(via.until, changedAt))
    if (isUnclear) return unknownAuthor(since, 'it is not known whether the last recorded change was made')
    if (parent?.hash === '')
      return unknownAuthor(
        since,
        'its content after a command was not read',
        await this.possibleRunsOf(file, [parent.via]),
      )
    const during = this.#commandsOf(file).within({ since, until })
    if (during.length > 0) return unknownAuthor(since, 'a command ran at that time', runsOfVersions(during))
    return (
      (await this.#unseen.authorOf(path, { since, until })) ??
      (hasOtherNames ? unknownAuthor(since, otherNames) : { by: 'outside' })
    )
  }

  /** Author of the first known content of a file. */
  async authorOfStart(file: TracedFile, node: VersionNode): Promise<LineAuthor> {
    const { path, versions, changedAt, hasOtherNames } = file
    if (versions.length >= maxVersions) return unknownAuthor(node.at, `it has more than ${maxVersions} versions`)
    if (node.hash === '') return unknownAuthor(node.at, 'its content before a command was not read')
    const until = lastChange(node.at, changedAt)
    // Commands that ran until the file was first seen, and did not find this content at their start.
    const during = this.#commandsOf(file)
      .within({ since: 0, until })
      .filter(({ before }) => before !== node.hash)
    if (during.length > 0) {
      const since = Math.min(...during.map(({ command }) => command?.since ?? 0))
      return unknownAuthor(since, 'a command ran at that time', runsOfVersions(during))
    }
    const unseen = await this.#unseen.authorOf(path, { since: 0, until })
    return unseen ?? (hasOtherNames ? unknownAuthor(null, otherNames) : { by: 'before' })
  }

  /**
   * Author of the first known content of a file which no recorded one explains: unknown if a command ran when the file was made or
   * written, which may have been in an ignored place.
   */
  async authorOfUnexplained(file: TracedFile, node: VersionNode): Promise<LineAuthor> {
    const author = await this.authorOfStart(file, node)
    const { path, identity, modifiedAt } = file
    const times = [identity === undefined ? undefined : birthOf(identity), modifiedAt]
    return author.by === 'before' ? ((await this.#unseen.authorElsewhere(path, times)) ?? author) : author
  }

  /** Runs that left these versions, and of concurrent commands. */
  async possibleRunsOf(file: TracedFile, all: (VersionNode['via'] | undefined)[]): Promise<string[]> {
    const runIds: string[] = []
    for (const via of all) {
      if (via?.kind !== 'version') continue
      const concurrent = await this.#concurrentAuthor(file, via.version)
      runIds.push(...(concurrent?.by === 'unknown' ? concurrent.runIds : runsOfVersions([via.version])))
    }
    return [...new Set(runIds)]
  }
}
