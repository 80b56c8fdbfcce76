import type { ApprovalView } from '../domain/app.ts'
import type { Event } from '../domain/event.ts'
import type { Connection } from './connection.ts'
import { answerFrom, choices } from './deciding.ts'
import { questionPage } from './question-page.ts'
import type { Screen } from './screen.ts'

/** The questions of one talk: shown one at a time, and answered by what is typed next. */
export class ChatQuestions {
  readonly #connection: Connection
  readonly #screen: Screen
  readonly #print: (text: string) => void
  #open: ApprovalView[] = []
  #shown: number | undefined

  constructor(connection: Connection, screen: Screen, print: (text: string) => void) {
    this.#connection = connection
    this.#screen = screen
    this.#print = print
  }

  /** The one that waits for an answer now. */
  get current(): ApprovalView | undefined {
    return this.#open[0]
  }

  /** Whether after this there may be other questions than before. Asked is when everything else is said. */
  mayDiffer({ kind, payload }: Event): boolean {
    if (kind === 'run.ended') return this.current !== undefined
    return kind === 'approval.answered' || (kind === 'run.waiting' && payload['for'] === 'approval')
  }

  /** Looks for what the requests of a session ask, those of their agents included. */
  async look({ session, folder }: { session: string; folder: string }): Promise<void> {
    const open = await this.#connection.ask((door) => door.approvals())
    this.#open = open.filter((each) => each.requestSession === session && each.folder === folder)
    const { current } = this
    if (!current || current.id === this.#shown) return
    this.#shown = current.id
    this.#print(`${questionPage(this.#screen, current)}\n${choices({ screen: this.#screen }, current)}`)
  }

  /** Takes a line as the answer to what is asked; false when it is none, and means something else. */
  async take(line: string, place: { session: string; folder: string }): Promise<boolean> {
    const { current } = this
    const said = current && answerFrom(line)
    if (!current || !said) return false
    await this.#connection.ask((door) => door.decide(String(current.id), said))
    this.#print(`approval:${current.id} ${said.answer === 'no' ? 'denied' : 'approved'}`)
    await this.look(place)
    return true
  }
}
