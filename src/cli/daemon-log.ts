import { type Level, pino } from 'pino'
import type { Event } from '../domain/event.ts'
import { clockTime, EventLines } from './event-lines.ts'
import { paint, printable, type Screen } from './screen.ts'

/** A daemon that cannot get rid of its lines loses the newest rather than its memory. */
const mostWaiting = 1024 * 1024

/** What a daemon tells about itself and of everything that happens in its home. */
export interface DaemonLog {
  tell(text: string, facts?: Record<string, unknown>, level?: Level): void
  event(event: Event): void
  /** Writes what has not been written yet. */
  flush(): void
}

type Hide = <T>(value: T) => T

/** For programs that collect logs: one JSON object per line, on stderr, without what must stay secret. */
export function jsonLog(hide: Hide): DaemonLog {
  // Not in step with whoever reads: a reader that stops must not stop the work.
  const destination = pino.destination({ fd: 2, sync: false, maxLength: mostWaiting })
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
    flush: () => destination.flushSync(),
  }
}

/** For a person who looks on: when, who, what, and how long it took. */
export function plainLog(hide: Hide, screen: Screen, now: () => number): DaemonLog {
  const lines = new EventLines(screen)
  const write = (line: string) => void process.stderr.write(`${hide(line)}\n`)
  return {
    tell(text, _facts, level = 'info') {
      const line = `${clockTime(now())}  ${printable(text)}`
      write(level === 'info' ? line : paint(screen, 'red', line))
    },
    event: (event) => write(lines.line(event)),
    flush: () => undefined,
  }
}

function failed({ state }: Record<string, unknown>): boolean {
  return state === 'failed' || state === 'timeout'
}
