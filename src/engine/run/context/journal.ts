import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Label } from '../../../domain/label.ts'
import type { Part, Source } from '../../../domain/message.ts'
import type { ModelMessage, RequestedCall } from '../../../domain/model.ts'
import type { Step } from '../../../domain/run.ts'
import { mainArgument } from '../../../domain/text/main-argument.ts'
import type { FileIdentity } from '../../../domain/tools/path-handle.ts'
import type { AwaitedRuns, Effect, ToolOutcome } from '../../../domain/tools/tool.ts'
import { isMemoryWriter } from '../../../domain/tools/tool-names.ts'
import type { UnsafeCall } from '../../../domain/tools/touched.ts'
import type { ToolCallEntry } from '../../../domain/turn.ts'
import { answerAsText, maxAnswerShown, summaryMessage, userMessage } from '../../model/model-messages.ts'

/** Payload of a `reply` step. */
export interface ReplyStep {
  text: string
  calls: RequestedCall[]
  /** The model that answered, as its provider names it. */
  model: string
  /** The model that was called, as the user's configuration names it; absent in journals of earlier versions. */
  by?: string
  metadata?: unknown
}

/** Payload of a `begun` step. */
export interface BegunStep extends RequestedCall {
  effect: Effect
}

/** Payload of an `ended` step. */
export interface EndedStep extends ToolOutcome {
  id: string
  name: string
}

/** Payload of a `steer` step. */
export interface SteerStep {
  /** Label and source are absent in journals of earlier versions, when all steering was the owner's. */
  items: { id: string; content: string; parts?: Part[]; label?: Label; source?: Source }[]
}

/** Payload of a `compact` step. */
export interface CompactStep {
  summary: string
  /** Tokens of the replaced messages, and of the summary; absent in journals of earlier versions. */
  from?: number
  to?: number
  /** Set if the window was still full afterwards, because of this summary. */
  stillFull?: true
}

/** A sequence of calls that the model repeats: how often, and how many calls it has. */
export interface CallCycle {
  times: number
  length: number
}

/** Lengths that are detected; longer cycles end with the step budget. */
const cycleLengths = [1, 2, 3, 4]
const maxTimes = 20

/** A command that changed files. */
export interface Touch {
  /** The command as text, for messages about a file's author. */
  by: string
  paths: Set<string>
  seq: number
  at: Step['at']
}

/** The steps of one run, and everything derived from them. The journal is the only checkpoint. */
export class Journal {
  readonly steps: Step[]
  readonly #runId: string
  #last: number
  /** Labels of tool outputs and steering inputs. */
  readonly labels: Label[]

  constructor(runId: string, steps: Step[]) {
    this.#runId = runId
    this.steps = steps
    this.#last = steps.at(-1)?.seq ?? 0
    this.labels = labelsIn(steps)
  }

