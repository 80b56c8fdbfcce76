import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import type { CommandIo } from '../../src/cli/io.ts'
import { main } from '../../src/cli/main.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/system.ts'

/** A command on a terminal: what it shows, colours included, and a keyboard. */
export interface Terminal {
  /** Resolves when this text has come, after whatever was waited for before it. */
  shows(text: string): Promise<void>
  type(keys: string): void
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; out: string; err: string }>
}

/**
 * One command in this process on a terminal that the test plays. Like a real one it turns `\n` into `\r\n`, and Ctrl-C
 * into SIGINT and Ctrl-D into the end of the input unless the command reads keys; it does not echo, has no size, and
 * cannot be left by an exit of the process.
 */
export function playTerminal(
  args: string[],
  { env, cwd, clock = systemClock }: { env: NodeJS.ProcessEnv; cwd: string; clock?: Clock },
): Terminal {
  const [keyboard, screen, signals] = [new PassThrough(), new PassThrough(), new EventEmitter()]
  let readsKeys = false
  let shown = ''
  screen.setEncoding('utf8').on('data', (text: string) => {
    shown += text.replaceAll('\n', '\r\n')
  })
  const left = Promise.withResolvers<never>()
  const output = Object.assign(screen, { isTTY: true })
  const io: CommandIo = {
    stdin: Object.assign(keyboard, {
      isTTY: true,
      setRawMode(mode: boolean) {
        readsKeys = mode
      },
    }),
    stdout: output,
    stderr: output,
    cwd,
    inputKind: () => 'none',
    signals,
    clock,
    suspend: () => left.reject(new Error('the command would have stopped its process: start one (isProcess)')),
    exit: (code) =>
      left.reject(new Error(`the command would have ended its process with ${code}: start one (isProcess)`)),
  }
  const ended = Promise.race([main(args, env, io), left.promise]).then((code) => {
    screen.end()
    return { code, signal: null, out: shown, err: '' }
  })
  // Whoever waits for it is told; a test that has ended does not.
  ended.catch(() => undefined)
  let seen = 0
  return {
    shows: (text) =>
      new Promise((resolve) => {
        const look = () => {
          const at = shown.indexOf(text, seen)
          if (at === -1) return
          seen = at + text.length
          screen.off('data', look)
          resolve()
        }
        screen.on('data', look)
        look()
      }),
    type(keys) {
      if (keyboard.writableEnded) return
      for (const key of readsKeys ? [keys] : keys) {
        if (!readsKeys && key === '\u0003') signals.emit('SIGINT')
        else if (!readsKeys && key === '\u0004') keyboard.end()
        else keyboard.write(readsKeys ? key : key.replaceAll('\r', '\n'))
      }
    },
    ended,
  }
}
