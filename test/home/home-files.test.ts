import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { HomeFiles } from '../../src/domain/home-files.ts'
import { ensureHome } from '../../src/home/home.ts'
import { homeFiles } from '../../src/home/home-files.ts'
import { homeTemplates } from '../../src/home/templates.ts'

let root: string
let home: string
let files: HomeFiles
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'heddle-files-'))
  home = join(root, 'home')
  files = homeFiles(home)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function put(path: string, text: string | Buffer): void {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), text)
}

async function walked(): Promise<string[]> {
  const found: string[] = []
  for await (const some of files.walk()) found.push(...some.map(({ path }) => path))
  return found.sort()
}

const textOf = async (path: string) => {
  const file = await files.read(path)
  return typeof file === 'object' ? file.text : file
}

test('the files that agents read and all markdown below memory are met, with size and time', async () => {
  for (const path of ['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md', 'IDENTITY.md', 'memory/MEMORY.md']) put(path, path)
  put('memory/2026-11-03.md', 'note')
  put('memory/deep/er/N.MD', 'note')
  put('memory/日記/🙂.md', 'note')
  for (const other of [
    'heddle.yaml',
    'OTHER.md',
    'skills/a.md',
    'memory/a.txt',
    'memory/.obsidian/a.md',
    'memory/.a.md',
  ])
    put(other, 'no')
  utimesSync(join(home, 'memory/2026-11-03.md'), 5, 1234.5678)
  expect(await walked()).toEqual(
    ['AGENTS.md', 'IDENTITY.md', 'SOUL.md', 'TOOLS.md', 'USER.md', 'memory/2026-11-03.md', 'memory/MEMORY.md'].concat(
      'memory/deep/er/N.MD',
      'memory/日記/🙂.md',
    ),
  )
  expect(await files.read('memory/2026-11-03.md')).toEqual({
    path: 'memory/2026-11-03.md',
    size: 4,
    modifiedAt: 1_234_567,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    text: 'note',
  })
})

test('a form that is still as it came has no text; a rule of ours and whatever was filled in have', async () => {
  await ensureHome(home)
  expect(await textOf('USER.md')).toBe('')
  expect(await textOf('memory/MEMORY.md')).toBe('')
  expect(await textOf('SOUL.md')).toBe(homeTemplates['SOUL.md'])
  put('USER.md', `${homeTemplates['USER.md']}- Pets: two\n`)
  expect(await textOf('USER.md')).toContain('Pets')
})

test('links lead to markdown in the home and nowhere else', async () => {
  put('memory/a.md', 'a')
  put('secrets/key', 'secret')
  writeFileSync(join(root, 'outside.md'), 'outside')
  mkdirSync(join(root, 'folder'))
  writeFileSync(join(root, 'folder/x.md'), 'outside')
  const link = (target: string, path: string) => symlinkSync(target, join(home, path))
  link('a.md', 'memory/to-a.md')
  link('../secrets/key', 'memory/key.md')
  link(join(root, 'outside.md'), 'memory/out.md')
  link(join(root, 'outside.md'), 'USER.md')
  link('nowhere.md', 'memory/nowhere.md')
  link('round.md', 'memory/round.md')
  link(join(root, 'folder'), 'memory/folder')
  link('.', 'memory/again')
  expect(await walked()).toEqual(['memory/a.md', 'memory/to-a.md'])
  expect(await textOf('memory/to-a.md')).toBe('a')
  for (const path of ['key.md', 'out.md', 'nowhere.md', 'round.md', 'folder/x.md', '../../outside.md'])
    expect([path, await files.read(`memory/${path}`)]).toEqual([path, undefined])
})

test('a memory folder that is a link is not followed, and a home that is one is', async () => {
  put('a.md', 'a')
  mkdirSync(join(root, 'notes'))
  writeFileSync(join(root, 'notes/x.md'), 'x')
  symlinkSync(join(root, 'notes'), join(home, 'memory'))
  expect(await walked()).toEqual([])
  expect(await files.read('memory/x.md')).toBeUndefined()
  rmSync(join(home, 'memory'))
  put('memory/y.md', 'y')
  symlinkSync(home, join(root, 'linked'))
  files = homeFiles(join(root, 'linked'))
  expect([await walked(), await textOf('memory/y.md')]).toEqual([['memory/y.md'], 'y'])
})

test('what is no file, too large, or gone is left out, and nothing waits', async () => {
  put('memory/large.md', Buffer.alloc(2 * 1024 * 1024 + 1, 'x'))
  put('memory/just.md', Buffer.alloc(2 * 1024 * 1024, 'x'))
  mkdirSync(join(home, 'memory/folder.md'))
  execFileSync('mkfifo', [join(home, 'memory/pipe.md')])
  put(`memory/${'d/'.repeat(20)}deep.md`, 'too deep')
  expect(await walked()).toEqual(['memory/just.md'])
  for (const path of ['large', 'folder', 'pipe', 'gone'])
    expect([path, await files.read(`memory/${path}.md`)]).toEqual([path, undefined])
  expect(await homeFiles(join(root, 'none')).read('a.md')).toBeUndefined()
})

test('odd bytes are read as far as they are text; a file with a NUL has none', async () => {
  put('memory/latin.md', Buffer.from('caf\xe9 au lait', 'latin1'))
  put('memory/bom.md', '\ufeff# Title')
  put('memory/picture.md', Buffer.from('PNG\0\x01\x02'))
  put('memory/utf16.md', Buffer.from('note', 'utf16le'))
  put('memory/empty.md', '')
  expect(
    await Promise.all(['latin', 'bom', 'picture', 'utf16', 'empty'].map((name) => textOf(`memory/${name}.md`))),
  ).toEqual(['caf\ufffd au lait', '# Title', '', '', ''])
})

test('a file that is written while it is read is left for later', async () => {
  put('memory/a.md', 'x'.repeat(100_000))
  const reading = files.read('memory/a.md')
  let isRead = false
  void reading.finally(() => {
    isRead = true
  })
  while (!isRead) {
    appendFileSync(join(home, 'memory/a.md'), 'more')
    await new Promise(setImmediate)
  }
  expect(await reading).toBe('later')
  expect(await files.read('memory/a.md')).toMatchObject({ path: 'memory/a.md' })
})

test('many files are met a few at a time', async () => {
  for (let at = 0; at < 1200; at++) put(`memory/${at}.md`, '')
  const sizes: number[] = []
  for await (const some of files.walk()) sizes.push(some.length)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(1200)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(500)
})
