import type { ApprovalView } from '../domain/app.ts'
import { type Answer, lapses, type Scope } from '../domain/approval.ts'
import type { TaskLine } from '../domain/plan-views.ts'
import { visible } from '../domain/visible.ts'
import { ForeignText } from './foreign-text.ts'
import { lines, questionFacts } from './question-page.ts'
import { paint, printable, type Screen, wrapped } from './screen.ts'

/** Rows that the facts leave for the text at least, and rows below it. */
const [leastRows, rowsBelow] = [4, 6]
const longestNamed = 60

/** What became of a typed line: an answer, or something to be said. */
export type Taken = { answer: Answer; reason?: string } | { say: string }

/** A question on a terminal: what was shown of it, and what may be answered therefore. */
export class ShownQuestion {
  readonly #screen: Screen
  readonly #approval: ApprovalView
  readonly #text: ForeignText
  readonly #facts: string[]
  /** The only scope that a yes has, where it was given before. */
  readonly #scope: Scope | undefined

  constructor(screen: Screen, approval: ApprovalView, { task, scope }: { task?: TaskLine | undefined; scope?: Scope }) {
    this.#screen = screen
    this.#approval = approval
    this.#text = new ForeignText(screen, approval.change)
    this.#facts = questionFacts(screen, approval, task)
    this.#scope = scope
  }

  /** The facts, as much of the text as fits below them, and the choices. */
  begin(): string {
    const room = this.#screen.rows - this.#facts.length
    const whole = new ForeignText(this.#screen, this.#approval.change)
    whole.rows(room - rowsBelow)
    // Where it does not fit there are fewer choices.
    const rows = this.#text.rows(Math.max(leastRows, room - (whole.isSeen ? rowsBelow : 3)))
    return [...this.#facts, ...rows, ...this.#choices()].join('\n')
  }

  /** What stands before the line in which the answer is typed. */
  get prompt(): string {
    const keys = this.#text.isSeen ? (this.#scope ? 'y/n' : 'y/s/a/n') : 'v/n'
    return `approval:${this.#approval.id} ${keys}> `
  }

  get keys(): string {
    return this.#scope ? 'y, or n and why' : 'y, s, a, or n and why'
  }

  /** Undefined for a line that is no answer. */
  take(typed: string): Taken | undefined {
    const [word = '', ...rest] = typed.trim().split(/\s+/)
    const key = word.toLowerCase()
    if (key === 'v' && ['', 'all'].includes(rest.join(' '))) {
      if (this.#text.isSeen) return { say: 'that was all of it' }
      return { say: this.#more(rest.length > 0 ? Number.POSITIVE_INFINITY : this.#screen.rows - 3) }
    }
    const said = answerFrom(typed)
    if (!said) return undefined
    if (said.answer === 'no') return said
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
        `  ${paint(this.#screen, 'yellow', left)}   ${this.#key('v')} next page   ${this.#key('v all')}   ${this.#key('n')} no, and why`,
      ]
    }
    if (this.#scope) {
      const what = this.#scope === 'once' ? 'this once' : this.#covered(this.#scope)
      return [...this.#choice('y', what), ...this.#choice('n', 'no, and why')]
    }
    return [
      `  ${this.#key('y')}  this once        ${this.#key('n')}  no, and why`,
      ...this.#choice('s', this.#covered('session')),
      ...this.#choice('a', this.#covered('agent')),
    ]
  }

  /** Whom a wider answer would cover, what, and until when. */
  #covered(scope: 'session' | 'agent'): string {
    const { agent, requestSession, session } = this.#approval
    if (scope === 'session')
      return `every agent in session ${printable(requestSession ?? session ?? '–')}: ${this.#call()}${this.#until()}`
    const who = `@${printable(agent)} in this folder, in every session`
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
    return `${printable(tool)}, exactly as above, in ${printable(visible(coverage?.cwd ?? '.'))}`
  }

  #choice(key: string, what: string): string[] {
    return wrapped(`  ${this.#key(key)}  ${what}`, this.#screen.columns, { words: true, hang: '     ' })
  }

  #key(letter: string): string {
    return paint(this.#screen, 'bold', letter)
  }
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
