import { UsageError } from '../../domain/errors.ts'
import type { ThinkingConfig } from '../../domain/message.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { thinkingLevel } from '../input/thinking-level.ts'

/** A line typed in a chat, parsed. */
export type ChatCommand =
  | { kind: 'say'; how: 'message' | 'steer' | 'interrupt'; content: string }
  | { kind: 'stop' | 'status' | 'sessions' | 'help' | 'quit' }
  | { kind: 'model'; name: string | undefined }
  | { kind: 'think'; level: ThinkingConfig['level'] | undefined }
  | { kind: 'switch'; label: string }
  | { kind: 'new'; label: string | undefined }
  | { kind: 'fork'; turn: string | undefined; label: string | undefined }

export const commandNames = [
  ...['steer', 'stop', 'model', 'think', 'sessions', 'switch', 'new', 'fork', 'status', 'help', 'quit'],
]
const aliases = new Map([
  ['exit', 'quit'],
  ['q', 'quit'],
  ['cancel', 'stop'],
  ['models', 'model'],
  ['?', 'help'],
  ['session', 'sessions'],
])

export const chatHelp = `  message           sent to the agent; queued if a turn is running
  !message          stop the turn and answer this now
  /steer message    pass a message to the running turn
  /stop             stop the turn                             or Ctrl-C
  /model [name]     switch the model
  /think [level]    off, low, medium or high, where the model can
  /sessions         the sessions of this folder
  /switch label     go to another session
  /new [label]      a new session
  /fork [turn] [label]   a new session from a turn, the last one if none
  /status           pending approvals, running work, cost
  /quit             leave                     Ctrl-D, or Ctrl-C twice
@path attaches a file to the message; Tab completes it.
Up and down go through what you typed before, Ctrl-R searches it; a line that
starts with a space is not saved. Alt-Enter inserts a line break.`

/** Parses a line. One that begins like a path is a message. */
export function parseChatLine(line: string): ChatCommand {
  if (line.startsWith('!')) return { kind: 'say', how: 'interrupt', content: requireText(line.slice(1), '!message') }
  const [, name, rest = ''] = /^\/([a-z?]+)(?:\s+(.*))?$/is.exec(line) ?? []
  if (name === undefined) return { kind: 'say', how: 'message', content: line }
  const [first, second] = rest.split(/\s+/).filter((word) => word !== '')
  switch (commandNamed(name)) {
    case 'steer':
      return { kind: 'say', how: 'steer', content: requireText(rest, '/steer message') }
    case 'stop':
      return { kind: 'stop' }
    case 'status':
      return { kind: 'status' }
    case 'sessions':
      return { kind: 'sessions' }
    case 'switch':
      return { kind: 'switch', label: requireText(first ?? '', '/switch label', 'label') }
    case 'help':
      return { kind: 'help' }
    case 'quit':
      return { kind: 'quit' }
    case 'model':
      return { kind: 'model', name: first }
    case 'think':
      return { kind: 'think', level: first === undefined ? undefined : thinkingLevel(first) }
    case 'new':
      return { kind: 'new', label: first }
    case 'fork':
      return { kind: 'fork', turn: first, label: second }
    default:
      throw unknown(name)
  }
}

function commandNamed(name: string): string | undefined {
  const lower = name.toLowerCase()
  return aliases.get(lower) ?? commandNames.find((known) => known === lower)
}

function requireText(text: string, example: string, what = 'message'): string {
  if (text.trim() === '') throw new UsageError(`the ${what} is missing`, `write: ${example}`)
  return text.trim()
}

function unknown(name: string): UsageError {
  const close = nearest(name, [...commandNames, ...aliases.keys()])
  const suggestion = close === undefined ? undefined : (aliases.get(close) ?? close)
  return new UsageError(
    `there is no /${name}`,
    suggestion ? `did you mean /${suggestion}?` : '/help lists the commands',
  )
}
