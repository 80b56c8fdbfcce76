import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newFolder, type TestFolder } from './folder.ts'

let folder: TestFolder
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => folder.remove())

const list = (path = '.') => folder.text('list_dir', { path })

test('directories come first, then files with their sizes, each by name', async () => {
  folder.write({ 'b.txt': 'four', 'a.txt': '', 'z/x': '', 'c/x': '', '.hidden': 'x', B: 'x' })
  expect(await list()).toBe('c/\nz/\n.hidden  1 bytes\nB  1 bytes\na.txt  0 bytes\nb.txt  4 bytes')
})

test('links are told with where they lead, and nothing of what lies outside', async () => {
  folder.write({ 'sub/a.txt': 'x' })
  const links = { in: 'sub/a.txt', dir: 'sub', self: '.', none: 'sub/none', out: folder.outside, away: '/no/such' }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(folder.path, name))
  expect(await list()).toBe(
    [
      'sub/',
      'away  link that leads out of the folder',
      'dir  link that leads to sub/',
      'in  link that leads to sub/a.txt',
      'none  link that leads nowhere',
      'out  link that leads out of the folder',
      'self  link that leads to ./',
    ].join('\n'),
  )
})

test('what ignore files hide is left out and counted, at every level', async () => {
  folder.write({
    '.gitignore': '*.log\n/build/\n!keep.log\n',
    'a.log': '',
    'keep.log': '',
    'build/x': '',
    '.git/HEAD': '',
    'sub/.gitignore': 'keep.log\nc.txt\n',
    'sub/.ignore': '!b.log\n!c.txt\n',
    'sub/b.log': '',
    'sub/c.txt': '',
    'sub/keep.log': '',
    'sub/build/x': '',
  })
  expect(await list()).toBe('sub/\n.gitignore  24 bytes\nkeep.log  0 bytes\n[3 ignored]')
  expect(await list('sub')).toBe(
    'build/\n.gitignore  15 bytes\n.ignore  14 bytes\nb.log  0 bytes\nc.txt  0 bytes\n[1 ignored]',
  )
})

test('a hidden directory that is asked for by name is shown', async () => {
  folder.write({ '.gitignore': 'node_modules\n*.js\n', 'node_modules/zod/main.js': 'x', 'node_modules/zod/a.ts': '' })
  expect(await list('node_modules/zod')).toBe('a.ts  0 bytes\nmain.js  1 bytes')
})

test('an ignore file that is a link out of the folder hides nothing', async () => {
  writeFileSync(join(folder.outside, 'rules'), '*\n')
  folder.write({ 'a.txt': '' })
  symlinkSync(join(folder.outside, 'rules'), join(folder.path, '.gitignore'))
  expect(await list()).toBe('.gitignore  link that leads out of the folder\na.txt  0 bytes')
})

test('an empty directory is told to be empty, also when everything in it is hidden', async () => {
  mkdirSync(join(folder.path, 'empty'))
  folder.write({ '.gitignore': '*.log\n', 'logs/a.log': '', 'logs/b.log': '' })
  expect(await list('empty')).toBe('[empty is empty]')
  expect(await list('logs')).toBe('[logs is empty: 2 ignored]')
})

test('what is too much is cut and counted', async () => {
  folder.write(Object.fromEntries(Array.from({ length: 1200 }, (_, at) => [`many/${String(at).padStart(4, '0')}`, ''])))
  const lines = (await list('many')).split('\n')
  expect(lines).toHaveLength(1001)
  expect(lines.at(-2)).toBe('0999  0 bytes')
  expect(lines.at(-1)).toBe('… [cut: 200 more entries; search_files with an empty pattern and a glob finds them]')
  const long = 'n'.repeat(200)
  folder.write(Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`long/${at}-${long}`, ''])))
  const shown = await list('long')
  expect(Buffer.byteLength(shown)).toBeLessThan(50_000)
  expect(shown).toMatch(/\n… \[cut: \d+ more entries; .*\]$/)
})

test('what is no directory is told as such', async () => {
  folder.write({ 'a.txt': 'x' })
  const refused = async (path: string) => (await folder.call('list_dir', { path })).output
  expect(await refused('a.txt')).toEqual({
    status: 'error',
    error: 'a.txt is a file, not a directory',
    remedy: 'read_file shows what is in it',
  })
  expect(await refused('b.txt')).toMatchObject({ error: 'there is no b.txt', remedy: 'did you mean a.txt?' })
  expect(await refused('..')).toMatchObject({ status: 'forbidden' })
})

test('resolve_path tells where a path leads, what is there and whether it is inside', async () => {
  folder.write({ 'sub/a.txt': 'four' })
  symlinkSync('sub', join(folder.path, 'dir'))
  const where = (path: string) => folder.text('resolve_path', { path })
  expect(await where('dir/../dir/a.txt')).toBe(`${folder.path}/sub/a.txt is a file of 4 bytes, inside the folder`)
  expect(await where('dir')).toBe(`${folder.path}/sub is a directory, inside the folder`)
  expect(await where('.')).toBe(`${folder.path} is a directory, inside the folder`)
  expect(await where('sub/b.txt')).toBe(`sub/b.txt is inside the folder ${folder.path}, and nothing is there`)
  const outside = `leads out of the folder ${folder.path}: no tool reaches it`
  expect(await where('../x')).toBe(`${join(folder.path, '../x')} ${outside}`)
  expect(await where('/etc/passwd')).toBe(`/etc/passwd ${outside}`)
})
