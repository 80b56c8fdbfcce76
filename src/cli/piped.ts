import { mostPartBytes } from '../domain/attachment.ts'
import { tooLarge } from './attachments.ts'
import type { Here } from './cli.ts'
import type { CommandIo } from './io.ts'

/** How long a program that started us may take to write before we go on without it. */
const graceMs = 250
/** After this long a person shall know what we wait for. */
const silentMs = 3000

/**
 * What is piped into us, if anything is. A shell's pipe or a file is read to its end. Programs often keep a socket open
 * to those they start and never write: only one that begins at once is listened to.
 */
export async function pipedInput(here: Pick<Here, 'tell' | 'clock' | 'io'>): Promise<Buffer | undefined> {
  const kind = here.io.inputKind()
  if (kind === 'none') return undefined
  if (kind === 'socket' && !(await begins(here))) {
    here.io.stdin.destroy()
    return undefined
  }
  const isThere = new AbortController()
  void here.clock.sleep(silentMs, isThere.signal).then(() => {
    if (!isThere.signal.aborted) here.tell('reading standard input to its end (Ctrl-D ends it; < /dev/null is none)')
  })
  try {
    const bytes = await wholeInput(here.io, () => isThere.abort())
    return bytes.length === 0 ? undefined : bytes
  } finally {
    isThere.abort()
  }
}

/** Standard input to its end, whatever it is. */
export async function wholeInput({ stdin }: CommandIo, onData: () => void = () => undefined): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of stdin) {
    onData()
    bytes += piece.length
    if (bytes > mostPartBytes) throw tooLarge('standard input')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function begins({ clock, io: { stdin } }: Pick<Here, 'clock' | 'io'>): Promise<boolean> {
  const enough = new AbortController()
  return new Promise<boolean>((resolve) => {
    stdin
      .once('readable', () => resolve(true))
      .once('end', () => resolve(true))
      .once('error', () => resolve(true))
    void clock.sleep(graceMs, enough.signal).then(() => resolve(false))
  }).finally(() => {
    enough.abort()
    stdin.removeAllListeners('readable')
  })
}
