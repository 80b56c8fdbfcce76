import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../src/system.ts'
import { isLong } from '../setup/long.ts'
import { newFolder, type TestFolder } from './folder.ts'

const lasting = isLong ? 10_000 : 1000

// Puts, over and over, something that leads out in the place of a link, of a parent, of a file and of what is made.
// On a busy machine its time may be over before the calls have raced it: it goes on until they have.
const racer = `
  const { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } = require('node:fs')
  const { parentPort, workerData: { path, outside, until, enough } } = require('node:worker_threads')
  const at = (name) => path + '/' + name
  const may = (act) => { try { act() } catch {} }
  let flips = 0
  for (; Date.now() < until || Atomics.load(enough, 0) === 0; flips += 8) {
    may(() => { symlinkSync(outside, at('aside/link')); renameSync(at('aside/link'), at('link')) })
    may(() => { renameSync(at('parent'), at('aside/real-parent')); symlinkSync(outside, at('parent')) })
    may(() => { rmSync(at('leaf')); symlinkSync(outside + '/secret.txt', at('leaf')) })
    may(() => { rmSync(at('fresh'), { recursive: true }); symlinkSync(outside, at('fresh')) })
    may(() => { symlinkSync('sub', at('aside/link')); renameSync(at('aside/link'), at('link')) })
    may(() => { rmSync(at('parent')); renameSync(at('aside/real-parent'), at('parent')) })
    may(() => { rmSync(at('leaf')); writeFileSync(at('leaf'), 'inside') })
    may(() => rmSync(at('fresh')))
  }
  parentPort.postMessage(flips)
`

let folder: TestFolder
afterEach(() => folder.remove())

test('no swap of a link, a parent or a file, at any moment of a write, changes anything outside', async () => {
  folder = newFolder({ 'sub/secret.txt': 'inside', 'parent/secret.txt': 'inside', leaf: 'inside' })
  const { path, outside } = folder
  mkdirSync(join(path, 'aside'))
  symlinkSync('sub', join(path, 'link'))
  const beside = () => [
    readdirSync(outside).sort(),
    readFileSync(join(outside, 'secret.txt'), 'utf8'),
    statSync(join(outside, 'secret.txt')).ino,
  ]
  const before = beside()
  const enough = new Int32Array(new SharedArrayBuffer(4))
  const workerData = { path, outside, until: systemClock.now() + lasting, enough }
  const thread = new Worker(racer, { eval: true, execArgv: [], workerData })
  let isOver = false
  const over = new Promise<number>((resolve, reject) => {
    let flips = 0
    thread.once('error', reject).once('message', (count) => {
      flips = count
    })
    thread.once('exit', () => {
      isOver = true
      resolve(flips)
    })
  })

  const calls: [string, Record<string, unknown>][] = [
    ...['link/secret.txt', 'parent/secret.txt', 'leaf', 'link/new.txt', 'parent/new.txt', 'fresh/deep/new.txt'].map(
      (name): [string, Record<string, unknown>] => ['write_file', { path: name, content: 'inside' }],
    ),
    ['edit_file', { path: 'parent/secret.txt', old_text: 'CANARY', new_text: 'edited' }],
    ['edit_file', { path: 'leaf', old_text: 'CANARY', new_text: 'edited' }],
  ]
  const done = new Map<string, number>()
  // The race was one: writes were made, and both a way out and a change in the middle were met.
  const statuses = ['ok', 'forbidden', 'error']
  const isOften = (status: string) => (done.get(status) ?? 0) > 20
  const lane = async ([name, input]: [string, Record<string, unknown>]) => {
    while (!isOver) {
      const { status } = await folder.call(name, input)
      done.set(status, (done.get(status) ?? 0) + 1)
      if (statuses.every(isOften)) Atomics.store(enough, 0, 1)
    }
  }
  const [flips] = await Promise.all([over, ...calls.map(lane)])
  console.log(`${flips} swaps; writes tried: ${[...done].map(([status, count]) => `${count} ${status}`).join(', ')}`)
  expect(beside()).toEqual(before)
  for (const status of statuses) expect([status, isOften(status)]).toEqual([status, true])
})
