import { isCommandLine } from '../../commands/dispatch.ts'
import { UsageError } from '../../domain/errors.ts'

/** A line typed in a chat: a message, a chat command, or a command line of heddle. */
type ChatLine =
  | { kind: 'say'; how: 'message' | 'interrupt'; content: string }
  | { kind: 'command' }
  | { kind: 'program'; argv: string[] }

/** What the keyboard can do besides the commands; shown below /help. */
export const keyboardHelp = `message sends it to the agent; !message stops the turn and answers it now.
A line that begins with heddle runs that command: heddle log --graph
@path attaches a file to the message; Tab completes it, and commands.
Up and down go through what you typed before, Ctrl-R searches it; a line that
starts with a space is not saved. Alt-Enter inserts a line break.
Ctrl-C stops the turn, twice leaves; so does Ctrl-D.`

/** Tells what a line is. One that begins like a path is a message; in a pipe, so is one that begins with heddle. */
export function readChatLine(line: string, { isTyped }: { isTyped: boolean }): ChatLine {
  if (line.startsWith('!')) return { kind: 'say', how: 'interrupt', content: requireText(line.slice(1)) }
  if (isCommandLine(line)) return { kind: 'command' }
  if (isTyped && /^heddle(\s|$)/.test(line) && !line.includes('\n'))
    return { kind: 'program', argv: splitLine(line).slice(1) }
  return { kind: 'say', how: 'message', content: line }
}

function requireText(text: string): string {
  if (text.trim() === '') throw new UsageError('the message is missing', 'write: !message')
  return text.trim()
}

/** Words of a command line, as a shell without variables and wildcards would read them. */
function splitLine(line: string): string[] {
  const words: string[] = []
  for (const [word, double, single] of line.matchAll(wordPattern)) {
    if (/^["'“]/.test(word) && double === undefined && single === undefined)
      throw new UsageError(`a quotation mark is not closed: ${word.slice(0, 40)}`, 'write: heddle ask "which port?"')
    words.push(double?.replace(/\\(["\\])/g, '$1') ?? single ?? word)
  }
  return words
}

const wordPattern = /"((?:[^"\\]|\\.)*)"(?=\s|$)|'([^']*)'(?=\s|$)|\S+/g
