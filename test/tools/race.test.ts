import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { isLong } from '../setup/long.ts'
import { canary, newFolder, type TestFolder } from './folder.ts'

const flips = isLong ? 200_000 : 12_000

// Puts, over and over, something that leads out in the place of a link, of a parent and of a file, and takes it back.
// On a busy machine it may be done before the calls have raced it: it goes on until they have.
const racer = `
  const { renameSync, symlinkSync } = require('node:fs')
  const { parentPort, workerData: { path, outside, flips, enough } } = require('node:worker_threads')
  const at = (name) => path + '/' + name
  symlinkSync(outside, at('aside/parent'))
  symlinkSync(outside + '/secret.txt', at('aside/leaf'))
  for (let flip = 0; flip < flips || Atomics.load(enough, 0) === 0; flip += 6) {
    symlinkSync(outside, at('aside/link')); renameSync(at('aside/link'), at('link'))
    renameSync(at('parent'), at('aside/real-parent')); renameSync(at('aside/parent'), at('parent'))
    renameSync(at('leaf'), at('aside/real-leaf')); renameSync(at('aside/leaf'), at('leaf'))
    symlinkSync('sub', at('aside/link')); renameSync(at('aside/link'), at('link'))
    renameSync(at('parent'), at('aside/parent')); renameSync(at('aside/real-parent'), at('parent'))
    renameSync(at('leaf'), at('aside/leaf')); renameSync(at('aside/real-leaf'), at('leaf'))
  }
`

let folder: TestFolder
afterEach(() => folder.remove())

test('no swap of a link, a parent or a file, at any moment of a call, brings a byte from outside', async () => {
  const files = { 'sub/secret.txt': 'inside\n', 'parent/secret.txt': 'inside\n', leaf: 'inside\n' }
  folder = newFolder({ ...files, link: '' })
  mkdirSync(join(folder.path, 'aside'))
  writeFileSync(join(folder.path, '.gitignore'), 'aside\n')
  const { path, outside } = folder
  const enough = new Int32Array(new SharedArrayBuffer(4))
  const thread = new Worker(racer, { eval: true, execArgv: [], workerData: { path, outside, flips, enough } })
  let isOver = false
  const over = new Promise<void>((resolve, reject) => {
    thread.once('error', reject).once('exit', () => {
      isOver = true
      resolve()
    })
  })

  const calls: [string, unknown][] = [
    ['read_file', { path: 'link/secret.txt' }],
    ['read_file', { path: 'parent/secret.txt' }],
    ['read_file', { path: 'leaf' }],
    ['list_dir', { path: 'link' }],
    ['list_dir', { path: 'parent' }],
    ['list_dir', { path: '.' }],
    ['resolve_path', { path: 'parent/secret.txt' }],
    ['search_files', { pattern: '', path: '.' }],
    ['search_files', { pattern: 'N', path: 'link' }],
    ['search_files', { pattern: 'N', path: 'parent' }],
    ['search_files', { pattern: 'N', path: '.' }],
  ]
  const escapes: unknown[] = []
  const done = new Map<string, number>()
  // The race was one: calls of each kind were made, and reading found both what is inside and what leads out.
  const kinds = ['read_file ok', 'read_file forbidden', 'list_dir ok', 'resolve_path ok', 'search_files ok']
  const isOften = (kind: string) => (done.get(kind) ?? 0) > 20
  const lane = async ([name, input]: [string, unknown]) => {
    while (!isOver) {
      const { status, output } = await folder.call(name, input)
      if (JSON.stringify(output).includes(canary)) escapes.push([name, input, output])
      done.set(`${name} ${status}`, (done.get(`${name} ${status}`) ?? 0) + 1)
      if (kinds.every(isOften)) Atomics.store(enough, 0, 1)
    }
  }
  await Promise.all([over, ...calls.map(lane)])
  expect(escapes).toEqual([])
  for (const kind of kinds) expect([kind, isOften(kind)]).toEqual([kind, true])
}, 300_000)
