import { join, relative } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { isWithin } from '../../domain/tools/within.ts'
import { compareVersions, type FileVersion } from '../../store/rows/files/file-versions.ts'
import { lastCompleteSurvey } from '../../store/rows/files/found-files.ts'
import type { Reading } from '../../store/store.ts'
import { fileNow, isPassedOver } from '../files/file-now.ts'
import type { KnownVersions } from './known-versions.ts'

/** How a content came to a file. */
interface Arrival {
  path: string
  /** When the file last had another content. */
  since?: Millis
  /** The version before which the content was there. */
  before?: FileVersion
  /** When the file was last changed. */
  changedAt?: Millis
}

/**
 * Whether a version was still in its file when its content came to another one. `gone`: not even at the last complete survey before.
 * `replaced`: it was at that survey, and may have been replaced since.
 */
type Presence = 'present' | 'replaced' | 'gone'

/** Clocks of file systems are coarser than ours. */
const slackMs = 10

/** Surveys at which the record of every file in a folder was up to date. */
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
  async presenceOf(version: FileVersion, arrival: Arrival): Promise<Presence | undefined> {
    const seenAt = await this.#lastSurveyBefore(version.folder, arrival)
    if (seenAt === undefined) return undefined
    const versions = await this.#versions.of(join(version.folder, version.path))
    const next = versions.find((each) => compareVersions(each, version) > 0)
    if (next && next.at <= seenAt) return 'gone'
    const presentUntil = await this.#presentUntil(version, next)
    const { since = 0, changedAt = Number.POSITIVE_INFINITY } = arrival
    return presentUntil > since && presentUntil > changedAt ? 'present' : 'replaced'
  }

  /**
   * Until when a file had a content, by the times of file systems. A removed file may have been moved at any time. Two files that the
   * user swaps change at almost the same time; a write of a run is later than what the user did before it.
   */
  async #presentUntil(version: FileVersion, next: FileVersion | undefined): Promise<Millis> {
    if (next?.found) return next.after === null ? Number.POSITIVE_INFINITY : next.found.changedAt + slackMs
    if (next) return next.before === version.after ? (next.command?.since ?? next.at) - slackMs : 0
    const now = await fileNow({ folder: version.folder, path: version.path, protect: this.#protect }).catch(
      () => undefined,
    )
    return now?.kind === 'file' && now.sha256 !== version.after ? now.changedAt + slackMs : Number.POSITIVE_INFINITY
  }

  /** Whether a complete survey lies between a version and an arrival: what the version replaced was no longer there. */
  async hasSurveyBetween(version: FileVersion, arrival: Arrival): Promise<boolean> {
    const seenAt = await this.#lastSurveyBefore(version.folder, arrival)
    return seenAt !== undefined && version.at <= seenAt
  }

  async #lastSurveyBefore(folder: string, { path, before }: Arrival): Promise<Millis | undefined> {
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
