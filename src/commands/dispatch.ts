import type { CommandOutcome } from '../api/commands.ts'
import type { Action } from '../domain/access/actions.ts'
import { UsageError } from '../domain/errors.ts'
import { nearest } from '../domain/text/nearest.ts'
import { escapeInvisible } from '../domain/text/visible.ts'
import type { ChatCommand, ChatContext } from './command.ts'
import { registry } from './registry.ts'
import { formatUsage, Words } from './words.ts'

/** Longest line that is looked at. */
const maxLine = 100_000

/** Carries out a line that is a command. The App has its sender's rights. */
export async function dispatch(context: ChatContext, line: string): Promise<CommandOutcome> {
  return parseCommand(line).run(context)
}

/** What the sender of this line needs the right to. Throws if it is not a command. */
export function actionOfLine(line: string): Action {
  return parseCommand(line).command.action
}

/** The name of the command in this line, which others may read; its words are its sender's. */
export function nameOfLine(line: string): string {
  return parseCommand(line).command.name
}

/** Whether a line is a command, known or not, and never a message. One that begins like a path is a message. */
export function isCommandLine(line: string): boolean {
  return shape.test(line)
}

/** Whether a line is a command that does not wait for the turn before it. */
export function isUrgentCommand(line: string): boolean {
  const [, first = ''] = shape.exec(line) ?? []
  return byName.get(first.toLowerCase())?.isUrgent === true
}

const shape = /^\/([a-z?]+)(?:\s+(.*))?$/is

interface ParsedCommand {
  command: ChatCommand
  run(context: ChatContext): Promise<CommandOutcome>
}

/** Parses a whole line before anything is done. */
function parseCommand(line: string): ParsedCommand {
  const [, first, rest = ''] = shape.exec(line) ?? []
  if (first === undefined || line.length > maxLine)
    throw new UsageError('this is not a command', 'write: /help    it lists the commands', 'bad_command')
  const typed = first.toLowerCase()
  const base = byName.get(typed)
  const name = base?.name ?? typed
  const group = registry.filter((each) => each.name.startsWith(`${name} `))
  if (!base && group.length === 0) throw unknownChatCommand(first)
  const [word = ''] = /^\S*/.exec(rest) ?? []
  const below = group.find((each) => each.name === `${name} ${word.toLowerCase()}`)
  // The commands of a group take no other words than the names of the group.
  const command = below ?? (group.length === 0 || word === '' ? base : undefined)
  if (!command) throw unknownSubcommand(name, word, group)
  assertVisible(line, command)
  return { command, run: command.prepare(new Words(below ? rest.slice(word.length) : rest, command)) }
}

const byName = new Map(registry.flatMap((command) => [command.name, ...command.aliases].map((name) => [name, command])))

/** Invisible characters could make a command do something else than it seems to. */
function assertVisible(line: string, command: ChatCommand): void {
  if (command.takesMessage) return
  const hidden = [...line].find((letter) => letter === '\n' || letter === '\t' || escapeInvisible(letter) !== letter)
  if (hidden === undefined) return
  const shown =
    hidden === '\n' ? 'a line break' : hidden === '\t' ? 'a tab' : `the character ${escapeInvisible(hidden)}`
  throw new UsageError(`/${command.name} cannot have ${shown} in it`, formatUsage(command), 'bad_command')
}

function unknownChatCommand(name: string): UsageError {
  const close = nearest(name, byName.keys())
  const meant = close === undefined ? undefined : byName.get(close)
  return new UsageError(
    `there is no /${name.slice(0, 40)}`,
    meant ? `did you mean /${meant.name}? ${formatUsage(meant)}` : 'write: /help    it lists the commands',
    'unknown_command',
  )
}

function unknownSubcommand(name: string, word: string, group: readonly ChatCommand[]): UsageError {
  const names = group.map((each) => each.name.slice(name.length + 1))
  const close = nearest(word, names)
  const meant = group.find((each) => each.name === `${name} ${close}`)
  const message = word === '' ? `/${name} needs one more word` : `there is no /${name} ${word.slice(0, 40)}`
  const remedy = meant
    ? `did you mean /${meant.name}? ${formatUsage(meant)}`
    : `write: /${name} [${names.join('|')}]    /help ${name}`
  return new UsageError(message, remedy, 'unknown_command')
}
