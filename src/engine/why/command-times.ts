import type { Millis } from '../../domain/clock.ts'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'

/** Versions of a file that commands left, searchable by the time at which the commands ran: a file may have thousands. */
export class CommandTimes {
  readonly #versions: FileVersion[]
  /** For each version the earliest start of its command and of all that ended later. */
  readonly #earliest: Millis[]

  constructor(versions: readonly FileVersion[]) {
    this.#versions = versions.filter(({ command }) => command).sort((a, b) => a.at - b.at)
    this.#earliest = new Array<Millis>(this.#versions.length)
    let earliest = Number.POSITIVE_INFINITY
    for (let at = this.#versions.length - 1; at >= 0; at--) {
      earliest = Math.min(earliest, startOf(this.#versions[at]))
      this.#earliest[at] = earliest
    }
  }

  /** Versions of commands that ran within this interval. */
  within({ since, until }: { since: Millis; until: Millis }): FileVersion[] {
    const found: FileVersion[] = []
    for (let at = this.#firstAfter(since); (this.#earliest[at] ?? until) < until; at++) {
      const version = this.#versions[at]
      if (version && startOf(version) < until) found.push(version)
    }
    return found
  }

  #firstAfter(since: Millis): number {
    let [low, high] = [0, this.#versions.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#versions[middle]?.at ?? 0) > since) high = middle
      else low = middle + 1
    }
    return low
  }
}

function startOf(version: FileVersion | undefined): Millis {
  return version?.command?.since ?? 0
}

/** Runs that left these versions. */
export function runsOfVersions(versions: readonly FileVersion[]): string[] {
  return [...new Set(versions.flatMap(({ runId }) => runId ?? []))]
}

/** Clocks of file systems are coarser than ours. */
const clockSlackMs = 50

/** Latest time at which a content can have been written: not after the last change of its file. */
export function lastChange(until: Millis, changedAt = Number.MAX_SAFE_INTEGER): Millis {
  return Math.min(until, Math.ceil(changedAt) + clockSlackMs)
}
