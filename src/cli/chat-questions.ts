import type { ApprovalView } from '../domain/app.ts'
import type { Decision } from '../domain/approval.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Event } from '../domain/event.ts'
import type { Here } from './cli.ts'
import type { Connection } from './connection.ts'
import { type GateAround, type Passed, PlanGate } from './plan-deciding.ts'
import { planAsked, planQuestionPage } from './plan-question.ts'
import { taskOf } from './question-page.ts'
import { ShownQuestion, type Taken } from './shown-question.ts'

/** The questions of one talk: shown one at a time, and answered by what is typed next. */
export class ChatQuestions {
  readonly #connection: Connection
  readonly #here: Here
  readonly #talk: Pick<GateAround, 'print' | 'lend'>
  #open: ApprovalView[] = []
  #shown: string | undefined
  /** Of a plan that waits for its start. */
  #gate: PlanGate | undefined
  /** Of every other call. */
  #question: ShownQuestion | undefined

  constructor(connection: Connection, here: Here, talk: Pick<GateAround, 'print' | 'lend'>) {
    this.#connection = connection
    this.#here = here
    this.#talk = talk
  }

  /** The one that waits for an answer now. */
  get current(): ApprovalView | undefined {
    return this.#open[0]
  }

  /** What stands before the line while there is a question. */
  get prompt(): string | undefined {
    const { current } = this
    return current && (this.#gate ?? this.#question)?.prompt
  }

  /** Whether Enter alone is an answer. */
  get takesEmpty(): boolean {
    return this.#gate !== undefined
  }

  /** Whether after this there may be other questions than before. Asked is when everything else is said. */
  mayDiffer({ kind, payload }: Event): boolean {
    if (kind === 'run.ended') return this.current !== undefined
    if (kind === 'plan.changed' || kind === 'task.changed') return this.#gate !== undefined
    return (
      kind === 'approval.answered' ||
      (kind === 'run.waiting' && ['approval', 'budget'].includes(String(payload['for'])))
    )
  }

  /** Looks for what the requests of a session ask, those of their agents included. */
  async look({ session, folder }: { session: string; folder: string }): Promise<void> {
    const open = await this.#connection.ask((door) => door.approvals())
    this.#open = open.filter((each) => each.requestSession === session && each.folder === folder)
    const { current } = this
    // A plan that is changed is asked about anew, under the number it has.
    const shown = current && `${current.id} ${current.hash}`
    if (shown === this.#shown) return
    this.#shown = shown
    const asked = current && (await this.#ask(current))
    this.#gate = asked?.gate
    this.#question = asked?.question
    if (asked) this.#talk.print(`\n${asked.page}`)
  }

  /** Takes a line as the answer to what is asked; false when it is none, and means something else. */
  async take(line: string, place: { session: string; folder: string }): Promise<boolean> {
    const { current } = this
    const gate = this.#gate
    // Enter was an answer when it was typed, and what it answered is gone.
    if (line === '' && !gate) return true
    const said = gate ? await gate.take(line) : passed(this.#question?.take(line), this.#talk.print)
    if (!current || !said) return false
    if (typeof said === 'object') {
      const decision = { ...said, hash: current.hash }
      const isHeard = await this.#connection
        .ask((door) => door.decide(String(current.id), decision))
        .then(() => true, isChanged)
      if (!isHeard) this.#talk.print('it was changed while you looked at it; this is what it is now')
      else this.#talk.print(gate ? startLine(gate.plan.id, said) : answerLine(current.id, said))
    }
    if (said === 'changed') this.#shown = undefined
    if (said !== 'open') await this.look(place)
    return true
  }

  async #ask(question: ApprovalView): Promise<{ page: string; gate?: PlanGate; question?: ShownQuestion }> {
    const here = this.#here
    const id = planAsked(question)
    if (id === undefined) {
      const task = await this.#connection.ask((door) => taskOf(door, question.runId))
      const shown = new ShownQuestion(here.screen, question, { task })
      return { page: shown.begin(), question: shown }
    }
    const { agents } = await (await import('./set-up.ts')).load(here)
    const plan = await this.#connection.ask((door) => door.plan(`plan:${id}`))
    const ask: GateAround['ask'] = (what) => this.#connection.ask(what)
    const page = planQuestionPage(here.screen, question, plan, { most: agents.maxConcurrent })
    const gate = new PlanGate(plan, { here, ask, ...this.#talk }, page)
    return { page: gate.begin(), gate }
  }
}

/** What a line comes to at a question: what it has to say is said, and it stays open. */
function passed(taken: Taken | undefined, print: (text: string) => void): Passed | undefined {
  if (!taken || 'answer' in taken) return taken
  print(taken.say)
  return 'open'
}

/** What is answered has become something else: it is shown anew, and nothing is said to it yet. */
function isChanged(error: unknown): false {
  if (error instanceof HeddleError && error.code === 'approval_changed') return false
  throw error
}

function answerLine(id: number, { answer }: Pick<Decision, 'answer'>): string {
  if (answer === 'tomorrow') return `approval:${id} goes on tomorrow`
  return `approval:${id} ${answer === 'no' ? 'denied' : 'approved'}`
}

function startLine(plan: number, { answer, reason }: Omit<Decision, 'hash'>): string {
  if (answer !== 'no') return `plan:${plan} starts`
  return `plan:${plan} is not started${reason === undefined ? '' : '; what you said goes to whoever planned it'}`
}
