import { join } from 'node:path'
import type { Label } from '../domain/label.ts'
import { mainArgument } from '../domain/main-argument.ts'
import type { Part } from '../domain/message.ts'
import type { ModelMessage, RequestedCall } from '../domain/model.ts'
import type { Step } from '../domain/run.ts'
import type { Effect, Rest, SeenFile } from '../domain/tool.ts'
import type { Touched, UnsafeCall } from '../domain/touched.ts'
import type { CallStatus, ToolCallEntry } from '../domain/turn.ts'
import { said, summaryOf } from './model-messages.ts'

/** What the steps of a run say, by their kind. */
export interface ReplyStep {
  text: string
  calls: RequestedCall[]
  /** The model that really answered, as its provider names it. */
  model: string
  /** The one that was asked, as the owner names it; absent in journals of earlier versions. */
  by?: string
  metadata?: unknown
}
export interface BegunStep extends RequestedCall {
  effect: Effect
}
export interface EndedStep {
  id: string
  name: string
  status: CallStatus
  output: unknown
  /** Where the answer came from, if not from here. */
  label?: Label
  /** Not made, since it had led nowhere so often. */
  repeated?: true
  /** Not made, since there were so many like it in this turn. */
  overLimit?: true
  /** The turn ends with it. */
  ends?: Rest
  seen?: SeenFile[]
  touched?: Touched
}
export interface SteerStep {
  items: { id: string; content: string; parts?: Part[] }[]
}
export interface CompactStep {
  summary: string
  /** Tokens of what it stands for, and its own; absent in journals of earlier versions. */
  from?: number
  to?: number
}

/** Where the call that a step ends has changed files, or may have without anybody seeing it. */
export function touchedFolder({ kind, payload }: Step, folder: string): string | null {
  if (kind !== 'ended') return null
  const { touched, status } = payload as EndedStep
  if (!touched) return status === 'unknown' ? folder : null
  if ('unseen' in touched) return folder
  const { created, changed, removed, passedOver = [], hidden } = touched
  const isTouched = created.length + changed.length + removed.length + passedOver.length > 0 || hidden !== undefined
  return isTouched ? touched.folder : null
}

/** Calls that were made again and again, by turns. */
export interface Circle {
  times: number
  length: number
}

/** Longer circles are left to the budget of steps. */
const circles = [1, 2, 3, 4]
const mostTimes = 20

/** A command that changed files. */
export interface Touch {
  /** In words, as authors of files are told. */
  by: string
  paths: Set<string>
  seq: number
  at: Step['at']
}

/** Characters of one tool's answer that a model is shown. */
const mostShown = 50_000

/** The steps of one run, read as what happened so far. The journal is the checkpoint: there is no other. */
export class Journal {
  readonly steps: Step[]
  readonly #runId: string
  #last: number
  /** Where what tools answered came from. */
  readonly labels: Label[]

  constructor(runId: string, steps: Step[]) {
    this.#runId = runId
    this.steps = steps
    this.#last = steps.at(-1)?.seq ?? 0
    this.labels = labelsIn(steps)
  }

