import { Misuse } from '../domain/errors.ts'
import { thinkingLevels } from '../domain/message.ts'
import { nearest } from '../domain/nearest.ts'

/** What a line that was typed in a chat asks for. */
export type Wish =
  | { kind: 'say'; how: 'message' | 'steer' | 'interrupt'; content: string }
  | { kind: 'stop' | 'status' | 'sessions' | 'help' | 'quit' }
  | { kind: 'model'; name: string | undefined }
  | { kind: 'think'; level: (typeof thinkingLevels)[number] | undefined }
  | { kind: 'switch'; label: string }
  | { kind: 'new'; label: string | undefined }
  | { kind: 'fork'; turn: string | undefined; label: string | undefined }

export const commandNames = [
  ...['steer', 'stop', 'model', 'think', 'sessions', 'switch', 'new', 'fork', 'status', 'help', 'quit'],
]
const others = new Map([
  ['exit', 'quit'],
  ['q', 'quit'],
  ['cancel', 'stop'],
  ['models', 'model'],
  ['?', 'help'],
  ['session', 'sessions'],
])

export const chatHelp = `  a message         is answered; while a turn is under way it waits for the next
  !message          interrupts: stops the turn, and is answered at once
  /steer message    reaches the turn under way at its next step
  /stop             stops the turn                            as does Ctrl-C
  /model [name]     who answers from now on
  /think [level]    off, low, medium or high, where the model can
  /sessions         what was talked about in this folder
  /switch label     goes on in another of them
  /new [label]      a new session
  /fork [turn] [label]   a new session from a turn, the last one if none
  /status           what needs you, what runs, what was spent
  /quit             leave                     Ctrl-D, or Ctrl-C twice
@path names a file that goes with the message; Tab completes it.
Up and down go through what you typed before, Ctrl-R looks for it; a line that
begins with a blank is not kept. Alt-Enter is a line break, a paste stays one
message.`

/** Reads a line as it was meant. What begins like a path is a message. */
export function wishIn(line: string): Wish {
  if (line.startsWith('!')) return { kind: 'say', how: 'interrupt', content: needed(line.slice(1), '!message') }
  const [, name, rest = ''] = /^\/([a-z?]+)(?:\s+(.*))?$/is.exec(line) ?? []
  if (name === undefined) return { kind: 'say', how: 'message', content: line }
  const [first, second] = rest.split(/\s+/).filter((word) => word !== '')
  switch (commandNamed(name)) {
    case 'steer':
      return { kind: 'say', how: 'steer', content: needed(rest, '/steer message') }
    case 'stop':
      return { kind: 'stop' }
    case 'status':
      return { kind: 'status' }
    case 'sessions':
      return { kind: 'sessions' }
    case 'switch':
      return { kind: 'switch', label: needed(first ?? '', '/switch label', 'label') }
    case 'help':
      return { kind: 'help' }
    case 'quit':
      return { kind: 'quit' }
    case 'model':
      return { kind: 'model', name: first }
    case 'think':
      return { kind: 'think', level: levelFrom(first) }
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
  return others.get(lower) ?? commandNames.find((known) => known === lower)
}

function needed(text: string, example: string, what = 'message'): string {
  if (text.trim() === '') throw new Misuse(`there is no ${what}`, `write: ${example}`)
  return text.trim()
}

function levelFrom(word: string | undefined) {
  const level = thinkingLevels.find((known) => known === word)
  if (word !== undefined && !level) throw new Misuse(`"${word}" is no level`, `use one of ${thinkingLevels.join(', ')}`)
  return level
}

function unknown(name: string): Misuse {
  const close = nearest(name, [...commandNames, ...others.keys()])
  const meant = close === undefined ? undefined : (others.get(close) ?? close)
  return new Misuse(`there is no /${name}`, meant ? `did you mean /${meant}?` : '/help lists what there is')
}
