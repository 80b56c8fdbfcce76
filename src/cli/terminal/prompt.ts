import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { HeddleError } from '../../domain/errors.ts'
import type { CommandContext } from '../command.ts'

type PromptContext = Pick<CommandContext, 'io'>

/** Markers that terminals put around a paste. */
const pasteBegin = '\u001b[200~'
const pasteEnd = '\u001b[201~'

/** Whether a user can be asked on a terminal. */
export function canAsk({ io }: PromptContext): boolean {
  return io.stdin.isTTY === true && io.stderr.isTTY === true
}

/** Asks on the terminal and returns the typed line. */
export function askLine({ io }: PromptContext, question: string, signal?: AbortSignal): Promise<string> {
  // The terminal itself does the line editing.
  const lines = createInterface({ input: io.stdin, output: io.stderr, terminal: false })
  return new Promise<string>((resolve, reject) => {
    lines.once('close', () => reject(cancelled()))
    signal?.addEventListener('abort', () => lines.close(), { once: true })
    if (signal?.aborted) lines.close()
    else lines.question(question, resolve)
  }).finally(() => lines.close())
}

/** Asks a yes/no question; anything but yes is a no. */
export async function confirm(here: PromptContext, question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test((await askLine(here, `${question} [y/N] `)).trim())
}

/** Asks for a secret, without echo and history. */
export async function askHidden({ io }: PromptContext, question: string): Promise<string> {
  const { stdin, stderr } = io
  // Echo is off before the question appears, so that early typing is not echoed either.
  stdin.setRawMode?.(true)
  stderr.write(question)
  stdin.setEncoding('utf8')
  stdin.resume()
  try {
    return await new Promise<string>((resolve, reject) => {
      let typed = ''
      const take = (chunk: string) => {
        for (const key of chunk.replaceAll(pasteBegin, '').replaceAll(pasteEnd, '')) {
          if (key === '\r' || key === '\n') return leave(() => resolve(typed))
          if (key === '\u0003' || key === '\u0004') return leave(() => reject(cancelled()))
          if (key === '\u007f' || key === '\b') typed = typed.slice(0, -1)
          else if (key === '\u0015') typed = ''
          else if (key >= ' ') typed += key
        }
      }
      const leave = (end: () => void) => {
        stdin.off('data', take)
        end()
      }
      stdin.on('data', take)
      stdin.once('end', () => reject(cancelled()))
    })
  } finally {
    stdin.setRawMode?.(false)
    stdin.pause()
    stderr.write('\n')
  }
}

/** Reads all of stdin, for values that must not be arguments. */
export async function readInput({ io }: PromptContext): Promise<string> {
  return (await text(io.stdin)).replace(/\r?\n$/, '')
}

function cancelled(): HeddleError {
  return new HeddleError('cancelled', 'stopped: nothing was changed', 'run the command again')
}
