import type { ApprovalView } from '../domain/app.ts'
import { type Answer, budgetTool, type Decision, lapses, type Scope } from '../domain/approval.ts'
import type { TaskLine } from '../domain/plan-views.ts'
import { visible } from '../domain/visible.ts'
import { ForeignText } from './foreign-text.ts'
import { factLines, lines, questionFacts } from './question-page.ts'
import { cut, paint, printable, type Screen, wrapped } from './screen.ts'

/** Rows that the facts leave for the text at least, and rows below it. */
const [leastRows, rowsBelow] = [4, 6]
const longestNamed = 60
const mostFactRows = 4

/** What became of a typed line: an answer, or something to be said. */
export type Taken = Omit<Decision, 'hash'> | { say: string }

/** A question on a terminal: what was shown of it, and what may be answered therefore. */
export class ShownQuestion {
  readonly #screen: Screen
  readonly #approval: ApprovalView
  readonly #text: ForeignText
  readonly #facts: string[]
  /** What bounds the call, told again right above the choices where that is less than the plain sandbox. */
  readonly #warning: string[]
  /** The only scope that a yes has, where it was given before. */
  readonly #scope: Scope | 'tomorrow' | undefined

  constructor(
    screen: Screen,
    approval: ApprovalView,
    { task, scope }: { task?: TaskLine | undefined; scope?: Scope | 'tomorrow' },
  ) {
    this.#screen = screen
    this.#approval = approval
    this.#text = new ForeignText(screen, approval.change)
    this.#facts = questionFacts(screen, approval, { task, most: mostFactRows })
    this.#warning = warningOf(screen, approval)
    this.#scope = scope
  }

  /** The facts, as much of the text as fits below them, and the choices. */
  begin(): string {
    const room = this.#screen.rows - this.#facts.length - this.#warning.length
    const whole = new ForeignText(this.#screen, this.#approval.change)
    whole.rows(room - rowsBelow)
    // Where it does not fit there are fewer choices.
    const rows = this.#text.rows(Math.max(leastRows, room - (whole.isSeen ? rowsBelow : 3)))
    return [...this.#facts, ...rows, ...this.#choices()].join('\n')
  }

  /** What stands before the line in which the answer is typed. */
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
    return this.#scope ? 'y, or n and why' : 'y, s, a, or n and why'
  }

  /** Undefined for a line that is no answer. */
  take(typed: string): Taken | undefined {
    const [word = '', ...rest] = typed.trim().split(/\s+/)
    const key = word.toLowerCase()
    if (key === 'v' && ['', 'all'].includes(rest.join(' '))) {
      if (this.#text.isSeen) return { say: 'that was all of it' }
      return {
        say: this.#more(rest.length > 0 ? Number.POSITIVE_INFINITY : this.#screen.rows - 3 - this.#warning.length),
      }
    }
    if (this.#canWaitForTomorrow && (key === 't' || key === 'tomorrow')) return { answer: 'tomorrow' }
    const said = answerFrom(typed)
    if (!said) return undefined
    if (said.answer === 'no') return said
    if (this.#isBudget) return said.answer === 'once' ? { answer: this.#scope ?? 'once' } : undefined
    if (!this.#text.isSeen) return { say: 'not yet: you have not seen all of it. v shows more; n says no' }
    if (this.#scope === undefined) return said
    return said.answer === 'once' ? { answer: this.#scope } : undefined
  }

  #more(most: number): string {
    return [...this.#text.rows(most), ...this.#choices()].join('\n')
  }

  #choices(): string[] {
    if (!this.#text.isSeen) {
      const left = `${lines(this.#text.linesLeft)} you have not seen`
      return [
        ...this.#warning,
        `  ${paint(this.#screen, 'yellow', left)}   ${this.#key('v')} next page   ${this.#key('v all')}   ${this.#key('n')} no, and why`,
      ]
    }
    if (this.#isBudget)
      return [
        ...this.#choice('y', this.#scope === 'tomorrow' ? 'go on tomorrow' : 'raise it, and go on'),
        ...(this.#canWaitForTomorrow ? this.#choice('t', 'go on tomorrow') : []),
        ...this.#choice('n', 'stop here'),
      ]
    if (this.#scope && this.#scope !== 'tomorrow') {
      const what = this.#scope === 'once' ? 'this once' : this.#covered(this.#scope)
      return [...this.#warning, ...this.#choice('y', what), ...this.#choice('n', 'no, and why')]
    }
    return [
      ...this.#warning,
      `  ${this.#key('y')}  this once        ${this.#key('n')}  no, and why`,
      ...this.#choice('s', this.#covered('session')),
      ...this.#choice('a', this.#covered('agent')),
    ]
  }

  /** Whom a wider answer would cover, what, and until when. */
  #covered(scope: 'session' | 'agent'): string {
    const { agent, requestSession, session } = this.#approval
    if (scope === 'session')
      return `every agent in session ${short(requestSession ?? session ?? '–')}: ${this.#call()}${this.#until()}`
    const who = `@${short(agent)} in this folder, in every session`
    return this.#scope ? `${who}: ${this.#call()}${this.#until()}` : `${who}: the same`
  }

  #until(): string {
    const { coverage } = this.#approval
    if (coverage?.confinement === 'sandbox') return '; the sandbox is the wall'
    return coverage && lapses(coverage) ? ', until a run changes a file there or may have' : ''
  }

  /** A long call is not told twice: it stands above. */
  #call(): string {
    const { covers, coverage, tool } = this.#approval
    if (covers.length <= longestNamed && !covers.includes('\n')) return printable(visible(covers))
    const where = visible(coverage?.cwd ?? '.')
    return `${short(tool)}, exactly as above, ${where.length > longestNamed ? 'in that directory' : `in ${printable(where)}`}`
  }

  #choice(key: string, what: string): string[] {
    return wrapped(`  ${this.#key(key)}  ${what}`, this.#screen.columns, { words: true, hang: '     ' })
  }

  #key(letter: string): string {
    return paint(this.#screen, 'bold', letter)
  }
}

function warningOf(screen: Screen, { facts, coverage }: ApprovalView): string[] {
  const runs = facts.find(({ name }) => name === 'runs')
  if (!runs || coverage?.confinement === 'sandbox') return []
  return factLines(screen, { ...runs, isLoud: true }).slice(0, mostFactRows)
}

/** A name in few columns: the choices must stay on the screen. */
function short(name: string): string {
  return cut(printable(visible(name)), longestNamed)
}

/** What a person typed as an answer: a letter or a word, and after no the reason. */
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
