import { afterEach, describe, expect } from 'vitest'
import type { WriteArea } from '../../src/domain/crash-points.ts'
import { claimRuns } from '../../src/engine/run/claim.ts'
import { insertOwner } from '../../src/store/rows/owners.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSessions, lockSession } from '../../src/store/rows/sessions.ts'
import { gate, manualClock, type ScriptedReply, scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { countStatements } from '../setup/statement-counter.ts'
import { testOn } from '../setup/test-on.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'
import { boundTo } from './watched-clock.ts'

const never = new AbortController().signal

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

  /** An engine whose runs do not end before the door opens, with the number of transactions that claimed or tried to. */
  const newCountingEngine = async () => {
    const door = gate()
    const claims = { count: 0 }
    under = await newEngine(
      database,
      scriptedModel(() => ({ text: 'done', gate: door })),
      {
        // A commit takes what comes within a few milliseconds: here no time passes.
        clock: manualClock(),
        limits: { maxRunning: 4, lanes: { agents: 4 } },
        crash: (point) => {
          if (point === 'claim.after_commit') claims.count++
        },
      },
    )
    return { door, claims }
  }

  const areRunning = (count: number) =>
    under.until(async (rows) => (await runsOf(rows, { state: 'running' })).length === count)

  test('runs that are ready together are claimed in one commit, and no more of them than there is room for', async () => {
    const { door, claims } = await newCountingEngine()
    const labels = ['a', 'b', 'c', 'd', 'e']
    await queue(labels)
    await countStatements(async () => {
      await under.work()
      await areRunning(4)
    })
    expect(claims.count).toBe(1)
    expect(await under.runtime.store.read((rows) => runsOf(rows, { state: 'queued' }))).toHaveLength(1)
    door.open()
    for (const label of labels) await under.turns(1, label)
  })

  test('a worker does not try to claim what it has no room for, nor what is of other sessions than its own', async () => {
    const { door, claims } = await newCountingEngine()
    const labels = ['a', 'b', 'c', 'd']
    await queue(labels)
    const [own] = await under.runtime.store.read((rows) => findSessions(rows, { label: 'a' }))
    const bound = await under.work({ sessionId: own?.id ?? '' })
    await areRunning(1)
    claims.count = 0
    await countStatements(() => queue(['e']))
    expect(claims.count).toBe(0)
    await under.work()
    await areRunning(4)
    claims.count = 0
    await countStatements(() => queue(['f']))
    expect(claims.count).toBe(0)
    door.open()
    for (const label of [...labels, 'e', 'f']) await under.turns(1, label)
    await bound.stop()
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
    for (const workerId of ['one', 'other', 'one'])
      counts.push((await claimRuns(under.engine, { workerId }, 16)).length)
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
        (await claimRuns(under.engine, { workerId: 'one' }, 16)).map(({ run }) => sessions.get(run.sessionId ?? ''))
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

  // SQLite has one writer: nothing is queued between what an end reads of the queue and its commit.
  if (database === 'postgres') {
    const push = testTool('push', 'unsafe', () => 'pushed')

    /** A worker with one slot, whose first run is about to leave it: only the COMMIT of this area is missing. */
    const leavingSlot = async (area: WriteArea, first: ScriptedReply) => {
      const options = { clock: manualClock(), limits: { maxRunning: 1 }, tools: [push], ask: ['push'] }
      under = await newEngine(database, scriptedModel([first, { text: 'done' }]), options)
      const store = boundTo(under.engine.store)
      const [commit, look] = [gate(), gate()]
      let isLeaving = false
      under.engine.store = {
        ...store,
        write: (at, body) =>
          store.write(at, async (tx) => {
            const value = await body(tx)
            if (at !== area) return value
            isLeaving = true
            await commit.pass(never)
            return value
          }),
        read: (body) =>
          store.read((rows) =>
            body({
              ...rows,
              async all(query) {
                const found = await rows.all(query)
                if (isLeaving) await look.pass(never)
                return found
              },
            }),
          ),
      }
      // Its first sweep is over then, and there is no other: no time passes.
      await countStatements(() => under.work())
      await queue(['a'])
      await commit.reached
      return { commit, look }
    }

    const leaving: [string, WriteArea, ScriptedReply][] = [
      ['ends', 'settle', { text: 'done' }],
      ['waits for an answer', 'step', { calls: [{ name: 'push' }] }],
    ]
    test.each(leaving)('a run that is queued while the one before it %s takes its slot', async (_, area, first) => {
      const { commit, look } = await leavingSlot(area, first)
      look.open()
      // The worker looks, and there is no room yet.
      await countStatements(() => queue(['b']))
      commit.open()
      await under.turns(1, 'b')
    })

    test('a slot that becomes free while the worker looks for one is taken', async () => {
      const { commit, look } = await leavingSlot('settle', { text: 'done' })
      await queue(['b'])
      await look.reached
      commit.open()
      await under.turns(1, 'a')
      look.open()
      await under.turns(1, 'b')
    })
  }
})
