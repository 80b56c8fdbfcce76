import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { NarrativeLine, NarrativeView } from '../../src/api/views/narrative.ts'
import type { WhyView } from '../../src/api/views/why.ts'
import { narrativePage, narrativeTable } from '../../src/cli/pages/narrative-page.ts'
import { width } from '../../src/cli/terminal/screen.ts'
import { openStore } from '../../src/store/open.ts'
import { narrate } from '../engine/narrating.ts'
import { context } from '../setup/store-context.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

test('narratives are listed for a folder, shown with what became of what they rest on, and explained', async () => {
  const none = await heddle.run('memory', 'narratives')
  expect(none.out).toBe('no session summaries for this folder yet    --all shows every folder\n')
  expect((await heddle.run('memory', 'narratives', '--all')).out).toMatch(/^no session summaries yet {4}heddle chat/)
  await heddle.run('memory', 'add', 'The port is 7070')
  await heddle.run('memory', 'edit', '1', 'The port is 8080')
  const file = join(heddle.home, 'heddle.db')
  const store = await openStore({ kind: 'sqlite', file, durability: 'full' }, context)
  await narrate(store, heddle.folder, { summary: 'The port was settled.', topic: 'net', memoryIds: [1] })
  await narrate(store, heddle.folder, { summary: 'It was settled anew.', previousId: 1 })
  await narrate(store, '/elsewhere', { summary: 'Something else.' })
  await store.close()

  const listed = await heddle.json<{ narratives: NarrativeLine[] }>('memory', 'narratives')
  expect(listed.narratives.map(({ id }) => id)).toEqual([2, 1])
  expect(listed.narratives[1]).toMatchObject({ topic: 'net', memoryIds: [1], trusted: true, folder: heddle.folder })
  const all = await heddle.json<{ narratives: NarrativeLine[] }>('memory', 'narratives', '--all', '--limit', '2')
  expect(all.narratives.map(({ id }) => id)).toEqual([3, 2])
  const page = (await heddle.run('memory', 'narratives', '--limit', '1')).out
  expect(page).toMatch(/^narrative:2 .*It was settled anew\..*\nthere are more {4}--limit\n$/)

  const view = await heddle.json<NarrativeView>('show', 'narrative:1')
  expect(view).toMatchObject({ kind: 'narrative', before: null, after: [{ id: 2 }] })
  expect(view.memories).toEqual([{ id: 1, content: 'The port is 7070', state: 'replaced', replacedBy: 2 }])
  const shown = (await heddle.run('show', 'narrative:1')).out
  expect(shown).toMatch(/based on\n {2}memory:1 {2}replaced by memory:2 {2}The port is 7070/)
  expect(shown).toMatch(/continued by {2,}narrative:2 {2}It was settled anew\./)

  const why = await heddle.json<WhyView>('why', 'narrative:2')
  expect(why.story).toMatchObject({ told: [{ kind: 'narrative', id: '1', how: 'goes on from' }], isMore: false })
  expect((await heddle.run('why', 'narrative:2')).out).toBe(
    'narrative:2  "It was settled anew."\n  continues  narrative:1  "The port was settled."\n',
  )
  expect((await heddle.run('why', 'memory:1')).out).toContain('summarised in  narrative:1  "The port was settled."')
  const gone = await heddle.run('show', 'narrative:9')
  expect(gone).toMatchObject({ code: 1, err: expect.stringContaining('heddle memory narratives --all') })
})

const screen = { columns: 80, rows: 24, isTerminal: true, color: false }
const hostile = `\u001b]0;owned\u0007\u001b[2J発売日は五月です🙂\u202e\n${'long '.repeat(900)}`
const line: NarrativeLine = {
  id: 3,
  summary: hostile,
  topic: '\u001b[31mred',
  folder: '/f',
  trusted: false,
  memoryIds: [4],
  createdAt: '2026-01-01T00:00:00.000Z',
}

test('a list of narratives fits 80 columns, and nothing in it or in a page is obeyed by a terminal', () => {
  const table = narrativeTable(screen, [line, { ...line, id: 12 }], Date.parse('2026-01-01T01:00:00.000Z'))
  expect(table.split('\n').filter((each) => width(each) > 80)).toEqual([])
  const page = narrativePage(screen, {
    ...line,
    kind: 'narrative',
    label: { integrity: 'untrusted', sources: ['url:\u0007'] },
    memories: [{ id: 4, content: hostile, state: 'counts' }],
    tasks: [{ id: 6, title: hostile, status: 'completed' }],
    before: { id: 2, summary: hostile },
    after: [{ id: 5, summary: hostile }],
  })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  for (const text of [table, page]) expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
})
