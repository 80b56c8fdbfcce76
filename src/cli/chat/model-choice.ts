import type { CommandInput, CommandOutcome } from '../../api/commands.ts'
import type { Question } from '../../api/views/question.ts'
import type { ChatSettings } from './chat-settings.ts'

/** Model and thinking level of a chat. */
export class ModelChoice {
  readonly #settings: ChatSettings
  /** What commands are told of this chat. */
  voice: Pick<CommandInput, 'model' | 'thinking'>

  constructor(settings: ChatSettings) {
    this.#settings = settings
    this.voice = settings.model === undefined ? {} : { model: settings.model }
  }

  get model(): string | undefined {
    return this.voice.model
  }

  /** Options sent with each message. */
  get options(): Pick<Question, 'agent' | 'attended' | 'model' | 'thinking'> {
    const { agent, isAttended } = this.#settings
    const { model, thinking } = this.voice
    return {
      ...(agent !== undefined && { agent }),
      ...(isAttended && { attended: true }),
      ...(model !== undefined && { model }),
      ...(thinking && { thinking: { level: thinking } }),
    }
  }

  get name(): string {
    return this.model ?? this.#settings.defaultModel ?? ''
  }

  /** Takes over what a command chose. */
  set(voice: NonNullable<CommandOutcome['voice']>): void {
    this.voice = { ...this.voice, ...voice }
  }
}
