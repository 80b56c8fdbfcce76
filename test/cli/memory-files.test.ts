import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { MemoryMatch, PassageMatch } from '../../src/api/views/memory.ts'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { TurnView } from '../../src/api/views/turn.ts'
import { untilSo } from '../setup/until.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

const put = (path: string, text: string) => {
  mkdirSync(dirname(join(heddle.home, path)), { recursive: true })
  writeFileSync(join(heddle.home, path), text)
}
const search = (question: string, ...more: string[]) =>
  heddle.json<{ memories: MemoryMatch[]; files: PassageMatch[] }>('memory', 'search', question, ...more)

test('a note is found the moment it is written, beside memories, with path and line', async () => {
  await heddle.run('memory', 'add', 'The staging server is in rack 2')
  put('memory/2026-11-03.md', '# Tuesday\n\nThe staging port\nis 8443.\n')
  const { memories, files } = await search('staging port')
  expect(memories).toMatchObject([{ id: 1 }])
  expect(files).toEqual([
    {
      path: 'memory/2026-11-03.md',
      line: 3,
      heading: 'Tuesday',
      text: 'The staging port\nis 8443.',
      rank: expect.any(Number),
      words: expect.arrayContaining(['port', 'staging']),
    },
  ])
  expect((await heddle.run('memory', 'search', 'staging port')).out).toMatch(
    /^memory:1 +\d\.\d\d {2}The staging server is in rack 2 .*\nmemory\/2026-11-03\.md:3 {2}\d\.\d\d {2}Tuesday: The staging port is 8443\. .*staging/,
  )
  put('memory/2026-11-03.md', '# Tuesday\n\nThe staging port\nis 9443.\n')
  expect((await search('staging port')).files.map(({ text }) => text)).toEqual(['The staging port\nis 9443.'])
  rmSync(join(heddle.home, 'memory/2026-11-03.md'))
  expect((await search('staging port')).files).toEqual([])
})

test('so many of each are found as are asked for', async () => {
  put('memory/many.md', 'The staging port is 1\n\nThe staging port is 2\n\nThe staging port is 3')
  expect((await search('staging', '--limit', '2')).files).toHaveLength(2)
  expect((await search('zzz')).files).toEqual([])
  expect((await heddle.run('memory', 'search', 'zzz')).out).toContain('no memory matches this')
})

test('memory.files: false finds nothing in files', async () => {
  put('memory/a.md', 'The staging port is 8443')
  await heddle.run('config', 'set', 'memory.files', 'false')
  expect((await search('staging')).files).toEqual([])
  await heddle.run('config', 'set', 'memory.files', 'true')
  expect((await search('staging')).files).toHaveLength(1)
})

test('a turn shows which note its run was reminded of', async () => {
  put('memory/2026-11-03.md', 'The staging port is 8443')
  // A search waits for the index only as long as a user would.
  await untilSo(async () => (await search('staging')).files.length > 0)
  const { turnId } = await heddle.json<RequestAnswer>('ask', 'which port has staging?')
  expect((await heddle.json<TurnView>('show', `turn:${turnId}`)).remindedOfFiles).toMatchObject([
    { path: 'memory/2026-11-03.md', line: 1, text: 'The staging port is 8443' },
  ])
  expect((await heddle.run('show', `turn:${turnId}`)).out).toMatch(
    /\nmemories shown\n {2}memory\/2026-11-03\.md:1 {2}The staging port is 8443 {2}by .*staging/,
  )
  put('memory/2026-11-03.md', 'Nothing any more')
  await untilSo(async () => (await search('staging')).files.length === 0)
  expect((await heddle.run('show', `turn:${turnId}`)).out).toContain('memory/2026-11-03.md:1  changed since')
})
