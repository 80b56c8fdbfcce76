import { maxPartBytes } from '../../domain/attachment.ts'
import type { CommandContext } from '../command.ts'
import type { CommandIo } from '../io.ts'
import { tooLarge } from './attachments.ts'

/** How long a parent process may take to start writing to a socket. */
const graceMs = 250
/** After this time the user is told that stdin is awaited. */
const noticeMs = 3000

/**
 * Piped input, if there is any. A pipe or a file is read to its end. Programs often leave a socket open to their children
 * and never write: a socket is read only if data arrives at once.
 */
export async function pipedInput(here: Pick<CommandContext, 'tell' | 'clock' | 'io'>): Promise<Buffer | undefined> {
  const kind = here.io.inputKind()
  if (kind === 'none') return undefined
  if (kind === 'socket' && !(await begins(here))) {
    here.io.stdin.destroy()
    return undefined
  }
  const arrived = new AbortController()
  void here.clock.sleep(noticeMs, arrived.signal).then(() => {
    if (!arrived.signal.aborted)
      here.tell('waiting for standard input to end (Ctrl-D ends it; use < /dev/null for none)')
  })
  try {
    const bytes = await wholeInput(here.io, () => arrived.abort())
    return bytes.length === 0 ? undefined : bytes
  } finally {
    arrived.abort()
  }
}

/** Reads stdin to its end. */
export async function wholeInput({ stdin }: CommandIo, onData: () => void = () => undefined): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of stdin) {
    onData()
    bytes += piece.length
    if (bytes > maxPartBytes) throw tooLarge('standard input')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function begins({ clock, io: { stdin } }: Pick<CommandContext, 'clock' | 'io'>): Promise<boolean> {
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
