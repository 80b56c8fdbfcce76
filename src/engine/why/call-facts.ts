import type { Millis } from '../../domain/clock.ts'
import type { FileIdentity } from '../../domain/tools/path-handle.ts'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import { readSteps } from '../../store/rows/steps.ts'
import type { Reading } from '../../store/store.ts'
import { commandIn, type Transfers, transfersIn } from '../../tools/exec/copied-files.ts'
import { findCall } from '../run/calls/find-call.ts'
import { Journal } from '../run/context/journal.ts'
import { type GivenTexts, textsGivenBefore } from './by-hand/given-texts.ts'

/** Facts about the calls that left versions, from their journals, each read once per answer. */
export class CallFacts {
  readonly #rows: Reading
  readonly #journals = new Map<string, Journal | undefined>()
  /** By run and call. */
  readonly #given = new Map<string, GivenTexts>()
  /** By run and call. */
  readonly #commands = new Map<string, string | undefined>()
  /** By run, call and folder. */
  readonly #transfers = new Map<string, Transfers>()

  constructor(rows: Reading) {
    this.#rows = rows
  }

  /** Whether a recorded change was made: only a call that succeeded proves it. Undefined if that is no longer known. */
  async isMade({ runId, callId, command }: FileVersion): Promise<boolean | undefined> {
    if (command || runId === null) return true
    return (await this.#journalOf(runId))?.isDone(callId ?? '')
  }

  /** Until when the call may have made its change: it is recorded before it is made. */
  async endOf({ runId, callId, at }: FileVersion): Promise<Millis> {
    if (runId === null) return at
    const journal = await this.#journalOf(runId)
    return journal?.endOf(callId ?? '') ?? Number.MAX_SAFE_INTEGER
  }

  /** Identity of the file that a version left; undefined if that is not recorded. */
  async identityOf({ runId, callId, identity }: FileVersion): Promise<FileIdentity | undefined> {
    if (identity !== undefined || runId === null) return identity
    return (await this.#journalOf(runId))?.identityOf(callId ?? '')
  }

  /** The command that left a version; undefined if that is no longer known. */
  async commandOf({ runId, callId }: FileVersion): Promise<string | undefined> {
    const key = `${runId} ${callId}`
    if (!this.#commands.has(key)) {
      const call = runId === null ? undefined : await findCall(this.#rows, runId, callId ?? '')
      const { command, cwd = '' } = (call?.input ?? {}) as Record<string, unknown>
      this.#commands.set(key, typeof command === 'string' ? commandIn(String(cwd), command) : undefined)
    }
    return this.#commands.get(key)
  }

  /** What the command that left a version copies or moves: nothing if that is no longer known. */
  async transfersOf(version: FileVersion): Promise<Transfers> {
    const { runId, callId, folder } = version
    const key = `${runId} ${callId} ${folder}`
    const known = this.#transfers.get(key) ?? transfersIn((await this.commandOf(version)) ?? '', folder)
    this.#transfers.set(key, known)
    return known
  }

  /** What the run of a tool's version was given before it. */
  async givenBefore({ runId, callId }: FileVersion): Promise<GivenTexts> {
    const key = `${runId} ${callId}`
    const known = this.#given.get(key) ?? (await textsGivenBefore(this.#rows, runId ?? '', callId ?? ''))
    this.#given.set(key, known)
    return known
  }

  async #journalOf(runId: string): Promise<Journal | undefined> {
    if (!this.#journals.has(runId)) {
      const steps = await readSteps(this.#rows, runId)
      this.#journals.set(runId, steps.length === 0 ? undefined : new Journal(runId, steps))
    }
    return this.#journals.get(runId)
  }
}
