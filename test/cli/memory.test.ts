import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { MemoryLine, MemoryView } from '../../src/api/views/memory.ts'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { TurnView } from '../../src/api/views/turn.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

interface Listed {
  memories: (MemoryLine & { words?: string[] })[]
}
interface Kept extends Listed {
  ok: boolean
  id: number
  merged: boolean
  superseded: number[]
  near: number[]
}
const add = (text: string, ...more: string[]) => heddle.json<Kept>('memory', 'add', text, ...more)

test('what is added is listed, found with its rank, shown and replaced', async () => {
  expect((await heddle.run('memory')).out).toContain('heddle memory add "…"')
  expect(await add('The port is 8080', '--tag', 'net', '--tag', 'prod', '--keyword', 'socket')).toEqual({
    ok: true,
    id: 1,
    merged: false,
    superseded: [],
    near: [],
    memories: [
      {
        id: 1,
        content: 'The port is 8080',
        tags: ['net', 'prod'],
        keywords: ['socket'],
        score: 1,
        source: 'user',
        trusted: true,
        rank: 2,
        createdAt: expect.any(String),
      },
    ],
  })
  expect(await add('the port is 8080.')).toMatchObject({
    id: 1,
    merged: true,
    memories: [{ content: 'The port is 8080', score: 2 }],
  })
  const said = await heddle.runWith({ input: 'The port is 9090\n' }, 'memory', 'add', '-')
  const today = new Date().toISOString().slice(0, 10)
  expect(said.out.split('\n')).toEqual([
    'saved as memory:2    heddle memory show 2',
    '  The port is 9090',
    `  similar: memory:1  ${today}  The port is 8080`,
    '  both are kept. Is one outdated?  heddle memory edit 1 "…", heddle memory forget 1',
    '',
  ])
  expect((await heddle.json<Listed>('memory')).memories.map(({ id }) => id)).toEqual([2, 1])
  const edited = await heddle.run('memory', 'edit', '1', 'The port is 9090')
  expect(edited.out).toBe(
    'memory:2 replaces memory:1    heddle memory show 2\n  The port is 9090\n  replaces memory:1  The port is 8080\n',
  )

  const found = await heddle.json<Listed>('memory', 'search', 'which port?', '--limit', '1')
  expect(found.memories).toMatchObject([{ id: 2, words: ['port'], rank: expect.any(Number) }])
  expect((await heddle.json<Listed>('memory')).memories.map(({ id }) => id)).toEqual([2])

  const shown = await heddle.json<MemoryView>('show', 'memory:1')
  expect(shown).toMatchObject({ kind: 'memory', replacedBy: { id: 2, content: 'The port is 9090' } })
  expect(await heddle.json('memory', 'show', '1')).toEqual(shown)
  expect(await heddle.json('memory', 'memory:1')).toEqual(shown)
})

test.each([
  [['memory', 'add'], 'there is nothing to remember'],
  [['memory', 'add', ' '], 'there is nothing to remember'],
  [['memory', 'show', '7'], 'there is no memory "7"'],
  [['memory', 'show', 'task:7'], '"task:7" is not a memory'],
  [['memory', 'forget', '7'], 'there is no memory 7'],
  [['memory', 'edit', '7'], 'editing needs a terminal'],
  [['memory', 'serch', 'x'], 'did you mean heddle memory search?'],
  [['memory', 'search', 'x', '--limit', '0'], '"0" is not a number of memories'],
  [['memory', 'import', 'nowhere.md'], 'nowhere.md cannot be read'],
])('%j is refused with what to do', async (args, message) => {
  const { code, out, err } = await heddle.run(...args)
  expect({ failed: code !== 0, out }).toEqual({ failed: true, out: '' })
  expect(err).toContain(message)
  expect(err).toContain('→')
})

