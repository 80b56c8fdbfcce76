import { afterEach, describe, expect } from 'vitest'
import type { Millis } from '../../src/domain/clock.ts'
import { ModelFailure } from '../../src/domain/model.ts'
import { type DueContext, type DueSource, watchDue } from '../../src/engine/run/worker/due.ts'
import { timedRuns } from '../../src/engine/run/worker/timed-runs.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import type { Store } from '../../src/store/store.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine } from './engine.ts'
import { boundTo, watchedClock } from './watched-clock.ts'

describe.each(databases)('what waits for a moment on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  let stop: AbortController | undefined
  let watching: Promise<void> | undefined
  afterEach(async () => {
    stop?.abort()
    await watching
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const watch = (context: Partial<DueContext>, sources: DueSource[]) => {
    stop = new AbortController()
    const { store, clock } = under.engine
    watching = watchDue(
      { store, clock, onError: (error) => under.troubles.push(error), ...context },
      sources,
      stop.signal,
    )
  }

  test('is handled at that moment: a retry does not wait for the next sweep', async () => {
    const clock = watchedClock()
    const busy = new ModelFailure('provider_busy', 'busy', 'wait', { retry: 'later', retryAfter: 12_345 })
    under = await newEngine(database, scriptedModel([{ fail: busy }, { text: 'at last' }]), { clock })
    await under.work()
    const { runId } = await under.say('hello')
    const parked = await under.until(async (rows) => {
      const run = await findRun(rows, runId ?? '')
      return run?.state === 'waiting' && run
    })
    const moment = parked.wakeAt ?? 0
    await clock.advance(moment - clock.now() - 700)
    await clock.armed(moment)
    await clock.advance(700)
    expect((await under.turns(1))[0]?.turn.responseMessage.content).toBe('at last')
    expect((await under.runtime.store.read((rows) => findRun(rows, runId ?? '')))?.finishedAt).toBe(moment)
  })

  test('costs no statement while nothing is due; a hint makes it look again', async () => {
    const clock = watchedClock()
    under = await newEngine(database, scriptedModel([]), { clock, limits: { maxRunning: 0 } })
    const { store, statements } = counted(under.engine.store)
    const start = clock.now()
    watch({ store }, timedRuns({ ...under.engine, store }))
    await clock.armed(start + 10_000)
    const looks = statements()
    for (let second = 1; second < 10; second++) await clock.advance(1000)
    expect([looks, statements()]).toEqual([2, 2])
    const { runId } = await under.say('hello', { deadline: start + 9_500 })
    await clock.armed(start + 9_500)
    expect(statements()).toBe(4)
    await clock.advance(500)
    expect((await under.turns(1))[0]?.turn).toMatchObject({ status: 'timeout', runId })
  })

  test('is found within ten seconds if the hint was lost', async () => {
    const clock = watchedClock()
    under = await newEngine(database, scriptedModel([]), { clock, limits: { maxRunning: 0 } })
    const start = clock.now()
    const deaf: Store = { ...boundTo(under.engine.store), onHint: () => () => undefined }
    watch({ store: deaf }, timedRuns(under.engine))
    await clock.armed(start + 10_000)
    await under.say('hello', { deadline: start + 1000 })
    await clock.advance(10_000)
    expect((await under.turns(1))[0]?.turn).toMatchObject({ status: 'timeout' })
  })

  test('shares one sleep, until the first moment of all; a source that fails is tried again and stops no other', async () => {
    const clock = watchedClock()
    under = await newEngine(database, scriptedModel([]), { clock })
    const start = clock.now()
    const moments = [start + 3000, start + 5000]
    const handled: Millis[] = []
    const tried = Promise.withResolvers<void>()
    const failing: DueSource = {
      next: async () => (tries < 2 ? start + 4000 : undefined),
      async handle() {
        if (++tries === 2) return tried.resolve()
        throw new Error('not now')
      },
    }
    let tries = 0
    const listed: DueSource = {
      next: async () => moments[0],
      async handle(now) {
        for (; moments[0] !== undefined && moments[0] <= now; moments.shift()) handled.push(moments[0])
      },
    }
    const failures: unknown[] = []
    watch({ onError: (error) => failures.push(error) }, [failing, listed])
    await clock.armed(start + 3000)
    await clock.advance(3000)
    await clock.armed(start + 4000)
    await clock.advance(1000)
    await clock.armed(start + 5000)
    await clock.advance(1000)
    await tried.promise
    await clock.armed(start + 15_000)
    expect(handled).toEqual([start + 3000, start + 5000])
    expect(failures).toEqual([new Error('not now')])
    expect(clock.sleeps).toEqual([3000, 1000, 1000, 10_000])
  })
})

/** A store that counts the statements of its reads. */
function counted(store: Store): { store: Store; statements(): number } {
  let count = 0
  const read: Store['read'] = (body) =>
    store.read((rows) =>
      body({
        dialect: rows.dialect,
        build: rows.build,
        all: (query) => {
          count++
          return rows.all(query)
        },
        first: (query) => {
          count++
          return rows.first(query)
        },
      }),
    )
  return { store: { ...boundTo(store), read }, statements: () => count }
}
