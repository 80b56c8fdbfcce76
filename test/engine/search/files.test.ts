import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import { undo } from '../../../src/engine/files/undo.ts'
import { lookAtFile } from '../../../src/engine/search/index-files.ts'
import { filesToCheck } from '../../../src/store/rows/search/written-files.ts'
import { databases } from '../../setup/places.ts'
import { testOn } from '../../setup/test-on.ts'
import { edit, type Hands, newHands, planned, read, write } from '../hands.ts'
import { finder } from './finder.ts'

describe.each(databases)('search in files that agents wrote on %s', (database) => {
  const test = testOn(database)
  let hands: Hands
  afterEach(() => hands.remove())

  const open = async (plans: Parameters<typeof planned>[0]) => {
    hands = await newHands(database, planned(plans))
    await hands.work()
    const { engine, folder } = hands
    return { ...hands, search: finder(engine, { folder, protect: engine.protect }) }
  }
  const files = { kind: 'file' as const }

  test('a passage is found with path and line, the session that wrote it, and what the file says now', async () => {
    const { ask, put, search, folder } = await open({
      go: [[write('notes/plan.md', '# Plan\n\n## Staging\n\nIt listens on 8443.\n\nAda is away.\n')]],
    })
    await ask('go')
    const { rows } = await search.pageOf({ query: '8443', ...files })
    expect(rows).toMatchObject([
      {
        ref: 'file:notes/plan.md:5',
        passage: 'Plan › Staging: It listens on 8443.',
        session: { label: 'main', folder },
      },
    ])
    put('notes/plan.md', '# Plan\n\nIt listens on 8443 still, says the user.\n')
    expect(await search.found('8443', files)).toEqual(['Plan: It listens on [8443] still, says the user.'])
    put('notes/plan.md', '# Plan\n\nIt listens on 9000, says the user.\n')
    expect(await search.refs('8443', files)).toEqual([])
    expect(await search.found('9000', files)).toEqual(['Plan: It listens on [9000], says the user.'])
  })

  test('a file whose age is no multiple of ten milliseconds is looked at again, too', async () => {
    const { ask, engine, folder } = await open({ go: [[write('a.txt', 'crimson')]] })
    await ask('go')
    const age = 123_457
    const now = Math.trunc(statSync(join(folder, 'a.txt')).ctimeMs) + age
    const { store, protect } = engine
    const clock = { ...engine.clock, now: () => now }
    const [file] = await store.read((rows) => filesToCheck(rows, now, 10))
    if (!file) throw new Error('no file is to be looked at')
    await lookAtFile({ store, clock, protect }, file, async () => undefined)
    const looks = (at: number) => store.read((rows) => filesToCheck(rows, Math.round(at), 10))
    expect(await looks(now + age / 10 - 2)).toEqual([])
    expect(await looks(now + age / 10 + 2)).toHaveLength(1)
  })

  test('a file that is changed, undone or removed is found by what it says then, and never by what it said', async () => {
    const { ask, search, engine, folder } = await open({
      first: [[write('a.txt', 'crimson')]],
      second: [[read('a.txt')], [edit('a.txt', 'crimson', 'turquoise')]],
    })
    await ask('first')
    expect(await search.refs('crimson', files)).toEqual(['file:a.txt:1'])
    const second = await ask('second')
    expect(await search.refs('crimson', files)).toEqual([])
    expect(await search.refs('turquoise', files)).toEqual(['file:a.txt:1'])
    await undo(engine, second)
    expect(await search.refs('turquoise', files)).toEqual([])
    expect(await search.refs('crimson', files)).toEqual(['file:a.txt:1'])
    rmSync(join(folder, 'a.txt'))
    expect(await search.refs('crimson', files)).toEqual([])
    const left = await engine.store.read((rows) =>
      rows.all(
        rows.build
          .selectFrom('search_words')
          .selectAll()
          .where('word', 'in', ['crimson', 'turquoise'])
          .where('kind', '=', 2),
      ),
    )
    expect(left).toEqual([])
  })

  test('binary files, and what lies where no tool reads, are not searched', async () => {
    const { ask, search, engine, folder, put } = await open({
      go: [[write('secret.txt', 'crimson'), write('blob.bin', 'crimson')]],
    })
    await ask('go')
    put('blob.bin', 'crimson \u0000 turquoise')
    expect(await search.refs('crimson', files)).toEqual(['file:secret.txt:1'])
    const protect = { ...engine.protect, hidden: [join(folder, 'secret.txt')] }
    put('secret.txt', 'crimson and more')
    expect(await finder(engine, { folder, protect }).refs('crimson', files)).toEqual([])
  })

  test('a long file is indexed in small transactions, and each passage once', async () => {
    const long = Array.from({ length: 300 }, (_, at) => `paragraph number${at} ${'filler '.repeat(40)}`).join('\n\n')
    const { ask, search } = await open({ go: [[write('long.md', long)]] })
    await ask('go')
    expect(await search.refs('number0', files)).toEqual(['file:long.md:1'])
    expect(await search.refs('number299', files)).toEqual(['file:long.md:599'])
    expect(await search.refs('paragraph', { ...files, limit: 1000 })).toHaveLength(300)
  })
})
