import type { Question } from '../../api/views/question.ts'
import type { ThinkingConfig } from '../../domain/message.ts'
import { printable } from '../terminal/screen.ts'
import type { ChatSettings } from './chat-settings.ts'

/** Model and thinking level of a chat. */
export class ModelChoice {
  readonly #settings: ChatSettings
  model: string | undefined
  #thinking: ThinkingConfig | undefined

  constructor(settings: ChatSettings) {
    this.#settings = settings
    this.model = settings.model
  }

  /** Options sent with each message. */
  get options(): Pick<Question, 'agent' | 'attended' | 'model' | 'thinking'> {
    const { agent, isAttended } = this.#settings
    return {
      ...(agent !== undefined && { agent }),
      ...(isAttended && { attended: true }),
      ...(this.model !== undefined && { model: this.model }),
      ...(this.#thinking && { thinking: this.#thinking }),
    }
  }

  get name(): string {
    return this.model ?? this.#settings.defaultModel ?? ''
  }

  /** Switches the model, and lists the current one and the others. */
  choose(name: string | undefined): string {
    if (name !== undefined) this.#settings.assertModel(name)
    this.model = name ?? this.model
    const now = this.name || 'none'
    const others = this.#settings.models.filter((other) => other !== now).map((other) => `/model ${other}`)
    return [`${printable(now)} answers`, ...others].join('    ')
  }

  think(level: ThinkingConfig['level'] | undefined): string {
    if (level !== undefined) this.#thinking = { level }
    return `thinking: ${this.#thinking?.level ?? 'model default'}    /think low`
  }
}
