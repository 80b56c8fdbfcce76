import { EventEmitter } from 'node:events'
import type { Millis } from '../domain/clock.ts'

/** A signal that repeats within this time is the same one, forwarded by a parent process such as npx or timeout. */
const repeatWindow: Millis = 500

/** How often a signal arrived from each source, and when it last counted. */
interface SignalCount {
  system: number
  launcher: number
  counted: number
  at: Millis
}

/**
 * Signals of a process, each emitted once however many ways it arrived. A signal to the whole process group also reaches the
 * launcher (bin/heddle), which forwards it as `launcher`, before or after the system delivers it. Both sources are counted,
 * and a signal is new only if the other source has not reported it yet.
 *
 * Keeps listening until the process ends: a signal that repeats while a command stops must not kill it.
 */
export class ProcessSignals extends EventEmitter {
  constructor(source: Pick<EventEmitter, 'on'>, monotonic: () => Millis) {
    super()
    const counts = new Map<string | symbol, SignalCount>()
    this.on('newListener', (signal: string) => {
      if (counts.has(signal)) return
      const count: SignalCount = { system: 0, launcher: 0, counted: 0, at: Number.NEGATIVE_INFINITY }
      counts.set(signal, count)
      source.on(signal, (from: unknown) => {
        if (countSignal(count, from === 'launcher' ? 'launcher' : 'system', monotonic())) this.emit(signal)
      })
    })
  }
}

/** Counts one signal, and returns whether it is a new one. */
function countSignal(count: SignalCount, from: 'system' | 'launcher', now: Millis): boolean {
  count[from] += 1
  if (count[from] <= count.counted) return false
  count.counted = count[from]
  if (now - count.at < repeatWindow) return false
  count.at = now
  return true
}
