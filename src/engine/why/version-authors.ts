import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import type { Reading } from '../../store/store.ts'
import { CommandTimes, lastChange, writingRuns } from './command-times.ts'
import { maxVersions } from './known-versions.ts'
import { type LineAuthor, type Place, unknown } from './traced-line.ts'
import { UnseenCommands } from './unseen-commands.ts'
import { authorOfUnread, type VersionNode } from './version-chain.ts'

const otherNames = 'the file has several hard links, and changes by another name are not recorded'

/** Authors of what is new in the versions of files. */
export class VersionAuthors {
  readonly #gaps = new Map<VersionNode, LineAuthor>()
  readonly #commands = new WeakMap<readonly FileVersion[], CommandTimes>()
  readonly #unseen: UnseenCommands

  constructor(rows: Reading, protect: ProtectedPlaces) {
    this.#unseen = new UnseenCommands(rows, protect)
  }

  /** Author of the lines that a version has and the one before it has not. */
  async of(place: Place, node: VersionNode): Promise<LineAuthor> {
    const { via } = node
    if (via.kind === 'version')
      return (await this.#rivals(place, via.version)) ?? authorOfUnread(node) ?? { by: 'version', version: via.version }
    const known = this.#gaps.get(node)
    if (known) return known
    const author = await this.#gap(place, node)
    this.#gaps.set(node, author)
    return author
  }

  /** Of commands that ran at the same time, each may have made the change. */
  async #rivals(place: Place, { command, at, runId }: FileVersion): Promise<LineAuthor | undefined> {
    if (!command) return undefined
    const span = { since: command.since, until: at }
    const others = [
      ...this.#commandsOf(place).within(span),
      ...(await this.#unseen.unsurveyed(place.path, span)),
    ].flatMap((each) => each.runId ?? [])
    if (others.every((other) => other === runId)) return undefined
    const runIds = [...new Set([...(runId === null ? [] : [runId]), ...others])]
    return unknown(command.since, 'commands of several runs ran at that time', runIds)
  }

  #commandsOf({ versions: followed, all: versions = followed }: Place): CommandTimes {
    const known = this.#commands.get(versions) ?? new CommandTimes(versions)
    this.#commands.set(versions, known)
    return known
  }

  async #gap(place: Place, { via, parent }: VersionNode): Promise<LineAuthor> {
    const { path, changedAt, hasOtherNames } = place
    if (via.kind !== 'gap') return { by: 'outside' }
    const { since, isUnclear } = via
    const until = Math.max(since, lastChange(via.until, changedAt))
    if (isUnclear) return unknown(since, 'it is not known whether the last recorded change was made')
    if (parent?.hash === '')
      return unknown(since, 'its content after a command was not read', await this.runsOf(place, [parent.via]))
    const during = this.#commandsOf(place).within({ since, until })
    if (during.length > 0) return unknown(since, 'a command ran at that time', writingRuns(during))
    return (
      (await this.#unseen.authorOf(path, { since, until })) ??
      (hasOtherNames ? unknown(since, otherNames) : { by: 'outside' })
    )
  }

  /** Author of a content that no record led to. */
  async ofStart(place: Place, node: VersionNode): Promise<LineAuthor> {
    const { path, versions, changedAt, hasOtherNames } = place
    if (versions.length >= maxVersions) return unknown(node.at, `it has more than ${maxVersions} versions`)
    if (node.hash === '') return unknown(node.at, 'its content before a command was not read')
    const until = lastChange(node.at, changedAt)
    // Commands that ran when the file was first seen, and had not found it so at their start.
    const during = this.#commandsOf(place)
      .within({ since: 0, until })
      .filter(({ before }) => before !== node.hash)
    if (during.length > 0) {
      const since = Math.min(...during.map(({ command }) => command?.since ?? 0))
      return unknown(since, 'a command ran at that time', writingRuns(during))
    }
    const unseen = await this.#unseen.authorOf(path, { since: 0, until })
    return unseen ?? (hasOtherNames ? unknown(null, otherNames) : { by: 'before' })
  }

  /** The runs of these versions if commands left them, and of commands at the same time. */
  async runsOf(place: Place, all: (VersionNode['via'] | undefined)[]): Promise<string[]> {
    const runIds: string[] = []
    for (const via of all) {
      if (via?.kind !== 'version' || !via.version.command) continue
      const rivals = await this.#rivals(place, via.version)
      runIds.push(...(rivals?.by === 'unknown' ? rivals.runIds : writingRuns([via.version])))
    }
    return [...new Set(runIds)]
  }
}
