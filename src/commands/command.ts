import type { App } from '../api/app.ts'
import type { ChatCommandView, CommandInput, CommandOutcome } from '../api/commands.ts'
import type { Millis } from '../domain/clock.ts'
import type { Words } from './words.ts'

/** Context passed to a command: the App with its sender's rights, and the chat that it was typed in. */
export interface ChatContext extends Omit<CommandInput, 'line'> {
  app: App
  folder: string
  now: Millis
}

/** A command of the registry, ready to be parsed. */
export interface ChatCommand extends ChatCommandView {
  /** Other names, without the slash. */
  aliases: readonly string[]
  /** Its text is a message to an agent: line breaks and every other character are its sender's. */
  takesMessage: boolean
  /** In a pipe it does not wait for the turn before it. */
  isUrgent: boolean
  /** Parses the words after the name; the result carries it out. */
  prepare(words: Words): (context: ChatContext) => Promise<CommandOutcome>
}

interface CommandSpec<Value> extends ChatCommandView {
  aliases?: readonly string[]
  takesMessage?: true
  isUrgent?: true
  /** Takes all words that it knows; the rest is refused. Left out by a command without words. */
  parse?(words: Words): Value
  /** Reads as much as it needs, and writes at most once, at the end. */
  run(context: ChatContext, value: Value): Promise<CommandOutcome>
}

/** Makes a command of its parts. */
export function defineCommand<Value = undefined>(spec: CommandSpec<Value>): ChatCommand {
  const { name, usage, summary, example, action, aliases = [], takesMessage = false, isUrgent = false } = spec
  return {
    ...{ name, usage, summary, example, action, aliases, takesMessage, isUrgent },
    prepare(words) {
      const value = spec.parse?.(words) as Value
      words.assertEnd()
      return (context) => spec.run(context, value)
    },
  }
}
