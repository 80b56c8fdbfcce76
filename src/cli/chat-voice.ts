import type { Question } from '../domain/app.ts'
import type { ThinkingConfig } from '../domain/message.ts'
import type { ChatSettings } from './chat-settings.ts'
import { printable } from './screen.ts'

/** Who answers in a talk, and how much they think before. */
export class Voice {
  readonly #settings: ChatSettings
  model: string | undefined
  #thinking: ThinkingConfig | undefined

  constructor(settings: ChatSettings) {
    this.#settings = settings
    this.model = settings.model
  }

  /** What each message asks for. */
  get wishes(): Pick<Question, 'agent' | 'attended' | 'model' | 'thinking'> {
    const { agent, isAttended } = this.#settings
    return {
      ...(agent !== undefined && { agent }),
      ...(isAttended && { attended: true }),
      ...(this.model !== undefined && { model: this.model }),
      ...(this.#thinking && { thinking: this.#thinking }),
    }
  }

  get name(): string {
    return this.model ?? this.#settings.usualModel ?? ''
  }

  /** Chooses who answers from now on; tells who does, and who else could. */
  choose(name: string | undefined): string {
    if (name !== undefined) this.#settings.knowModel(name)
    this.model = name ?? this.model
    const now = this.name || 'none'
    const others = this.#settings.models.filter((other) => other !== now).map((other) => `/model ${other}`)
    return [`${printable(now)} answers`, ...others].join('    ')
  }

  think(level: ThinkingConfig['level'] | undefined): string {
    if (level !== undefined) this.#thinking = { level }
    return `thinking: ${this.#thinking?.level ?? 'as the model does by itself'}    /think low`
  }
}