test('new words take the place of the old, on the command line and in an editor', async () => {
  await add('Customers are billed monthly')
  const said = await heddle.run('memory', 'edit', '1', 'Invoices go out twice a year', '--tag', 'money')
  expect(said.out).toContain('memory:2 replaces memory:1')
  const editor = join(heddle.folder, 'editor.sh')
  writeFileSync(editor, '#!/bin/sh\nsed -i s/twice/once/ "$1"\n', { mode: 0o700 })
  const screen = heddle.terminalWith({ env: { EDITOR: editor } }, 'memory', 'edit', 'memory:2')
  await screen.shows('memory:3 replaces memory:2')
  expect((await screen.ended).code).toBe(0)
  const same = heddle.terminalWith({ env: { EDITOR: 'true' } }, 'memory', 'edit', '3')
  await same.shows('nothing was changed')
  await same.ended
  expect((await heddle.json<Listed>('memory')).memories).toMatchObject([
    { id: 3, content: 'Invoices go out once a year', tags: ['money'] },
  ])
  expect((await heddle.run('memory', 'edit', '2', 'x')).err).toContain('heddle show memory:3')
})

test('forgetting asks at a terminal, says what rested on it, and leaves turns as they are', async () => {
  await add('The staging server has port 8080')
  await heddle.run('memory', 'edit', '1', 'The staging server has port 9090')
  const { turnId, runId } = await heddle.json<RequestAnswer>('ask', 'which port has the staging server?')
  const turn = await heddle.json<TurnView>('show', `turn:${turnId}`)
  expect(turn.remindedOf).toEqual([
    {
      id: 2,
      rank: expect.any(Number),
      words: expect.arrayContaining(['port', 'staging', 'server']),
      content: 'The staging server has port 9090',
    },
  ])
  expect((await heddle.run('show', `turn:${turnId}`)).out).toMatch(
    /\nmemories shown\n {2}memory:2 {2}The staging server has port 9090 {2}by .*staging/,
  )

  const no = heddle.terminal('memory', 'forget', '2')
  await no.shows('The staging server has port 9090')
  await no.shows(`shown to run:${runId?.slice(-6)}`)
  await no.shows('[y/N] ')
  no.type('\n')
  await no.shows('memory:2 was kept')
  expect((await no.ended).code).toBe(130)

  const gone = await heddle.run('memory', 'forget', '2', '-y')
  expect(gone.out.split('\n')).toEqual([
    'memory:2 is forgotten',
    '  it had replaced memory:1: still readable    heddle memory forget 1',
    '  told in narrative:1, hidden from now on',
    `  shown to run:${runId?.slice(-6)}`,
    '  turns are not changed: a session in which it was mentioned still sees it',
    '',
  ])
  expect((await heddle.run('memory', 'show', '2')).out).not.toContain('9090')
  expect((await heddle.run('memory', 'show', '1')).out).toContain('The staging server has port 8080')
  expect((await heddle.run('show', `turn:${turnId}`)).out).toContain('memory:2  forgotten since')
  expect((await heddle.json<TurnView>('show', `turn:${turnId}`)).query).toEqual(turn.query)
})

test('forgetting asks about what it had replaced: no keeps that readable, yes and --older forget it, too', async () => {
  await add('The gate has code 1111')
  await heddle.run('memory', 'edit', '1', 'The gate has code 2222')
  await heddle.run('memory', 'edit', '2', 'The gate has code 3333')
  const no = heddle.terminal('memory', 'forget', '3')
  await no.shows('forget it permanently? [y/N] ')
  no.type('y\n')
  await no.shows('it replaced memory:2  The gate has code 2222')
  await no.shows('it replaced memory:1  The gate has code 1111')
  await no.shows('forget those too? [y/N] ')
  no.type('\n')
  await no.shows('memory:3 is forgotten')
  expect((await no.ended).code).toBe(0)
  expect(await heddle.json('memory', 'show', '2')).toMatchObject({ content: 'The gate has code 2222' })
  expect((await heddle.json<Listed>('memory', 'search', 'gate')).memories).toEqual([])

  const yes = heddle.terminal('memory', 'forget', '2')
  await yes.shows('forget it permanently? [y/N] ')
  yes.type('y\n')
  await yes.shows('forget that too? [y/N] ')
  yes.type('y\n')
  await yes.shows('forgotten with it: memory:1')
  expect((await yes.ended).code).toBe(0)
  expect(await heddle.json('memory', 'show', '1')).toMatchObject({ content: '' })

  await add('The door has code 1111')
  await heddle.run('memory', 'edit', '4', 'The door has code 2222')
  expect(await heddle.json('memory', 'forget', '5', '--older')).toMatchObject({ id: 5, older: [4], kept: [] })
})

