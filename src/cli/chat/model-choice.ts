import type { CommandInput, CommandOutcome } from '../../api/commands.ts'
import type { Question } from '../../api/views/question.ts'
import type { ChatSettings } from './chat-settings.ts'
import type { OutgoingMessage } from './outbox.ts'

/** Model and thinking level of a chat. */
export class ModelChoice {
  readonly #settings: ChatSettings
  /** State of this chat for commands. */
  voice: Pick<CommandInput, 'model' | 'thinking'>
  /** The next message asks for a summary of what was before it. */
  #isToCompact = false

  constructor(settings: ChatSettings) {
    this.#settings = settings
    this.voice = settings.model === undefined ? {} : { model: settings.model }
  }

  get model(): string | undefined {
    return this.voice.model
  }

  /** Options to send with a message; one that is steered into a turn begins none. */
  optionsFor(how: OutgoingMessage['how']): Pick<Question, 'agent' | 'attended' | 'model' | 'thinking' | 'compact'> {
    const { agent, isAttended } = this.#settings
    const { model, thinking } = this.voice
    const compact = this.#isToCompact && how !== 'steer'
    if (compact) this.#isToCompact = false
    return {
      ...(agent !== undefined && { agent }),
      ...(isAttended && { attended: true }),
      ...(model !== undefined && { model }),
      ...(thinking && { thinking: { level: thinking } }),
      ...(compact && { compact }),
    }
  }

  get name(): string {
    return this.model ?? this.#settings.defaultModel ?? ''
  }

  /** Takes over what a command chose. */
  set({ compact, ...voice }: NonNullable<CommandOutcome['voice']>): void {
    if (compact) this.#isToCompact = true
    this.voice = { ...this.voice, ...voice }
  }
}
