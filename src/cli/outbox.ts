import type { Question } from '../domain/app.ts'
import type { Part } from '../domain/message.ts'
import { systemRandom } from '../system.ts'
import type { Connection } from './connection.ts'

/** Something that was said and that no run has taken yet. */
export interface Said {
  content: string
  how: 'message' | 'steer' | 'interrupt'
  /** Files that go with it. */
  parts: Part[]
  /** Whether it stands in the talk already. */
  isShown: boolean
}

/** What is asked for besides the words. */
type Wishes = Omit<Question, 'content' | 'parts' | 'kind' | 'dedupeKey'>

interface Open extends Said {
  /** Its inbox item, once it is handed in. */
  id?: string
  sent: Promise<void>
}

/** What was said and waits for its run: handed in durably, each once, whatever becomes of the daemon. */
export class Outbox {
  readonly #connection: Connection
  readonly #folder: string
  readonly #ours = new Set<string>()
  #open: Open[] = []

  constructor(connection: Connection, folder: string) {
    this.#connection = connection
    this.#folder = folder
  }

  get waiting(): readonly Said[] {
    return this.#open
  }

  /** Resolves when it is durable; rejects, and forgets it, when it was refused. */
  async send(said: Said, wishes: Wishes): Promise<void> {
    const item: Open = { ...said, sent: Promise.resolve() }
    this.#open.push(item)
    const sending = this.#handIn(item, wishes)
    item.sent = sending.catch(() => this.#drop(item))
    await sending
  }

  /** Answers those that have found their run, as soon as we have heard of it. */
  async taken(hasHeardOf: (runId: string) => boolean): Promise<Said[]> {
    const taken: Said[] = []
    for (const item of [...this.#open]) {
      const { id } = item
      if (id === undefined) continue
      const { runId } = await this.#connection.ask((door) => door.answer(this.#folder, id, AbortSignal.abort()))
      if (runId === null || !hasHeardOf(runId) || !this.#open.includes(item)) continue
      this.#ours.add(runId)
      this.#drop(item)
      taken.push(item)
    }
    return taken
  }

  /** Resolves when nothing is on its way. */
  async whenSent(): Promise<void> {
    await Promise.all(this.#open.map(({ sent }) => sent))
  }

  /** Whether a run answers something that was said here; asked again, it is known. */
  isAnsweredBy(runId: string): boolean {
    const isOurs = this.#ours.has(runId)
    this.#ours.add(runId)
    return isOurs
  }

  /** What waits belongs to another talk from now on. */
  forget(): void {
    this.#open = []
  }

  async #handIn(item: Open, wishes: Wishes): Promise<void> {
    // Handed in again after a daemon died on us, it is the same message, whether it had arrived or not.
    const dedupeKey = `chat:${Buffer.from(systemRandom.bytes(16)).toString('hex')}`
    const { content, how: kind, parts } = item
    const question = { ...wishes, content, kind, dedupeKey, ...(parts.length > 0 && { parts }) }
    const { itemId } = await this.#connection.ask((door) => door.submit(this.#folder, question))
    item.id = itemId
    await this.#connection.workOn(wishes.session)
  }

  #drop(item: Open): void {
    this.#open = this.#open.filter((other) => other !== item)
  }
}
