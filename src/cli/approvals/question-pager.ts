import type { ApprovalView } from '../../api/views/approval.ts'
import type { TaskLine } from '../../api/views/plan.ts'
import { type Answer, budgetTool, type Decision, type Scope } from '../../domain/approval.ts'
import { paint, type Screen, wrapText } from '../terminal/screen.ts'
import { describeScopes } from './describe-scopes.ts'
import { ForeignText } from './foreign-text.ts'
import { countLines, factLines, questionFacts } from './question-page.ts'

/** Min rows for the text, and rows for the choices below it. */
const [minRows, rowsBelow] = [4, 6]
const maxFactRows = 4

/** Result of a typed line: a decision, or text to print. */
export type PagerResult = Omit<Decision, 'hash'> | { say: string }

/** A question on a terminal. It can be approved only once all of its text was shown. */
export class QuestionPager {
  readonly #screen: Screen
  readonly #approval: ApprovalView
  readonly #text: ForeignText
  readonly #facts: string[]
  /** The limits of the call, repeated above the choices where they are weaker than the sandbox. */
  readonly #warning: string[]
  /** The scope of a yes, if it was chosen before. */
  readonly #scope: Scope | 'tomorrow' | undefined

  constructor(
    screen: Screen,
    approval: ApprovalView,
    { task, scope }: { task?: TaskLine | undefined; scope?: Scope | 'tomorrow' },
  ) {
    this.#screen = screen
    this.#approval = approval
    this.#text = new ForeignText(screen, approval.change)
    this.#facts = questionFacts(screen, approval, { task, max: maxFactRows })
    this.#warning = warningOf(screen, approval)
    this.#scope = scope
  }

  /** The facts, as much of the text as fits below them, and the choices. */
  begin(): string {
    const room = this.#screen.rows - this.#facts.length - this.#warning.length
    const whole = new ForeignText(this.#screen, this.#approval.change)
    whole.rows(room - rowsBelow)
    // A text that does not fit has fewer choices below it.
    const rows = this.#text.rows(Math.max(minRows, room - (whole.isSeen ? rowsBelow : 3)))
    return [...this.#facts, ...rows, ...this.#choices()].join('\n')
  }

  /** Prompt of the line in which the answer is typed. */
  get prompt(): string {
    return `approval:${this.#approval.id} ${this.#letters}> `
  }

  get #letters(): string {
    if (!this.#text.isSeen) return 'v/n'
    if (this.#isBudget) return this.#canWaitForTomorrow ? 'y/t/n' : 'y/n'
    return this.#scope ? 'y/n' : 'y/s/a/n'
  }

  get #isBudget(): boolean {
    return this.#approval.tool === budgetTool
  }

  get #canWaitForTomorrow(): boolean {
    return this.#approval.scopes.includes('tomorrow')
  }

  get keys(): string {
    if (this.#isBudget) return this.#canWaitForTomorrow ? 'y, t or n' : 'y or n'
    return this.#scope ? 'y, or n (you can add a reason)' : 'y, s, a, or n (you can add a reason)'
  }

  /** Undefined for a line that is not an answer. */
  take(typed: string): PagerResult | undefined {
    const [word = '', ...rest] = typed.trim().split(/\s+/)
    const key = word.toLowerCase()
    if (key === 'v' && ['', 'all'].includes(rest.join(' '))) {
      if (this.#text.isSeen) return { say: 'that was all of it' }
      return {
        say: this.#more(rest.length > 0 ? Number.POSITIVE_INFINITY : this.#screen.rows - 3 - this.#warning.length),
      }
    }
    if (this.#canWaitForTomorrow && (key === 't' || key === 'tomorrow')) return { answer: 'tomorrow' }
    const decision = answerFrom(typed)
    if (!decision) return undefined
    if (decision.answer === 'no') return decision
    if (this.#isBudget) return decision.answer === 'once' ? { answer: this.#scope ?? 'once' } : undefined
    if (!this.#text.isSeen) return { say: 'not yet: you have not seen all of it. v shows more; n says no' }
    if (this.#scope === undefined) return decision
    return decision.answer === 'once' ? { answer: this.#scope } : undefined
  }

  #more(max: number): string {
    return [...this.#text.rows(max), ...this.#choices()].join('\n')
  }

  #choices(): string[] {
    if (!this.#text.isSeen) {
      const left = `${countLines(this.#text.linesLeft)} you have not seen`
      return [
        ...this.#warning,
        `  ${paint(this.#screen, 'yellow', left)}   ${this.#key('v')} next page   ${this.#key('v all')}   ${this.#key('n')} no (you can add a reason)`,
      ]
    }
    if (this.#isBudget)
      return [
        ...this.#choice('y', this.#scope === 'tomorrow' ? 'continue tomorrow' : 'raise it and continue'),
        ...(this.#canWaitForTomorrow ? this.#choice('t', 'continue tomorrow') : []),
        ...this.#choice('n', 'stop here'),
      ]
    if (this.#scope && this.#scope !== 'tomorrow') {
      const what = this.#scope === 'once' ? 'this once' : this.#covered(this.#scope)
      return [...this.#warning, ...this.#choice('y', what), ...this.#choice('n', 'no (you can add a reason)')]
    }
    return [
      ...this.#warning,
      `  ${this.#key('y')}  this once        ${this.#key('n')}  no (you can add a reason)`,
      ...this.#choice('s', this.#covered('session')),
      ...this.#choice('a', this.#covered('agent')),
    ]
  }

  /** Whom a wider answer covers, which calls, and until when. */
  #covered(scope: 'session' | 'agent'): string {
    const { covered, ...who } = describeScopes(this.#approval)
    return `${who[scope]}: ${scope === 'session' || this.#scope ? covered : 'the same'}`
  }

  #choice(key: string, what: string): string[] {
    return wrapText(`  ${this.#key(key)}  ${what}`, this.#screen.columns, { words: true, hang: '     ' })
  }

  #key(letter: string): string {
    return paint(this.#screen, 'bold', letter)
  }
}

function warningOf(screen: Screen, { facts, coverage }: ApprovalView): string[] {
  const runs = facts.find(({ name }) => name === 'runs')
  if (!runs || coverage?.confinement === 'sandbox') return []
  return factLines(screen, { ...runs, isLoud: true }).slice(0, maxFactRows)
}

/** A name cut short: the choices must stay on the screen. */
/** Parses an answer: a letter or a word, and after `n` the reason. */
export function answerFrom(typed: string): { answer: Answer; reason?: string } | undefined {
  const [word = '', ...rest] = typed.trim().split(/\s+/)
  const reason = rest.join(' ')
  const answer = answerWords.get(word.toLowerCase())
  if (answer === 'no') return { answer, ...(reason !== '' && { reason }) }
  return answer === undefined || reason !== '' ? undefined : { answer }
}

const answerWords = new Map<string, Answer>([
  ...(['y', 'yes', 'once'] as const).map((word): [string, Answer] => [word, 'once']),
  ...(['s', 'session'] as const).map((word): [string, Answer] => [word, 'session']),
  ...(['a', 'agent'] as const).map((word): [string, Answer] => [word, 'agent']),
  ...(['n', 'no'] as const).map((word): [string, Answer] => [word, 'no']),
])