  /** A step with the next number; `add` it once it is committed. Calls that end together each have a number at once. */
  next(kind: Step['kind'], payload: unknown): Step {
    this.#last++
    return { runId: this.#runId, seq: this.#last, kind, payload, at: null }
  }

  add(...steps: Step[]): void {
    this.steps.push(...steps)
    this.labels.push(...labelsIn(steps))
    this.steps.sort((a, b) => a.seq - b.seq)
  }

  /** Calls that began and of which nobody knows the end. */
  get open(): BegunStep[] {
    const ended = new Set(this.#payloads<EndedStep>('ended').map(({ id }) => id))
    return this.#payloads<BegunStep>('begun').filter(({ id }) => !ended.has(id))
  }

  /** Calls of the last reply that wait for somebody's word. */
  get pending(): RequestedCall[] {
    const known = new Set(
      [...this.#payloads<BegunStep>('begun'), ...this.#payloads<EndedStep>('ended')].map(({ id }) => id),
    )
    return (this.lastReply?.calls ?? []).filter(({ id }) => !known.has(id))
  }

  /**
   * How often in a row this very call was made last, alone or in a circle with a few others, with always the same answers or
   * a refusal because of that; and how many calls the circle has.
   */
  circleOf(call: RequestedCall): Circle {
    const begun = this.#payloads<BegunStep>('begun')
    const none: Circle = { times: 0, length: 1 }
    // Of a reply with very many calls each is looked at: most are seen to be new at once.
    const lengths = circles.filter((length) => isSameCall(begun.at(-length), call))
    if (lengths.length === 0) return none
    const ends = new Map(this.#payloads<EndedStep>('ended').map((end) => [end.id, end]))
    const found = lengths.map((length) => ({ times: timesRound(begun, ends, length), length }))
    return found.reduce((most, each) => (each.times > most.times ? each : most), none)
  }

  /** How many agents were begun, and how many were not because there were so many. */
  get spawns(): { begun: number; refused: number } {
    const ended = this.#payloads<EndedStep>('ended')
    return {
      begun: ended.filter(({ status, output }) => status === 'ok' && isBegun(output)).length,
      refused: ended.filter(({ overLimit }) => overLimit).length,
    }
  }

  /** How many calls may have happened or not: told so already, or without an end and not to be repeated. */
  get unknown(): number {
    const told = this.#payloads<EndedStep>('ended').filter(({ status }) => status === 'unknown')
    return told.length + this.open.filter(({ effect }) => effect === 'unsafe').length
  }

  /** How many calls have more than one end: an effect that happened twice would show here. */
  get doubled(): number {
    const ends = this.#payloads<EndedStep>('ended').map(({ id }) => id)
    return new Set(ends.filter((id, at) => ends.indexOf(id) !== at)).size
  }

  /** Whether a call has a good end. */
  isDone(callId: string): boolean {
    return this.#payloads<EndedStep>('ended').some(({ id, status }) => id === callId && status === 'ok')
  }

  /** Calls that may have changed anything, unless they were refused: nobody can take them back. */
  get unsafe(): UnsafeCall[] {
    const ends = new Map(this.#payloads<EndedStep>('ended').map((end) => [end.id, end]))
    return this.#payloads<BegunStep>('begun')
      .filter(({ id, effect }) => effect === 'unsafe' && ends.get(id)?.status !== 'forbidden')
      .map(({ id, name, input }) => {
        const touched = ends.get(id)?.touched
        return { name, about: mainArgument(input), ...(touched && { touched }) }
      })
  }

  /** What commands were seen to do to files, by their whole paths, in the order of their ends. */
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

  /** What the last reply ends the turn with, if it does. Not where another of its calls failed: that must be heard. */
  get rest(): Rest | undefined {
    const ids = new Set(this.lastReply?.calls.map(({ id }) => id))
    const ended = this.#payloads<EndedStep>('ended').filter(({ id }) => ids.has(id))
    return ended.every(({ status }) => status === 'ok') ? ended.find(({ ends }) => ends)?.ends : undefined
  }

  /** Whether a tool was called with a good end. */
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

  get replies(): number {
    return this.#payloads('reply').length
  }

  /** Inputs that came while the run was under way: they are told in their place, not before it. */
  get heard(): Set<string> {
    return new Set(this.#payloads<SteerStep>('steer').flatMap(({ items }) => items.map(({ id }) => id)))
  }

  /** Which command has changed a file since this run read or wrote it. */
  touchedSince(path: string, whole: string): string | undefined {
    const last = this.steps.findLast(
      ({ kind, payload }) => kind === 'ended' && (payload as EndedStep).seen?.some((file) => file.path === path),
    )
    return this.touches.findLast(({ seq, paths }) => seq > (last?.seq ?? 0) && paths.has(whole))?.by
  }

  /** What this run knows of files, by their paths from the folder on: the hash that it read or wrote last. */
  get seen(): Map<string, string | null> {
    return new Map(
      this.#payloads<EndedStep>('ended').flatMap(({ seen = [] }) => seen.map(({ path, sha256 }) => [path, sha256])),
    )
  }

  /** What a turn keeps of its calls: where their payload is. A call without an end is told as unknown. */
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

  /** The run so far as a model must see it, from the last summary on. */
  get messages(): ModelMessage[] {
    return this.messagesWith()
  }

  /**
   * Each reply followed by the answers to all its calls, then what people said meanwhile. Calls and answers are always
   * paired. Of each answer at most so many characters, with the way to read on.
   */
  messagesWith(most = mostShown): ModelMessage[] {
    const ends = new Map(this.#of('ended').map((step) => [(step.payload as EndedStep).id, step]))
    const begun = new Set(this.#payloads<BegunStep>('begun').map(({ id }) => id))
    const answerTo = ({ id, name }: RequestedCall): ModelMessage => {
      const output = outputOf(ends.get(id), begun.has(id))
      return { role: 'tool', callId: id, name, content: this.#cut(output, ends.get(id)?.seq, most) }
    }
    const from = this.steps.findLastIndex(({ kind }) => kind === 'compact')
    return [
      ...this.#withoutReply(answerTo),
      ...this.steps.slice(Math.max(0, from)).flatMap((step): ModelMessage[] => {
        if (step.kind === 'compact')
          return [{ role: 'user', content: summaryOf((step.payload as CompactStep).summary) }]
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
        if (step.kind === 'steer') return (step.payload as SteerStep).items.map(said)
        return []
      }),
    ]
  }

  /** The calls of a turn that was written by hand or imported: of the replies that made them nothing is kept. */
  #withoutReply(answerTo: (call: RequestedCall) => ModelMessage): ModelMessage[] {
    if (this.replies > 0) return []
    const calls = this.#payloads<BegunStep>('begun').map(({ id, name, input }) => ({ id, name, input }))
    return calls.length === 0 ? [] : [{ role: 'assistant', content: '', calls }, ...calls.map(answerTo)]
  }

  /** What a model is shown of an answer; the step has the whole. */
  #cut(output: unknown, seq: number | undefined, most: number): string {
    const text = answerAsText(output)
    if (text.length <= most) return text
    const more = text.length - most
    const call = `${this.#runId}/${seq}`
    return `${text.slice(0, most).toWellFormed()}\n… [cut: ${more} more characters; read on with read_result call=${call} offset=${most}]`
  }

  #of(kind: Step['kind']): Step[] {
    return this.steps.filter((step) => step.kind === kind)
  }

  #payloads<T>(kind: Step['kind']): T[] {
    return this.#of(kind).map(({ payload }) => payload as T)
  }
}

/** How often the last call of a circle has been made in it: each call and its answer are those of a round before. */
function timesRound(begun: BegunStep[], ends: Map<string, EndedStep>, length: number): number {
  let same = 1
  for (let at = begun.length - 1; at >= length && same < mostTimes * length; at--) {
    const [call, before] = [begun[at], begun[at - length]]
    if (!call || !isSameCall(before, call) || !isSameAnswer(ends.get(call.id), ends.get(before?.id ?? ''))) break
    same++
  }
  return Math.ceil(same / length)
}

function isSameCall(one: RequestedCall | undefined, other: RequestedCall): boolean {
  return one?.name === other.name && JSON.stringify(one.input) === JSON.stringify(other.input)
}

/** To have begun somebody is always the same answer, whatever they are called. */
function isSameAnswer(one: EndedStep | undefined, other: EndedStep | undefined): boolean {
  if (!one || !other) return false
  if (one.repeated || other.repeated) return true
  return (isBegun(one.output) && isBegun(other.output)) || JSON.stringify(one.output) === JSON.stringify(other.output)
}

function isBegun(output: unknown): boolean {
  const { status, run_id: runId } = (output ?? {}) as { status?: unknown; run_id?: unknown }
  return status === 'accepted' && runId !== undefined
}

function labelsIn(steps: readonly Step[]): Label[] {
  return steps.flatMap(({ kind, payload }) => (kind === 'ended' ? ((payload as EndedStep).label ?? []) : []))
}

/** What followers are told of a step: enough to see which call began or ended, without its whole payload. */
export function signOf({ kind, payload }: Step): Record<string, string | number> {
  if (kind === 'begun') {
    const { id, name, input } = payload as BegunStep
    const about = mainArgument(input)
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

/** A tool's answer as a model reads it. */
export function answerAsText(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null)
}

/** What a call came to, as its model is told. */
function outputOf(end: Step | undefined, wasBegun: boolean): unknown {
  if (end) return (end.payload as EndedStep).output
  return wasBegun ? unknownOutcome : neverMade
}

/** Told of a call that somebody was to be asked about when its run ended. */
const neverMade = { status: 'forbidden', error: 'this call was not made: the run ended before it was allowed' }

/** Told to the model when a process died in the middle of a call that must not be repeated by itself. */
export const unknownOutcome = {
  status: 'unknown',
  error:
    'the process died during this call: it may have happened, wholly, partly or not at all. Check before you repeat it',
}
