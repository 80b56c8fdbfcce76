import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { HeddleError } from '../domain/errors.ts'
import type { Here } from './cli.ts'

type Asking = Pick<Here, 'io'>

/** Terminals put marks around what is pasted. */
const pasteBegin = '\u001b[200~'
const pasteEnd = '\u001b[201~'

/** Whether there is somebody to ask. */
export function canAsk({ io }: Asking): boolean {
  return io.stdin.isTTY === true && io.stderr.isTTY === true
}

/** Asks a question on the terminal and gives the line that was typed. */
export function askLine({ io }: Asking, question: string, signal?: AbortSignal): Promise<string> {
  // The terminal itself lets people correct a line, without a single escape sequence of ours.
  const lines = createInterface({ input: io.stdin, output: io.stderr, terminal: false })
  return new Promise<string>((resolve, reject) => {
    lines.once('close', () => reject(cancelled()))
    signal?.addEventListener('abort', () => lines.close(), { once: true })
    if (signal?.aborted) lines.close()
    else lines.question(question, resolve)
  }).finally(() => lines.close())
}

/** Asks a question that only a clear yes answers with yes. */
export async function agrees(here: Asking, question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test((await askLine(here, `${question} [y/N] `)).trim())
}

/** Asks for something that must not be seen: nothing of it is echoed, and it is in no history. */
export async function askHidden({ io }: Asking, question: string): Promise<string> {
  const { stdin, stderr } = io
  // First the echo goes, then the question comes: who answers at once is not seen either.
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

/** All of standard input: how programs hand over what must not be an argument. */
export async function readInput({ io }: Asking): Promise<string> {
  return (await text(io.stdin)).replace(/\r?\n$/, '')
}

function cancelled(): HeddleError {
  return new HeddleError('cancelled', 'stopped: nothing was changed', 'run the command again')
}
