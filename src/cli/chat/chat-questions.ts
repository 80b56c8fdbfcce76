import type { ApprovalView } from '../../api/views/approval.ts'
import type { Decision } from '../../domain/approval.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { Event } from '../../domain/event.ts'
import { type GateContext, type GateResult, PlanGate } from '../approvals/answer-plan.ts'
import { planQuestionPage, planToStart } from '../approvals/plan-question.ts'
import { taskOf } from '../approvals/question-page.ts'
import { type PagerResult, QuestionPager } from '../approvals/question-pager.ts'
import type { CommandContext } from '../command.ts'
import type { Connection } from './connection.ts'

/** Open questions of one chat: shown one at a time, and answered by the next typed line. */
export class ChatQuestions {
  readonly #connection: Connection
  readonly #here: CommandContext
  readonly #talk: Pick<GateContext, 'print' | 'lend'>
  #open: ApprovalView[] = []
  #shown: string | undefined
  /** Set while a plan waits to be started. */
  #gate: PlanGate | undefined
  /** Set while any other call waits. */
  #question: QuestionPager | undefined

  constructor(connection: Connection, here: CommandContext, talk: Pick<GateContext, 'print' | 'lend'>) {
    this.#connection = connection
    this.#here = here
    this.#talk = talk
  }

  /** The question that is shown now. */
  get current(): ApprovalView | undefined {
    return this.#open[0]
  }

  /** Prompt while there is a question. */
  get prompt(): string | undefined {
    const { current } = this
    return current && (this.#gate ?? this.#question)?.prompt
  }

  /** Whether Enter alone is an answer. */
  get takesEmpty(): boolean {
    return this.#gate !== undefined
  }

  /** Whether the open questions may differ after this event. `approval.asked` is not listed: the run's wait follows it. */
  mayDiffer({ kind, payload }: Event): boolean {
    if (kind === 'run.ended') return this.current !== undefined
    if (kind === 'plan.changed' || kind === 'task.changed') return this.#gate !== undefined
    return (
      kind === 'approval.answered' ||
      (kind === 'run.waiting' && ['approval', 'budget'].includes(String(payload['for'])))
    )
  }

  /** Reads the open questions of a session's requests, those of its agents included, and shows the first. */
  async look({ session, folder }: { session: string; folder: string }): Promise<void> {
    const open = await this.#connection.ask((client) => client.approvals())
    this.#open = open.filter((each) => each.requestSession === session && each.folder === folder)
    const { current } = this
    // A changed plan is asked about again under the same id.
    const shown = current && `${current.id} ${current.hash}`
    if (shown === this.#shown) return
    this.#shown = shown
    const view = current && (await this.#ask(current))
    this.#gate = view?.gate
    this.#question = view?.question
    if (view) this.#talk.print(`\n${view.page}`)
  }

  /** Handles a line as an answer; false when it is not one. */
  async take(line: string, place: { session: string; folder: string }): Promise<boolean> {
    const { current } = this
    const gate = this.#gate
    // Enter was typed for a question that is gone by now.
    if (line === '' && !gate) return true
    const result = gate ? await gate.take(line) : printReply(this.#question?.take(line), this.#talk.print)
    if (!current || !result) return false
    if (typeof result === 'object') {
      const decision = { ...result, hash: current.hash }
      const isDecided = await this.#connection
        .ask((client) => client.decide(String(current.id), decision))
        .then(() => true, isChanged)
      if (!isDecided) this.#talk.print('it changed while you were looking; this is the new version')
      else this.#talk.print(gate ? startLine(gate.plan.id, result) : answerLine(current.id, result))
    }
    if (result === 'changed') this.#shown = undefined
    if (result !== 'open') await this.look(place)
    return true
  }

  async #ask(question: ApprovalView): Promise<{ page: string; gate?: PlanGate; question?: QuestionPager }> {
    const here = this.#here
    const id = planToStart(question)
    if (id === undefined) {
      const task = await this.#connection.ask((client) => taskOf(client, question.runId))
      const shown = new QuestionPager(here.screen, question, { task })
      return { page: shown.begin(), question: shown }
    }
    const { agents } = await (await import('../commands/set-up.ts')).load(here)
    const plan = await this.#connection.ask((client) => client.plan(`plan:${id}`))
    const ask: GateContext['ask'] = (what) => this.#connection.ask(what)
    const page = planQuestionPage(here.screen, question, plan, { maxAgents: agents.maxConcurrent })
    const gate = new PlanGate(plan, { here, ask, ...this.#talk }, page)
    return { page: gate.begin(), gate }
  }
}

/** Prints what the pager replies, which leaves the question open; passes a decision on. */
function printReply(result: PagerResult | undefined, print: (text: string) => void): GateResult | undefined {
  if (!result || 'answer' in result) return result
  print(result.say)
  return 'open'
}

/** False when the question changed meanwhile; rethrows every other error. */
function isChanged(error: unknown): false {
  if (error instanceof HeddleError && error.code === 'approval_changed') return false
  throw error
}

function answerLine(id: number, { answer }: Pick<Decision, 'answer'>): string {
  if (answer === 'tomorrow') return `approval:${id} continues tomorrow`
  return `approval:${id} ${answer === 'no' ? 'denied' : 'approved'}`
}

function startLine(plan: number, { answer, reason }: Omit<Decision, 'hash'>): string {
  if (answer !== 'no') return `plan:${plan} starts`
  return `plan:${plan} was not started${reason === undefined ? '' : '; the planner gets your message'}`
}
