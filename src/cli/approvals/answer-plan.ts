import type { PlanView } from '../../api/views/plan.ts'
import type { Decision } from '../../domain/approval.ts'
import type { TaskChange } from '../../domain/plan.ts'
import type { Client } from '../../gateway/api.ts'
import type { CommandContext } from '../command.ts'
import { printable } from '../terminal/screen.ts'
import { editedBrief } from './plan-brief.ts'
import { firstGateState, type GateDecision, type GateState, stepThroughGate } from './plan-gate.ts'
import { briefsPage, gatePrompt } from './plan-question.ts'
import { countLines } from './question-page.ts'

/** Context of a plan gate: terminal or chat. */
export interface GateContext {
  here: CommandContext
  /** Calls the engine. */
  ask<T>(what: (client: Client) => Promise<T>): Promise<T>
  print(text: string): void
  /** Hands the terminal to an editor and takes it back. */
  lend<T>(use: () => Promise<T>): Promise<T>
}

/** Result of a typed line: a decision, a change of the plan, or neither yet. */
export type GateResult = Omit<Decision, 'hash'> | 'changed' | 'open'

/** The gate of one plan: handles typed lines, which show or change it, until there is a decision. */
export class PlanGate {
  readonly plan: PlanView
  readonly #context: GateContext
  #state: GateState = firstGateState
  /** Rows of the page that were not shown yet. */
  #unseen: string[]

  constructor(plan: PlanView, context: GateContext, page: readonly string[] = []) {
    this.plan = plan
    this.#context = context
    this.#unseen = [...page]
  }

  /** The first screenful of the page. */
  begin(): string {
    return this.#more()
  }

  get prompt(): string {
    return this.#unseen.length > 0 ? `plan:${this.plan.id} v/n> ` : gatePrompt(this.plan.id, this.#state)
  }

  #more(): string {
    const shown = this.#unseen.splice(0, Math.max(4, this.#context.here.screen.rows - 3))
    const left = this.#unseen.length
    return [
      ...shown,
      ...(left > 0 ? [`  … ${countLines(left)} you have not seen   v next page   n no (you can add a reason)`] : []),
    ].join('\n')
  }

  /** Undefined when the line is a chat command instead. */
  async take(typed: string): Promise<GateResult | undefined> {
    const left = this.plan.tasks.filter(({ status }) => status !== 'skipped' && status !== 'cancelled')
    const step = stepThroughGate(
      this.#state,
      typed,
      left.map(({ id }) => id),
    )
    if (!step) return undefined
    if (this.#unseen.length > 0 && step.decision.kind !== 'no') {
      const isPaging = step.decision.kind === 'briefs'
      this.#context.print(isPaging ? this.#more() : 'not yet: you have not seen all of it. v shows more; n says no')
      return 'open'
    }
    this.#state = step.state
    return this.#act(step.decision)
  }

  async #act(decision: GateDecision): Promise<GateResult> {
    const { print } = this.#context
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
          `now belongs to @${printable(decision.agent)}`,
        )
    }
  }

  async #briefs(only: number | undefined): Promise<string> {
    const { ask, here } = this.#context
    const wanted = this.plan.tasks.filter(({ id }) => only === undefined || id === only)
    const views = await Promise.all(wanted.map(({ id }) => ask((client) => client.task(`task:${id}`))))
    return briefsPage(here.screen, views)
  }

  async #change(task: number, change: TaskChange, what: string): Promise<GateResult> {
    await this.#context.ask((client) => client.changeTask(`task:${task}`, change))
    this.#context.print(`task ${task} ${what}`)
    return 'changed'
  }

  async #editBrief(task: number): Promise<GateResult> {
    const { ask, lend, here, print } = this.#context
    const view = await ask((client) => client.task(`task:${task}`))
    const context = await lend(() => editedBrief(here, view))
    const change = { action: 'edit' as const, expectedBrief: view.briefHash }
    if (context !== undefined) return this.#change(task, { ...change, context }, 'has a new brief')
    print('nothing was changed')
    return 'open'
  }
}