  /** A step with the next number, so that concurrent calls get distinct ones; `add` it once it is committed. */
  next(kind: Step['kind'], payload: unknown): Step {
    this.#last++
    return { runId: this.#runId, seq: this.#last, kind, payload, at: null }
  }

  add(...steps: Step[]): void {
    this.steps.push(...steps)
    this.labels.push(...labelsIn(steps))
    this.steps.sort((a, b) => a.seq - b.seq)
  }

  /** Calls that began and have no recorded end. */
  get openCalls(): BegunStep[] {
    const ended = new Set(this.#payloads<EndedStep>('ended').map(({ id }) => id))
    return this.#payloads<BegunStep>('begun').filter(({ id }) => !ended.has(id))
  }

  /** Calls of the last reply that wait for approval. */
  get pendingCalls(): RequestedCall[] {
    const begunIds = new Set(
      [...this.#payloads<BegunStep>('begun'), ...this.#payloads<EndedStep>('ended')].map(({ id }) => id),
    )
    return (this.lastReply?.calls ?? []).filter(({ id }) => !begunIds.has(id))
  }

  /**
   * How often this call was just repeated, alone or in a cycle with a few others, each time with the same answers or a
   * refusal as a repetition.
   */
  cycleOf(call: RequestedCall): CallCycle {
    const calls = this.#payloads<BegunStep>('begun')
    const none: CallCycle = { times: 0, length: 1 }
    // Cheap exit first: a reply may have very many calls, and most are new.
    const lengths = cycleLengths.filter((length) => isSameCall(calls.at(-length), call))
    if (lengths.length === 0) return none
    const ends = new Map(this.#payloads<EndedStep>('ended').map((end) => [end.id, end]))
    const cycles = lengths.map((length) => ({ times: roundsOf(calls, ends, length), length }))
    return cycles.reduce((most, each) => (each.times > most.times ? each : most), none)
  }

  /** How many agents the run started, and how many starts were refused by the limit. */
  get spawns(): { started: number; refused: number } {
    const ended = this.#payloads<EndedStep>('ended')
    return {
      started: ended.filter(({ status, output }) => status === 'ok' && isSpawned(output)).length,
      refused: ended.filter(({ overLimit }) => overLimit).length,
    }
  }

  /** Number of calls with unknown outcome: journalled as such, or unsafe and without an end. */
  get unknownCount(): number {
    const recorded = this.#payloads<EndedStep>('ended').filter(({ status }) => status === 'unknown')
    return recorded.length + this.openCalls.filter(({ effect }) => effect === 'unsafe').length
  }

  /** Number of calls with more than one end, i.e. of effects that may have happened twice. */
  get doubledCount(): number {
    const ends = this.#payloads<EndedStep>('ended').map(({ id }) => id)
    return new Set(ends.filter((id, at) => ends.indexOf(id) !== at)).size
  }

  /** Whether a call succeeded. */
  isDone(callId: string): boolean {
    return this.#payloads<EndedStep>('ended').some(({ id, status }) => id === callId && status === 'ok')
  }

  /** When a call ended; undefined if that is not recorded. */
  endOf(callId: string): Step['at'] | undefined {
    return this.#of('ended').find(({ payload }) => (payload as EndedStep).id === callId)?.at
  }

  /** Identity of the file that a call wrote; undefined if that is not recorded. */
  identityOf(callId: string): FileIdentity | undefined {
    const end = this.#payloads<EndedStep>('ended').find(({ id }) => id === callId)
    return end?.seen?.find(({ identity }) => identity !== undefined)?.identity
  }

  /** Calls that may have changed something and cannot be undone. */
  get unsafeCalls(): UnsafeCall[] {
    const ends = new Map(this.#payloads<EndedStep>('ended').map((end) => [end.id, end]))
    return this.#payloads<BegunStep>('begun')
      .filter(({ id, effect }) => effect === 'unsafe' && ends.get(id)?.status !== 'forbidden')
      .map(({ id, name, input }) => {
        const touched = ends.get(id)?.touched
        return { name, about: mainArgument(input), ...(touched && { touched }) }
      })
  }

  /** File changes by commands, with absolute paths, in the order in which the commands ended. */
  get touches(): Touch[] {
    const inputs = new Map(this.#payloads<BegunStep>('begun').map(({ id, input }) => [id, input]))
    return this.steps.flatMap(({ kind, payload, seq, at }) => {
      const { id, touched } = payload as EndedStep
      if (kind !== 'ended' || !touched || 'unseen' in touched) return []
      const { folder, created, changed, removed } = touched
      const paths = new Set([...created, ...changed, ...removed].map((path) => join(folder, path)))
      return [{ by: `by its own command (${mainArgument(inputs.get(id))})`, paths, seq, at }]
    })
  }

  /** Set if a call of the last reply ends the turn. Not if another call failed: the model must see that first. */
  get turnEnd(): AwaitedRuns | undefined {
    const ids = new Set(this.lastReply?.calls.map(({ id }) => id))
    const ended = this.#payloads<EndedStep>('ended').filter(({ id }) => ids.has(id))
    return ended.every(({ status }) => status === 'ok') ? ended.find(({ ends }) => ends)?.ends : undefined
  }

  /** Whether a call of this tool succeeded. */
  hasDone(name: string): boolean {
    return this.#payloads<EndedStep>('ended').some((end) => end.name === name && end.status === 'ok')
  }

  get lastReply(): ReplyStep | undefined {
    return this.#payloads<ReplyStep>('reply').at(-1)
  }

  get lastCall(): EndedStep | undefined {
    return this.#payloads<EndedStep>('ended').at(-1)
  }

  get callIds(): Set<string> {
    return new Set(this.#payloads<ReplyStep>('reply').flatMap(({ calls }) => calls.map(({ id }) => id)))
  }

  /** Number of summaries in a row, up to now, that did not make enough room. */
  get uselessSummaries(): number {
    const summaries = this.#payloads<CompactStep>('compact')
    return summaries.length - 1 - summaries.findLastIndex(({ stillFull }) => !stillFull)
  }

  get replies(): number {
    return this.#payloads('reply').length
  }

  /** Inputs that steered the run: they stand among its steps, not before them. */
  get steering(): SteerStep['items'] {
    return this.#payloads<SteerStep>('steer').flatMap(({ items }) => items)
  }

  get steeredItemIds(): Set<string> {
    return new Set(this.steering.map(({ id }) => id))
  }

  /** The command that changed a file since this run last read or wrote it. */
  touchedSince(path: string, whole: string): string | undefined {
    const last = this.steps.findLast(
      ({ kind, payload }) => kind === 'ended' && (payload as EndedStep).seen?.some((file) => file.path === path),
    )
    return this.touches.findLast(({ seq, paths }) => seq > (last?.seq ?? 0) && paths.has(whole))?.by
  }

  /** Hashes of the files that this run last read or wrote, by relative path. */
  get seenHashes(): Map<string, string | null> {
    return new Map(
      this.#payloads<EndedStep>('ended').flatMap(({ seen = [] }) => seen.map(({ path, sha256 }) => [path, sha256])),
    )
  }

  /** Call entries of the turn, with the steps that hold the payload. A call without an end has status unknown. */
  get entries(): ToolCallEntry[] {
    const ends = new Map(
      this.steps.filter(({ kind }) => kind === 'ended').map((step) => [(step.payload as EndedStep).id, step]),
    )
    return this.steps
      .filter(({ kind }) => kind === 'begun')
      .map((step) => {
        const { id, name } = step.payload as BegunStep
        const end = ends.get(id)
        const status = (end?.payload as EndedStep | undefined)?.status ?? 'unknown'
        return { id, name, status, begun: step.seq, ended: end?.seq ?? step.seq }
      })
  }

  /** Model messages of the run so far, from the last summary on. */
  get messages(): ModelMessage[] {
    return this.messagesWith()
  }

  /**
   * Each reply is followed by the answers to all its calls, so that they are always paired, then by steering messages.
   * Longer answers are cut, with a note on how to read on.
   */
  messagesWith(maxCharacters = maxAnswerShown): ModelMessage[] {
    const ends = new Map(this.#of('ended').map((step) => [(step.payload as EndedStep).id, step]))
    const begun = new Set(this.#payloads<BegunStep>('begun').map(({ id }) => id))
    const answerTo = ({ id, name }: RequestedCall): ModelMessage => {
      const output = outputOf(ends.get(id), begun.has(id))
      return { role: 'tool', callId: id, name, content: this.#cut(output, ends.get(id)?.seq, maxCharacters) }
    }
    const from = this.steps.findLastIndex(({ kind }) => kind === 'compact')
    return [
      ...this.#withoutReply(answerTo),
      ...this.steps.slice(Math.max(0, from)).flatMap((step): ModelMessage[] => {
        if (step.kind === 'compact')
          return [{ role: 'user', content: summaryMessage((step.payload as CompactStep).summary) }]
        if (step.kind === 'reply') {
          const { text, calls, metadata } = step.payload as ReplyStep
          const reply: ModelMessage = {
            role: 'assistant',
            content: text,
            calls,
            ...(metadata !== undefined && { metadata }),
          }
          return [reply, ...calls.map(answerTo)]
        }
        if (step.kind === 'steer') return (step.payload as SteerStep).items.map(userMessage)
        return []
      }),
    ]
  }

  /** Calls of a hand-made or imported turn: it has no reply steps. */
  #withoutReply(answerTo: (call: RequestedCall) => ModelMessage): ModelMessage[] {
    if (this.replies > 0) return []
    const calls = this.#payloads<BegunStep>('begun').map(({ id, name, input }) => ({ id, name, input }))
    return calls.length === 0 ? [] : [{ role: 'assistant', content: '', calls }, ...calls.map(answerTo)]
  }

  /** Shortens an answer for the model; the step keeps the whole. */
  #cut(output: unknown, seq: number | undefined, maxCharacters: number): string {
    const text = answerAsText(output)
    if (text.length <= maxCharacters) return text
    const more = text.length - maxCharacters
    const call = `${this.#runId}/${seq}`
    return `${text.slice(0, maxCharacters).toWellFormed()}\n… [cut: ${more} more characters; continue with read_result call=${call} offset=${maxCharacters}]`
  }

  #of(kind: Step['kind']): Step[] {
    return this.steps.filter((step) => step.kind === kind)
  }

  #payloads<T>(kind: Step['kind']): T[] {
    return this.#of(kind).map(({ payload }) => payload as T)
  }
}

/** How often a cycle of this length was completed: each call and answer equal those one round before. */
function roundsOf(calls: BegunStep[], ends: Map<string, EndedStep>, length: number): number {
  let same = 1
  for (let at = calls.length - 1; at >= length && same < maxTimes * length; at--) {
    const [call, before] = [calls[at], calls[at - length]]
    if (!call || !isSameCall(before, call) || !isSameAnswer(ends.get(call.id), ends.get(before?.id ?? ''))) break
    same++
  }
  return Math.ceil(same / length)
}

function isSameCall(one: RequestedCall | undefined, other: RequestedCall): boolean {
  return one?.name === other.name && isDeepStrictEqual(one.input, other.input)
}

/** Two successful spawns count as the same answer, although their run ids differ. */
function isSameAnswer(one: EndedStep | undefined, other: EndedStep | undefined): boolean {
  if (!one || !other) return false
  if (one.repeated || other.repeated) return true
  return (isSpawned(one.output) && isSpawned(other.output)) || isDeepStrictEqual(one.output, other.output)
}

function isSpawned(output: unknown): boolean {
  const { status, ...told } = (output ?? {}) as { status?: unknown; run_id?: unknown; runId?: unknown }
  return status === 'accepted' && (told.runId ?? told.run_id) !== undefined
}

function labelsIn(steps: readonly Step[]): Label[] {
  return steps.flatMap(({ kind, payload }) => {
    if (kind === 'ended') return (payload as EndedStep).label ?? []
    return kind === 'steer' ? (payload as SteerStep).items.flatMap(({ label }) => label ?? []) : []
  })
}

/** Fields of a step's event: enough to show which call began or ended, without its payload. */
export function stepEventFields({ kind, payload }: Step): Record<string, string | number> {
  if (kind === 'begun') {
    const { id, name, input } = payload as BegunStep
    // Events are kept for weeks, and a memory may be forgotten tomorrow.
    const about = isMemoryWriter(name) ? '' : mainArgument(input)
    return { name, call: id, ...(about !== '' && { about }) }
  }
  if (kind === 'ended') {
    const { id, name, status } = payload as EndedStep
    return { name, call: id, status }
  }
  if (kind === 'compact') {
    const { from = 0, to = 0 } = payload as CompactStep
    return { from, to }
  }
  return {}
}

/** The output of a call, or a substitute if it has none. */
function outputOf(end: Step | undefined, wasBegun: boolean): unknown {
  if (end) return (end.payload as EndedStep).output
  return wasBegun ? unknownOutcome : notMade
}

/** Output of a call whose approval was still open when its run ended. */
const notMade = { status: 'forbidden', error: 'not run: the run ended before it was approved' }

/** Output of an unsafe call that was interrupted by a crash or a cancel. */
export const unknownOutcome = {
  status: 'unknown',
  error: 'this call was interrupted: it may have run completely, partly or not at all. Check before you repeat it',
}
