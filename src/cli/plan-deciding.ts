import type { Decision } from '../domain/approval.ts'
import type { TaskChange } from '../domain/plan.ts'
import type { PlanView } from '../domain/plan-views.ts'
import type { Door } from '../gateway/api.ts'
import type { Here } from './cli.ts'
import { editedBrief } from './plan-brief.ts'
import { atGate, type GateDecision, type GateState, stepThroughGate } from './plan-gate.ts'
import { briefsPage, gatePrompt } from './plan-question.ts'
import { lines } from './question-page.ts'
import { printable } from './screen.ts'

/** What a gate needs of whoever shows it. */
export interface GateAround {
  here: Here
  /** Asks the heddle. */
  ask<T>(what: (door: Door) => Promise<T>): Promise<T>
  print(text: string): void
  /** Gives the terminal to an editor and takes it back. */
  lend<T>(use: () => Promise<T>): Promise<T>
}

/** What became of a typed line: an answer to the question, a change of the plan, or neither yet. */
export type Passed = Omit<Decision, 'hash'> | 'changed' | 'open'

/** The gate of one plan: takes what is typed, looks and changes, until there is an answer. */
export class PlanGate {
  readonly plan: PlanView
  readonly #around: GateAround
  #state: GateState = atGate
  /** Rows of its page that were not shown yet. */
  #unseen: string[]

  constructor(plan: PlanView, around: GateAround, page: readonly string[] = []) {
    this.plan = plan
    this.#around = around
    this.#unseen = [...page]
  }

  /** The page as far as the screen has room for it. */
  begin(): string {
    return this.#more()
  }

  get prompt(): string {
    return this.#unseen.length > 0 ? `plan:${this.plan.id} v/n> ` : gatePrompt(this.plan.id, this.#state)
  }

  #more(): string {
    const shown = this.#unseen.splice(0, Math.max(4, this.#around.here.screen.rows - 3))
    const left = this.#unseen.length
    return [...shown, ...(left > 0 ? [`  … ${lines(left)} you have not seen   v next page   n no, and why`] : [])].join(
      '\n',
    )
  }

  /** Undefined when the line is no answer, but a command to whoever shows the gate. */
  async take(typed: string): Promise<Passed | undefined> {
    const left = this.plan.tasks.filter(({ status }) => status !== 'skipped' && status !== 'cancelled')
    const step = stepThroughGate(
      this.#state,
      typed,
      left.map(({ id }) => id),
    )
    if (!step) return undefined
    if (this.#unseen.length > 0 && step.decision.kind !== 'no') {
      const isPaging = step.decision.kind === 'briefs'
      this.#around.print(isPaging ? this.#more() : 'not yet: you have not seen all of it. v shows more; n says no')
      return 'open'
    }
    this.#state = step.state
    return this.#act(step.decision)
  }

  async #act(decision: GateDecision): Promise<Passed> {
    const { print } = this.#around
    switch (decision.kind) {
      case 'run':
        return { answer: 'once' }
      case 'no':
        return { answer: 'no', ...(decision.reason !== undefined && { reason: decision.reason }) }
      case 'ask':
        print(decision.text)
        return 'open'
      case 'briefs':
        print(await this.#briefs(decision.task))
        return 'open'
      case 'brief':
        return this.#editBrief(decision.task)
      case 'drop':
        return this.#change(
          decision.task,
          { action: 'skip', reason: 'dropped before the plan was started' },
          'is dropped',
        )
      case 'give':
        return this.#change(
          decision.task,
          { action: 'edit', skill: decision.agent },
          `is @${printable(decision.agent)}’s now`,
        )
    }
  }

  async #briefs(only: number | undefined): Promise<string> {
    const { ask, here } = this.#around
    const wanted = this.plan.tasks.filter(({ id }) => only === undefined || id === only)
    const views = await Promise.all(wanted.map(({ id }) => ask((door) => door.task(`task:${id}`))))
    return briefsPage(here.screen, views)
  }

  async #change(task: number, change: TaskChange, what: string): Promise<Passed> {
    await this.#around.ask((door) => door.changeTask(`task:${task}`, change))
    this.#around.print(`task ${task} ${what}`)
    return 'changed'
  }

  async #editBrief(task: number): Promise<Passed> {
    const { ask, lend, here, print } = this.#around
    const view = await ask((door) => door.task(`task:${task}`))
    const context = await lend(() => editedBrief(here, view))
    if (context !== undefined) return this.#change(task, { action: 'edit', context }, 'has a new brief')
    print('nothing was changed')
    return 'open'
  }
}
