import type { Question, SubmitResult } from '../../api/views/question.ts'
import type { Part } from '../../domain/message.ts'
import { systemRandom } from '../../system.ts'
import type { Connection } from './connection.ts'

/** A message that no run has taken yet. */
export interface OutgoingMessage {
  content: string
  how: 'message' | 'steer' | 'interrupt'
  /** Attached files. */
  parts: Part[]
  /** Whether it is printed in the chat already. */
  isShown: boolean
}

/** Options of a message. */
type MessageOptions = Omit<Question, 'content' | 'parts' | 'kind' | 'dedupeKey'>

interface PendingMessage extends OutgoingMessage {
  /** Its inbox item, once it is submitted. */
  id?: string
  sent: Promise<void>
}

/** Messages that wait for their run. Each is submitted durably exactly once, even if the daemon dies. */
export class Outbox {
  readonly #connection: Connection
  readonly #folder: string
  readonly #ours = new Set<string>()
  #open: PendingMessage[] = []

  constructor(connection: Connection, folder: string) {
    this.#connection = connection
    this.#folder = folder
  }

  get waiting(): readonly OutgoingMessage[] {
    return this.#open
  }

  /** Resolves when it is durable; rejects, and drops it, when it was refused. */
  async send(message: OutgoingMessage, options: MessageOptions): Promise<SubmitResult> {
    const item: PendingMessage = { ...message, sent: Promise.resolve() }
    this.#open.push(item)
    const sending = this.#submit(item, options)
    item.sent = sending.then(
      () => undefined,
      () => this.#drop(item),
    )
    return sending
  }

  /** Removes and returns the messages whose run is known to the renderer. */
  async takeStarted(isKnown: (runId: string) => boolean): Promise<OutgoingMessage[]> {
    const started: OutgoingMessage[] = []
    for (const item of [...this.#open]) {
      const { id } = item
      if (id === undefined) continue
      const { runId } = await this.#connection.ask((client) => client.answer(this.#folder, id, AbortSignal.abort()))
      if (runId === null || !isKnown(runId) || !this.#open.includes(item)) continue
      this.#ours.add(runId)
      this.#drop(item)
      started.push(item)
    }
    return started
  }

  /** Resolves when no submit is pending. */
  async whenSent(): Promise<void> {
    await Promise.all(this.#open.map(({ sent }) => sent))
  }

  /** Whether a run answers a message of this chat. Marks the run as known. */
  isAnsweredBy(runId: string): boolean {
    const isOurs = this.#ours.has(runId)
    this.#ours.add(runId)
    return isOurs
  }

  /** Drops pending messages: they belong to the session that was left. */
  clear(): void {
    this.#open = []
  }

  async #submit(item: PendingMessage, options: MessageOptions): Promise<SubmitResult> {
    // Makes a retry after the daemon died idempotent.
    const dedupeKey = `chat:${Buffer.from(systemRandom.bytes(16)).toString('hex')}`
    const { content, how: kind, parts } = item
    const question = { ...options, content, kind, dedupeKey, ...(parts.length > 0 && { parts }) }
    const submitted = await this.#connection.ask((client) => client.submit(this.#folder, question))
    item.id = submitted.itemId
    await this.#connection.workOn(options.session)
    return submitted
  }

  #drop(item: PendingMessage): void {
    this.#open = this.#open.filter((other) => other !== item)
  }
}
