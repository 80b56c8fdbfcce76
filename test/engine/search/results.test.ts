import { afterEach, describe, expect } from 'vitest'
import { findSessions } from '../../../src/store/rows/sessions.ts'
import { databases } from '../../setup/places.ts'
import { testOn } from '../../setup/test-on.ts'
import { newSpawning, type Spawning, spawns } from '../spawning.ts'
import { finder } from './finder.ts'

describe.each(databases)('search in results on %s', (database) => {
  const test = testOn(database)
  let nest: Spawning
  afterEach(() => nest.remove())

  const spawned = async (input: object) => {
    nest = await newSpawning(database, {
      parent: spawns({ task: 'Look for the crimson vessel.', label: 'x', ...input }),
      child: () => ({ text: 'The crimson vessel is in the harbour.' }),
    })
    await nest.ask('go')
    const [run] = await nest.children()
    return { run, search: finder(nest.engine, { folder: nest.folder }) }
  }

  test('a result stands for the turn that it was answered in', async () => {
    const { search } = await spawned({})
    expect(await search.refs('crimson harbour', { kind: 'result' })).toEqual(['result:1'])
    expect(await search.found('crimson harbour', { kind: 'result' })).toEqual([
      'The [crimson] vessel is in the [harbour].',
    ])
    const turns = await search.pageOf({ query: 'crimson harbour', kind: 'turn' })
    const own = turns.rows.filter(({ session }) => session?.label !== 'main')
    expect(own.map(({ passage }) => passage)).toEqual(['The crimson vessel is in the harbour.'])
    const all = await search.refs('crimson harbour')
    expect(all).toContain('result:1')
    expect(all).not.toContain(own[0]?.ref)
  })

  test.each(['before', 'after'])(
    'a removed transcript is gone from the index, removed %s it was indexed',
    async (when) => {
      nest = await newSpawning(database, {
        parent: spawns({ task: 'The code is qwertz.', label: 'x', cleanup: 'delete' }),
        child: () => ({ text: 'I noted qwertz and asdfgh.' }),
      })
      const search = finder(nest.engine, { folder: nest.folder })
      const isRemoved = async () => {
        const [run] = await nest.children()
        return nest.until(async (rows) => {
          const [session] = await findSessions(rows, { id: run?.sessionId ?? '' })
          return session?.removedAt !== null
        })
      }
      if (when === 'after') {
        const item = await nest.say('go')
        await nest.until(
          async (rows) => (await rows.all(rows.build.selectFrom('agent_results').select('id'))).length > 0,
        )
        await search.indexAll()
        await nest.heard(item)
      } else await nest.ask('go')
      await isRemoved()
      await search.indexAll()
      expect(await search.refs('qwertz', { kind: 'turn' })).toEqual([])
      expect(await search.refs('qwertz', { kind: 'result' })).toEqual(['result:1'])
      const [run] = await nest.children()
      const left = await nest.engine.store.read((rows) =>
        rows.all(
          rows.build
            .selectFrom('search_words')
            .select('word')
            .where('document_id', 'not in', rows.build.selectFrom('search_documents').select('search_documents.id')),
        ),
      )
      const turns = await nest.engine.store.read((rows) =>
        rows.all(
          rows.build
            .selectFrom('search_documents')
            .select('id')
            .where('session_id', '=', run?.sessionId ?? '')
            .where('kind', '=', 'turn'),
        ),
      )
      expect({ left, turns, run: run?.state }).toEqual({ left: [], turns: [], run: 'completed' })
    },
  )
})