test('forgetting names what may say the same, asks about each of those, and elsewhere says how to forget it', async () => {
  await add('The vault code is 993311')
  await add('Code for the vault: 993311')
  await add('The vault code is not 993311')
  await add('Lunch is at noon')
  const asked = heddle.terminal('memory', 'forget', '1')
  await asked.shows('forget it permanently? [y/N] ')
  asked.type('y\n')
  await asked.shows('similar: memory:3')
  await asked.shows('forget that too? [y/N] ')
  asked.type('\n')
  await asked.shows('similar: memory:2')
  await asked.shows('forget that too? [y/N] ')
  asked.type('y\n')
  await asked.shows('memory:2 is forgotten')
  await asked.shows('similar, still there: memory:3')
  await asked.shows('does one say the same?  heddle memory forget 3')
  expect((await asked.ended).code).toBe(0)
  expect((await heddle.json<Listed>('memory')).memories.map(({ id }) => id)).toEqual([4, 3])
  await add('The vault code is 993311')
  expect(await heddle.json('memory', 'forget', '5', '-y')).toMatchObject({ id: 5, near: [3] })
})

test('a file for people goes out and comes back, without a word that a terminal obeys', async () => {
  await add('The port is 8080', '--tag', 'net')
  await add('Beware \u001b[31m of colours')
  const wrote = await heddle.json<{ file: string; count: number }>('memory', 'export', 'm.md')
  const file = join(heddle.folder, 'm.md')
  expect(wrote).toEqual({ ok: true, file, count: 2 })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect((await heddle.run('memory', 'export')).out.replace(/"exported":"[^"]*"/, '')).toBe(
    readFileSync(file, 'utf8').replace(/"exported":"[^"]*"/, ''),
  )
  expect((await heddle.run('memory', 'export', 'm.md')).err).toContain('m.md already exists')
  const screen = heddle.terminal('memory', 'export')
  await screen.shows('Beware \\u{1b}[31m of colours')
  await screen.ended
  expect((await heddle.json<Listed>('memory', 'export')).memories).toHaveLength(2)

  const other = newHeddle()
  const came = await other.run('memory', 'import', file)
  expect(came.out).toMatch(/^imported 2 memories, already here 0 {4}heddle memory\n {2}2 untrusted/)
  expect(await other.json('memory', 'import', file, '--trust')).toMatchObject({ imported: [], skipped: 2 })
  const piped = newHeddle()
  const input = readFileSync(file, 'utf8')
  expect((await piped.runWith({ input }, 'memory', 'import', '-', '--trust')).out).toBe(
    'imported 2 memories, already here 0    heddle memory\n',
  )
  expect((await piped.json<Listed>('memory')).memories.map(({ content, trusted }) => [content, trusted])).toEqual([
    ['Beware \u001b[31m of colours', true],
    ['The port is 8080', true],
  ])
  writeFileSync(file, Buffer.from([0x23, 0xff, 0xfe]))
  expect((await piped.run('memory', 'import', file)).err).toContain('is not UTF-8')
  expect(existsSync(join(piped.folder, 'm.md'))).toBe(false)
  for (const each of [other, piped]) each.remove()
})
