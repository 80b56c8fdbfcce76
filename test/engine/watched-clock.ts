import type { Millis } from '../../src/domain/clock.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing.ts'

/** A manual clock that tells when somebody sleeps until a moment. */
export interface WatchedClock extends ManualClock {
  /** Resolves when so many have begun to sleep until this moment. */
  armed(moment: Millis, sleepers?: number): Promise<void>
  /** All sleeps so far. */
  sleeps: Millis[]
}

export function watchedClock(): WatchedClock {
  const clock = manualClock()
  const sleeps: Millis[] = []
  let waiters: { moment: Millis; sleepers: number; resolve(): void }[] = []
  let latest: Millis[] = []
  const countAt = (moment: Millis) => latest.filter((each) => each === moment).length
  return {
    ...clock,
    sleeps,
    armed: (moment, sleepers = 1) =>
      new Promise((resolve) => {
        if (countAt(moment) >= sleepers) resolve()
        else waiters.push({ moment, sleepers, resolve })
      }),
    sleep(duration, signal) {
      const until = clock.now() + duration
      sleeps.push(duration)
      latest.push(until)
      const isMet = (waiter: (typeof waiters)[number]) => countAt(waiter.moment) >= waiter.sleepers
      for (const waiter of waiters.filter(isMet)) waiter.resolve()
      waiters = waiters.filter((waiter) => !isMet(waiter))
      return clock.sleep(duration, signal)
    },
    async advance(duration) {
      latest = []
      await clock.advance(duration)
    },
  }
}

/** The same store as a plain object, so that one of its functions can be replaced. */
export function boundTo(store: Store): Store {
  return {
    dialect: store.dialect,
    place: store.place,
    write: (area, body) => store.write(area, body),
    read: (body) => store.read(body),
    snapshot: (body) => store.snapshot(body),
    onHint: (listener) => store.onHint(listener),
    close: () => store.close(),
  }
}
