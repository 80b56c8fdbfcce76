import type { Action } from '../domain/access/actions.ts'
import type { ThinkingConfig } from '../domain/message.ts'

/** A chat command, as help and completion show it. */
export interface ChatCommandView {
  /** Without the slash; a subcommand has two words. */
  name: string
  usage: string
  /** What it does, in a few words. */
  summary: string
  example: string
  /** What its sender needs the right to. */
  action: Action
}

/** A line with a command, and where it was typed. */
export interface CommandInput {
  line: string
  /** Label of the session of this chat. */
  session: string
  /** What this chat sends with its messages. */
  model?: string
  thinking?: ThinkingConfig['level']
}

export type OutcomeCell = string | number | null

/** A part of what a command shows. Times are ISO 8601 UTC; each client formats them. */
export type OutcomeBlock =
  | { kind: 'text'; text: string }
  /** Words of a person, a model or a file: the client marks each line, so that none is taken for Heddle's own. */
  | { kind: 'quote'; text: string }
  /** Rows with a cell for each column; `wide` is the column that gets what room is left. */
  | { kind: 'table'; columns: string[]; rows: OutcomeCell[][]; wide: string }
  /** Names with their values. */
  | { kind: 'facts'; facts: { name: string; value: OutcomeCell }[] }

/** Outcome of a command. The client shows the blocks and applies the rest to its own chat. */
export interface CommandOutcome {
  blocks: OutcomeBlock[]
  /** What its reader may want to type next. */
  next?: string
  /** The chat goes on in this session; a new one starts with the next message. */
  go?: { session: string; isNew: boolean }
  /** What this chat sends with its next messages; `compact` with the next one only. */
  voice?: { model?: string; thinking?: ThinkingConfig['level']; compact?: true }
  /** What the chat sends as an input now. */
  say?: { kind: 'steer'; content: string }
  /** The sender leaves the chat. */
  leave?: true
}

/** Commands that people type in a chat. None of them reaches a model or the inbox of a session. */
export interface CommandApp {
  /** The commands that the caller may use. */
  commands(): Promise<ChatCommandView[]>
  /** Carries one out. Nothing is changed if it cannot be parsed or the caller may not use it. */
  command(folder: string, input: CommandInput): Promise<CommandOutcome>
}
