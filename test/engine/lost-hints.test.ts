import { afterEach, describe, expect, test } from 'vitest'
import { submit } from '../../src/engine/run/submit.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { folder, newEngine, type TestEngine } from './engine.ts'
import { boundTo, watchedClock } from './watched-clock.ts'

describe.each(databases)('a worker that hears no hint on %s', (database) => {
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  test('finds a queued run within two seconds, however long it has been idle', async () => {
    const clock = watchedClock()
    under = await newEngine(database, scriptedModel([{ text: 'found' }]), { clock })
    under.engine.store = { ...boundTo(under.engine.store), onHint: () => () => undefined }
    await under.work()
    // Heartbeats and the sweep sleep for a second each.
    const start = clock.now()
    for (let second = 1; second <= 5; second++) {
      await clock.armed(start + second * 1000, 2)
      if (second < 5) await clock.advance(1000)
    }
    await clock.advance(400)
    // As another process does it.
    const { runId } = await submit(under.engine, { folder, label: 'main', content: 'hello' })
    const run = () => under.runtime.store.read((rows) => findRun(rows, runId ?? ''))
    expect((await run())?.state).toBe('queued')
    // A heartbeat sees that there is work, and the sweep after it claims.
    await clock.advance(600)
    await clock.armed(start + 6000, 2)
    await clock.advance(1000)
    expect((await under.turns(1))[0]?.turn.responseMessage.content).toBe('found')
    expect((await run())?.finishedAt).toBeLessThanOrEqual(start + 4400 + 2000)
  })
})
