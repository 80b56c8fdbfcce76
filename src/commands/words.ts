import type { ChatCommandView } from '../api/commands.ts'
import { UsageError } from '../domain/errors.ts'
import { nearest } from '../domain/text/nearest.ts'

/** The words after a command's name. Each is taken once; what the command does not take is refused. */
export class Words {
  readonly #command: Pick<ChatCommandView, 'usage' | 'example'>
  #rest: string

  constructor(rest: string, command: Pick<ChatCommandView, 'usage' | 'example'>) {
    this.#rest = rest.trim()
    this.#command = command
  }

  /** The next word; `what` names it where it is missing. */
  word(what: string): string {
    return this.optionalWord() ?? this.#refuse(`the ${what} is missing`)
  }

  optionalWord(): string | undefined {
    const [word] = /^\S+/.exec(this.#rest) ?? []
    if (word === undefined) return undefined
    if (word.startsWith('--')) this.#refuse(`it takes no ${word} there`)
    this.#rest = this.#rest.slice(word.length).trimStart()
    return word
  }

  /** A whole number, bare or as `what:7`. */
  number(what: string): number {
    return this.optionalNumber(what) ?? this.#refuse(`the number of the ${what} is missing`)
  }

  optionalNumber(what: string): number | undefined {
    const word = this.optionalWord()
    if (word === undefined) return undefined
    const digits = word.startsWith(`${what}:`) ? word.slice(what.length + 1) : word
    if (!/^\d{1,15}$/.test(digits)) this.#refuse(`"${word.slice(0, 40)}" is not a valid ${what} number`)
    return Number(digits)
  }

  /** The next word, which must be one of these. */
  choice<Choice extends string>(choices: readonly Choice[], what: string): Choice {
    return this.optionalChoice(choices, what) ?? this.#refuse(`the ${what} is missing`)
  }

  optionalChoice<Choice extends string>(choices: readonly Choice[], what: string): Choice | undefined {
    const word = this.optionalWord()
    if (word === undefined) return undefined
    const known = choices.find((choice) => choice === word)
    return known ?? this.#refuse(`"${word}" is not a ${what}: use one of ${choices.join(', ')}`)
  }

  /** Takes these flags, wherever they stand; call it before everything else. An unknown one is refused. */
  flags<Flag extends string>(known: readonly Flag[]): Set<Flag> {
    const found = new Set<Flag>()
    const words = this.#rest.split(/\s+/).filter((word) => word !== '')
    for (const word of words.filter((each) => each.startsWith('--'))) {
      const flag = known.find((each) => each === word)
      if (flag === undefined) {
        const close = nearest(word, known)
        this.#refuse(`there is no ${word}${close === undefined ? '' : `; did you mean ${close}?`}`)
      }
      if (found.has(flag)) this.#refuse(`${flag} is given twice`)
      found.add(flag)
    }
    this.#rest = words.filter((word) => !word.startsWith('--')).join(' ')
    return found
  }

  /** At most one of these flags. */
  oneFlag<Flag extends string>(known: readonly Flag[]): Flag | undefined {
    const [flag, second] = this.flags(known)
    if (second !== undefined) this.#refuse(`${flag} and ${second} do not go together`)
    return flag
  }

  /** All that is left, as it was typed. */
  text(what: string): string {
    return this.optionalText() ?? this.#refuse(`the ${what} is missing`)
  }

  optionalText(): string | undefined {
    const text = this.#rest
    this.#rest = ''
    return text === '' ? undefined : text
  }

  /** Exactly so many parts between bars; none is empty. */
  parts(names: readonly string[]): string[] {
    const parts = this.#rest.split('|').map((part) => part.trim())
    this.#rest = ''
    const missing = names.find((_, at) => (parts[at] ?? '') === '')
    if (missing !== undefined) this.#refuse(`the ${missing} is missing`)
    if (parts.length > names.length) this.#refuse(`it takes ${names.length} parts between |, not ${parts.length}`)
    return parts
  }

  assertEnd(): void {
    if (this.#rest !== '') this.#refuse(`it does not take "${this.#rest.slice(0, 40)}"`)
  }

  #refuse(message: string): never {
    throw new UsageError(message, formatUsage(this.#command), 'bad_command')
  }
}

/** How a command is written, with an example where that says more. */
export function formatUsage({ usage, example }: Pick<ChatCommandView, 'usage' | 'example'>): string {
  return usage === example ? `write: ${usage}` : `write: ${usage}    such as: ${example}`
}
