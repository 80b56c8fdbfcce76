import { afterEach, describe, expect, test } from 'vitest'
import { readContext } from '../../src/engine/run/context/context.ts'
import { KnownPaths } from '../../src/engine/run/context/known-paths.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { findThread } from '../../src/store/rows/threads.ts'
import { databases } from '../setup/places.ts'
import { folder, newEngine, type TestEngine } from './engine.ts'

describe.each(databases)('what was read of a talk, on %s', (database) => {
  let under: TestEngine
  afterEach(() => under.remove())

  /** What somebody is given who has read nothing before, and what this process gives. */
  const both = async (label: string) => {
    const [session] = await under.engine.store.read((rows) => findSessions(rows, { label, folder }))
    if (!session) throw new Error(`there is no session ${label}`)
    const head = await under.engine.store.read((rows) => findThread(rows, session.headTurnId ?? ''))
    const asked = { run: { agent: null } as never, head, items: [] }
    const fresh = await readContext({ ...under.engine, paths: new KnownPaths() }, asked, new Set())
    return [fresh.path, (await readContext(under.engine, asked, new Set())).path]
  }

  test('is the same as what is read anew, after each turn, in a fork, and where others have gone on', async () => {
    const model = scriptedModel(({ messages }) => ({ text: `answer ${messages.length}` }))
    under = await newEngine(database, model)
    await under.work()
    for (const turn of [1, 2, 3]) {
      await under.say(`question ${turn}`)
      await under.turns(turn)
      const [fresh, known] = await both('main')
      expect([known?.length, known]).toEqual([turn, fresh])
    }
    const [, second] = await under.turns(3)
    await fork(under.engine, { folder, turnId: second?.turn.id ?? '', label: 'other' })
    await under.say('another way', { label: 'other' })
    await under.turns(3, 'other')
    for (const label of ['other', 'main']) {
      const [fresh, known] = await both(label)
      expect(known).toEqual(fresh)
    }
    // Another process, with nothing in common but the rows, has gone on with it.
    const own = { ...under.engine, paths: new KnownPaths() }
    under.engine.paths = own.paths
    await under.say('question 4')
    await under.turns(4)
    const [fresh, known] = await both('main')
    expect(known).toEqual(fresh)
    expect(model.requests.at(-1)?.messages).toHaveLength(7)
  })
})

test('of very many talks the last are held, and no more than there is room for', () => {
  const paths = new KnownPaths()
  const at = (segmentId: string, depth = 1) => ({ segmentId, depth, contextStart: 0 }) as never
  const turn = (text: string) =>
    ({ depth: 1, messages: [{ role: 'assistant', content: text, calls: [] }], label: {} }) as never
  for (let talk = 0; talk < 100; talk++) paths.keep(at(`s${talk}`), undefined, [turn('short')])
  expect([paths.upTo(at('s0')), paths.upTo(at('s99'))?.path.length]).toEqual([undefined, 1])
  paths.keep(at('large'), undefined, [turn('x'.repeat(20_000_000))])
  expect([paths.upTo(at('s99')), paths.upTo(at('large'))]).toEqual([undefined, undefined])
  paths.keep(at('s1', 5), undefined, [turn('short')])
  expect([paths.upTo(at('s1', 4)), paths.upTo(at('s1', 6))?.depth]).toEqual([undefined, 5])
})
