import { afterEach, describe, expect } from 'vitest'
import { claimRuns } from '../../src/engine/run/claim.ts'
import { insertOwner } from '../../src/store/rows/owners.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSessions, lockSession } from '../../src/store/rows/sessions.ts'
import { gate, manualClock, scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine } from './engine.ts'

describe.each(databases)('claims on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const queue = async (labels: string[]) => {
    for (const label of labels) await under.say('go', { label })
  }

  const register = async (id: string) => {
    const owner = { id, pid: process.pid, startedAt: 0, beatAt: under.engine.clock.monotonic() }
    await under.runtime.store.write('owner', (tx) => insertOwner(tx, owner))
  }

  test('runs that are ready together are claimed in one commit, and no more of them than there is room for', async () => {
    const door = gate()
    const labels = ['a', 'b', 'c', 'd', 'e']
    let commits = 0
    under = await newEngine(
      database,
      scriptedModel(() => ({ text: 'done', gate: door })),
      {
        // A commit takes what comes within a few milliseconds: here no time passes.
        clock: manualClock(),
        limits: { maxRunning: 4, lanes: { agents: 4 } },
        crash: (point) => {
          if (point === 'claim.after_commit') commits++
        },
      },
    )
    await queue(labels)
    await under.work()
    await under.until(async (rows) => (await runsOf(rows, { state: 'running' })).length === 4)
    expect(commits).toBe(1)
    expect(await under.runtime.store.read((rows) => runsOf(rows, { state: 'queued' }))).toHaveLength(1)
    door.open()
    for (const label of labels) await under.turns(1, label)
  })

  test('a worker takes at most its share of the slots in one commit, so that others get theirs', async () => {
    under = await newEngine(
      database,
      scriptedModel(() => ({ text: 'done' })),
      { limits: { maxRunning: 4, lanes: { agents: 4 } } },
    )
    await queue(['a', 'b', 'c', 'd', 'e'])
    for (const id of ['one', 'other']) await register(id)
    const counts: number[] = []
    for (const ownerId of ['one', 'other', 'one']) counts.push((await claimRuns(under.engine, { ownerId }, 16)).length)
    expect(counts).toEqual([2, 2, 0])
  })

  // SQLite has one writer: nobody holds a row meanwhile.
  if (database === 'postgres')
    test('a claim takes what it need not wait for, and leaves a session that another holds for the next one', async () => {
      under = await newEngine(
        database,
        scriptedModel(() => ({ text: 'done' })),
        { limits: { maxRunning: 4, lanes: { agents: 4 } } },
      )
      await queue(['a', 'b', 'c'])
      await register('one')
      const { store } = under.runtime
      const sessions = new Map((await store.read((rows) => findSessions(rows, {}))).map(({ id, label }) => [id, label]))
      const [held = ''] = [...sessions].find(([, label]) => label === 'b') ?? []
      const claim = async () =>
        (await claimRuns(under.engine, { ownerId: 'one' }, 16)).map(({ run }) => sessions.get(run.sessionId ?? ''))
      const areJobsHeld = Promise.withResolvers<void>()
      const letGo = Promise.withResolvers<void>()
      const holding = store.write('session', async (tx) => {
        await lockSession(tx, held)
        areJobsHeld.resolve()
        await letGo.promise
      })
      await areJobsHeld.promise
      expect(await claim()).toEqual(['a', 'c'])
      letGo.resolve()
      await holding
      expect(await claim()).toEqual(['b'])
    })
})
