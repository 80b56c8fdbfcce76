import { join, relative } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { isWithin } from '../../domain/tools/within.ts'
import { compareVersions, type FileVersion } from '../../store/rows/files/file-versions.ts'
import { lastCompleteSurvey } from '../../store/rows/files/found-files.ts'
import type { Reading } from '../../store/store.ts'
import { fileNow, isPassedOver } from '../files/file-now.ts'
import type { KnownVersions } from './known-versions.ts'

/** A content's place, when another one was last there, and the version before which it came. */
interface Arrival {
  path: string
  since?: Millis
  before?: FileVersion
  /** When the content was last changed in its place. */
  changedAt?: Millis
}

/**
 * Whether a version was in its file when a content came to another place: `gone` if a survey in between saw neither; `replaced` if it
 * was there at that survey, and may have been replaced before the content came.
 */
type Presence = 'there' | 'replaced' | 'gone'

/** Clocks of file systems are coarser than ours. */
const slackMs = 10

/** Surveys at which every file of a folder was as its last record says. */
export class CompleteSurveys {
  readonly #rows: Reading
  readonly #versions: KnownVersions
  readonly #protect: ProtectedPlaces
  /** By folder and time. */
  readonly #surveys = new Map<string, Millis | undefined>()
  /** By folder and path. */
  readonly #passedOver = new Map<string, boolean>()

  constructor(rows: Reading, versions: KnownVersions, protect: ProtectedPlaces) {
    this.#rows = rows
    this.#versions = versions
    this.#protect = protect
  }

  /** Undefined if there was no such survey. */
  async presenceOf(version: FileVersion, place: Arrival): Promise<Presence | undefined> {
    const seenAt = await this.#lastBefore(version.folder, place)
    if (seenAt === undefined) return undefined
    const versions = await this.#versions.of(join(version.folder, version.path))
    const next = versions.find((each) => compareVersions(each, version) > 0)
    if (next && next.at <= seenAt) return 'gone'
    const thereUntil = await this.#thereUntil(version, next)
    const { since = 0, changedAt = Number.POSITIVE_INFINITY } = place
    return thereUntil > since && thereUntil > changedAt ? 'there' : 'replaced'
  }

  /**
   * Until when a file had a content, by the times of file systems. One that is gone may have been moved at any time. Two files that a
   * hand swaps change at almost the same time; what a run writes is later than what a hand did before.
   */
  async #thereUntil(version: FileVersion, next: FileVersion | undefined): Promise<Millis> {
    if (next?.found) return next.after === null ? Number.POSITIVE_INFINITY : next.found.changedAt + slackMs
    if (next) return next.before === version.after ? (next.command?.since ?? next.at) - slackMs : 0
    const now = await fileNow({ folder: version.folder, path: version.path, protect: this.#protect }).catch(
      () => undefined,
    )
    return now?.kind === 'file' && now.sha256 !== version.after ? now.changedAt + slackMs : Number.POSITIVE_INFINITY
  }

  /** Whether a version that found another content had already replaced it then. */
  async isOver(version: FileVersion, place: Arrival): Promise<boolean> {
    const seenAt = await this.#lastBefore(version.folder, place)
    return seenAt !== undefined && version.at <= seenAt
  }

  async #lastBefore(folder: string, { path, before }: Arrival): Promise<Millis | undefined> {
    if (!isWithin(path, folder) || (await this.#isPassedOver(folder, path))) return undefined
    const until = before ? (before.command?.since ?? before.at) : Number.MAX_SAFE_INTEGER
    const key = `${until} ${folder}`
    if (!this.#surveys.has(key)) this.#surveys.set(key, await lastCompleteSurvey(this.#rows, folder, until))
    return this.#surveys.get(key)
  }

  async #isPassedOver(folder: string, path: string): Promise<boolean> {
    const key = `${folder}\0${path}`
    const known = this.#passedOver.get(key)
    if (known !== undefined) return known
    const is = await isPassedOver({ folder, path: relative(folder, path), protect: this.#protect })
    this.#passedOver.set(key, is)
    return is
  }
}
