import { dirname } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import {
  commandBetween,
  commandRunningAt,
  runsWithCommands,
  type UnseenCommand,
  type UnsurveyedCommand,
  unsurveyedCommands,
} from '../../store/rows/files/file-versions.ts'
import type { Reading } from '../../store/store.ts'
import { namesInFolders } from '../files/file-author.ts'
import { isPassedOver } from '../files/file-now.ts'
import { type LineAuthor, unknownAuthor } from './traced-line.ts'

interface Interval {
  since: Millis
  until: Millis
}

/** Commands that may have changed files without a record. */
export class UnseenCommands {
  readonly #rows: Reading
  readonly #protect: ProtectedPlaces
  /** By directory. */
  readonly #unsurveyed = new Map<string, UnsurveyedCommand[]>()

  constructor(rows: Reading, protect: ProtectedPlaces) {
    this.#rows = rows
    this.#protect = protect
  }

  /** Unknown if a command may have changed the file at that time without a record; else undefined. */
  async authorOf(path: string, span: Interval): Promise<LineAuthor | undefined> {
    const unsurveyed = await this.unsurveyed(path, span)
    const [open] = unsurveyed
    if (open) {
      const isRunning = unsurveyed.some(({ until }) => until === Number.MAX_SAFE_INTEGER)
      const runIds = [...new Set(unsurveyed.map(({ runId }) => runId))]
      return unknownAuthor(span.since || open.since, isRunning ? 'a command is running' : unseenChange, runIds)
    }
    const command = await commandBetween(this.#rows, namesInFolders(path), span)
    if (command) return unknownAuthor(span.since || command.at, unseenChange, [command.runId])
    const nearby = await this.#commandNearIgnored(path, span)
    if (nearby)
      return unknownAuthor(span.since || nearby.at, 'changes that commands make to ignored files are not recorded', [
        nearby.runId,
      ])
    return undefined
  }

  /** Unknown if a command ran when a file was made, or written, that came here later: from an ignored place, for example. */
  async authorElsewhere(path: string, times: readonly (Millis | undefined)[]): Promise<LineAuthor | undefined> {
    const names = namesInFolders(path)
    const running: UnseenCommand[] = []
    for (const time of times) {
      const command = time === undefined ? undefined : await commandRunningAt(this.#rows, names, time)
      if (command) running.push(command)
    }
    const [first] = running
    if (!first) return undefined
    const known = times.filter((each) => each !== undefined)
    const between = await this.runsBetween(path, { since: Math.min(...known), until: Math.max(...known) })
    return unknownAuthor(first.at, madeElsewhere, [...new Set([...running.map(({ runId }) => runId), ...between])])
  }

  /** Runs whose commands ended at that time in a folder above the file, and may have changed it where nothing looks. */
  runsBetween(path: string, { since, until }: Interval): Promise<string[]> {
    return runsWithCommands(this.#rows, namesInFolders(path), { since: Math.floor(since), until: Math.ceil(until) })
  }

  /** Commands that ran at that time in a folder above the file without a record of their changes. */
  async unsurveyed(path: string, { since, until }: Interval): Promise<UnsurveyedCommand[]> {
    const directory = dirname(path)
    const folders = namesInFolders(path).map(({ folder }) => folder)
    const all = this.#unsurveyed.get(directory) ?? (await unsurveyedCommands(this.#rows, folders))
    this.#unsurveyed.set(directory, all)
    return all.filter((each) => each.since <= until && each.until >= since)
  }

  /** A command that ran in a folder above the file, if the file is ignored there. */
  async #commandNearIgnored(path: string, span: Interval): Promise<UnseenCommand | undefined> {
    for (const name of namesInFolders(path)) {
      const command = await commandBetween(this.#rows, [name], { ...span, any: true })
      if (!command) continue
      if (await isPassedOver({ ...name, protect: this.#protect })) return command
    }
    return undefined
  }
}

export const madeElsewhere = 'a command ran when the file was made, and may have made it where changes are not recorded'
const unseenChange = 'a command may have changed the file unseen'
