import { type Level, pino } from 'pino'
import type { Clock, Millis } from '../../domain/clock.ts'
import type { Event } from '../../domain/event.ts'
import type { CommandIo, Output } from '../io.ts'
import { paint, printable, type Screen } from '../terminal/screen.ts'
import { clockTime, EventLines } from './event-lines.ts'

/** Max bytes of unread log; newer lines are dropped then, so that memory stays bounded. */
const maxBuffered = 1024 * 1024

/** Max wait for the reader of the log when the daemon ends. */
const flushTimeout: Millis = 1000

/** Log of a daemon: its own notices and the events of its home. */
export interface DaemonLog {
  tell(text: string, facts?: Record<string, unknown>, level?: Level): void
  event(event: Event): void
}

/**
 * Waits until everything is written, at most a second. If the reader has stopped reading, the process is ended a second
 * later: otherwise the pending write would keep it alive forever.
 */
export async function flushStderr({ stderr, exit }: CommandIo, clock: Clock): Promise<void> {
  if (stderr.writableLength === 0) return
  const written = new AbortController()
  stderr.write('', () => written.abort())
  await clock.sleep(flushTimeout, written.signal)
  if (!written.signal.aborted) void clock.sleep(flushTimeout).then(() => exit())
}

/** Ignores write errors: the daemon keeps working when the reader of its log is gone. */
export function surviveLostReader(stderr: Output): void {
  stderr.on('error', () => undefined)
}

type Hide = <T>(value: T) => T

/** Log for programs: one JSON object per line on stderr, with secrets redacted. `onLine` hears of each line that was written. */
export function jsonLog(hide: Hide, stderr: Output, onLine: (line: string) => void = () => undefined): DaemonLog {
  // Node writes to pipes and sockets without blocking and queues the rest. A blocking write, in a thread too, would hold
  // up the end of the process for as long as the reader does not read.
  const destination = {
    write(line: string) {
      if (stderr.writableLength >= maxBuffered) return
      stderr.write(line)
      onLine(line)
    },
  }
  const log = pino(
    {
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    destination,
  )
  return {
    tell: (text, facts = {}, level = 'info') => log[level](hide(facts), hide(text)),
    event: ({ kind, subject, at, payload }) =>
      log[kind === 'run.waiting' || failed(payload) ? 'warn' : 'info'](
        hide({ ...payload, subject, at: new Date(at).toISOString() }),
        kind,
      ),
  }
}

/** Log for people: when, who, what, and how long it took. */
export function plainLog(hide: Hide, stderr: Output, screen: Screen, now: () => number): DaemonLog {
  const lines = new EventLines(screen)
  const write = (line: string) => void stderr.write(`${hide(line)}\n`)
  return {
    tell(text, _facts, level = 'info') {
      const line = `${clockTime(now())}  ${printable(text)}`
      write(level === 'info' ? line : paint(screen, 'red', line))
    },
    event: (event) => write(lines.lines(event)),
  }
}

function failed({ state }: Record<string, unknown>): boolean {
  return state === 'failed' || state === 'timeout'
}
