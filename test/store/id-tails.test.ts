import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import { firstIdAt, idSource } from '../../src/domain/id.ts'
import { append } from '../../src/engine/turns/append.ts'
import { idSuffixIndexer } from '../../src/engine/turns/id-suffixes.ts'
import { routeToThread } from '../../src/engine/turns/route.ts'
import { exportTurns, importTurns } from '../../src/engine/turns/transfer.ts'
import { resolveRun } from '../../src/engine/views/runs.ts'
import { idsLike, indexTails } from '../../src/store/rows/id-tails.ts'
import { metaValue } from '../../src/store/rows/meta.ts'
import { systemClock, systemRandom } from '../../src/system.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const day = 86_400_000

describe.each(databases)('finding by a part of an id on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  /** What the clock says; each id is made a moment later. */
  let now: number
  const clock = { ...systemClock, now: () => ++now }
  beforeEach(async () => {
    now = Date.parse('2026-03-01T00:00:00Z')
    runtime = await newTestRuntime(database, { clock })
  })
  afterEach(() => runtime.remove())

  const say = async (made: string[] = [], to = runtime) => {
    const newId = () => made.shift() ?? to.newId()
    const draft = { query: [{ content: 'q' }], response: { content: 'a' } }
    return (await append({ ...to, newId }, { folder: '/here', label: 'main', draft })).turnId
  }
  const turnsLike = (part: string) => runtime.store.read((rows) => idsLike(rows, 'turns', part))
  const noteAll = async (before = firstIdAt(now + 1000)) => {
    let pages = 1
    while (await runtime.store.write('prune', (tx) => indexTails(tx, before, 3))) pages++
    return pages
  }
  const boundary = () => runtime.store.read((rows) => metaValue(rows, 'tails_before'))
  const runOf = async (turnId: string) => {
    for await (const { turn } of exportTurns(runtime.store, undefined)) if (turn.id === turnId) return turn.runId
    return ''
  }

  test('what was noted down and what is new are found alike, by heads and by tails of any length', async () => {
    const turns = []
    for (let count = 0; count < 8; count++) turns.push(await say())
    expect(await noteAll()).toBeGreaterThan(2)
    now += 2 * day
    const fresh = await say()
    for (const turn of [...turns, fresh]) {
      for (const length of [5, 6, 7, 11, 19, 20]) expect(await turnsLike(turn.slice(-length))).toEqual([turn])
      expect(await turnsLike(turn.slice(0, 16))).toEqual([turn])
      expect(await turnsLike(turn.slice(-3))).toContain(turn)
      const run = await runOf(turn)
      expect(await runtime.store.read((rows) => resolveRun(rows, run.slice(-6)))).toMatchObject({ id: run })
      expect(await turnsLike(run.slice(-8))).toEqual([])
    }
    expect(await turnsLike('zzzzzz')).toEqual([])
  })

  test('two that end alike are told, whether they are noted down or not', async () => {
    const twins = idSource(clock, systemRandom)
    const first = twins()
    // Ids are made in the order session, segment, turn, run: whichever it is, both end alike.
    const made = (at: number) => Array.from({ length: 6 }, (_, place) => `${firstIdAt(at + place)}${first.slice(9)}`)
    const old = await say(made(now))
    await noteAll()
    now += 2 * day
    const fresh = await say(made(now))
    const part = first.slice(-6)
    expect(await turnsLike(part)).toEqual([fresh, old])
    const routed = runtime.store.read((rows) => routeToThread(rows, `turn:${part}`, '/here'))
    await expect(routed).rejects.toMatchObject({
      code: 'ambiguous',
      message: `"${part}" fits several turns: turn:${fresh}, turn:${old}`,
    })
    await expect(runtime.store.read((rows) => resolveRun(rows, part))).rejects.toMatchObject({ code: 'ambiguous' })
    await noteAll()
    expect(await turnsLike(part)).toEqual([fresh, old])
  })

  test('a turn that comes from another home with an older id is found by its tail', async () => {
    const other = await newTestRuntime(database, { clock })
    const theirs = await say([], other)
    const lines = []
    for await (const line of exportTurns(other.store, undefined)) lines.push(JSON.stringify(line))
    await other.remove()
    now += 2 * day
    await say()
    await noteAll()
    await importTurns(runtime, Readable.from(lines))
    expect(await turnsLike(theirs.slice(-6))).toEqual([theirs])
    await noteAll()
    expect(await turnsLike(theirs.slice(-6))).toEqual([theirs])
  })

  test('what is younger than a day is left alone, and nothing is written when there is nothing to note', async () => {
    const old = await say()
    now += 2 * day
    const fresh = await say()
    let writes = 0
    const store = { ...runtime.store, read: runtime.store.read.bind(runtime.store) } as typeof runtime.store
    store.write = (area, body) => {
      writes++
      return runtime.store.write(area, body)
    }
    let passed = 0
    const look = idSuffixIndexer({ store, clock: { ...clock, monotonic: () => passed } })
    await look()
    const until = (await boundary()) ?? ''
    expect([old < until, until < fresh, writes]).toEqual([true, true, 1])
    await look()
    passed += 3_600_000
    await look()
    expect(writes).toBe(1)
  })

  test('a clock that was ahead costs nobody a name once it is right', async () => {
    now += 30 * day
    await say()
    now += 2 * day
    await idSuffixIndexer({ store: runtime.store, clock })()
    now -= 32 * day
    const made = await say()
    await idSuffixIndexer({ store: runtime.store, clock })()
    expect(((await boundary()) ?? '') < made).toBe(true)
    expect(await turnsLike(made.slice(-6))).toEqual([made])
  })
})
