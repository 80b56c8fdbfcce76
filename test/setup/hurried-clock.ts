import type { Clock, Millis } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/system.ts'

const times = 50

/**
 * Waits of up to `longest` take a fiftieth of their time. Longer ones stay as they are: a fiftieth of a run's timeout
 * passes within a turn on a busy machine.
 */
export function hurriedClock(longest: Millis): Clock {
  const sleep: Clock['sleep'] = (duration, signal) =>
    systemClock.sleep(duration <= longest ? duration / times : duration, signal)
  return { ...systemClock, sleep }
}
