import { appendFileSync, cpSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'
import { commandHands } from './command-hands.ts'
import { write } from './hands.ts'

const linesOf = (name: string, count = 9) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} that ${name} is made of\n`).join('')

describe.each(databases)('what a command found that hands had done, on %s', (database) => {
  const test = testOn(database)
  const { at, say, exec: execNow, author, way } = commandHands(database)
  /** A file that changes while a command surveys is not recorded, by coarse clocks. */
  const exec = async (command: string) => {
    const until = performance.now() + 30
    await untilSo(() => performance.now() > until)
    return execNow(command)
  }
  const by = (runId: string) => ({ by: 'run', runId })
  const outside = { by: 'outside' }
  const unknown = (...runIds: string[]) => ({
    by: 'unknown',
    since: expect.toSatisfy(() => true),
    runIds: expect.arrayContaining(runIds),
  })
  /** Until whatever changes next is later than a file by all clocks: those of file systems are coarse. */
  const isPast = (path: string) => untilSo(() => statSync(at(path)).ctimeMs + 100 < Date.now())

  test('files that a hand swapped keep their authors, whatever it changes after a command has run', async () => {
    const [first, second] = [await say(write('a.py', linesOf('a'))), await say(write('b.py', linesOf('b')))]
    writeFileSync(at('a.py'), linesOf('b'))
    writeFileSync(at('b.py'), linesOf('a'))
    await exec('true')
    writeFileSync(at('a.py'), `by hand\n${linesOf('b')}`)
    await exec('true')
    writeFileSync(at('b.py'), linesOf('nothing before', 3))
    expect([await author('a.py:1'), await author('a.py:2'), await author('b.py:1')]).toEqual([
      outside,
      by(second),
      outside,
    ])
    expect((await way('a.py:2'))[1]).toBe('copied by hand b.py:1')
    expect(first).not.toBe(second)
  })

  test('a file that a hand moved and changed twice is followed through what commands found', async () => {
    const first = await say(write('a.py', linesOf('a')))
    renameSync(at('a.py'), at('b.py'))
    await exec('true')
    writeFileSync(at('b.py'), linesOf('a').replace('line 2', 'line two'))
    await exec('true')
    renameSync(at('b.py'), at('c.py'))
    await exec('true')
    appendFileSync(at('c.py'), 'by hand\n')
    expect([await author('c.py:1'), await author('c.py:2'), await author('c.py:10')]).toEqual([
      by(first),
      outside,
      outside,
    ])
    expect((await way('c.py:1')).slice(1, 3)).toEqual(['moved by hand b.py:1', 'moved by hand a.py:1'])
  })

  test('files of a folder that a hand renames are found there, though their times stay as they were', async () => {
    mkdirSync(at('lib'))
    const first = await say(write('lib/a.py', linesOf('a')))
    await isPast('lib/a.py')
    await exec('true')
    renameSync(at('lib'), at('core'))
    await exec('true')
    appendFileSync(at('core/a.py'), 'by hand\n')
    expect([await author('core/a.py:1'), await author('core/a.py:10')]).toEqual([by(first), outside])
  })

  test('a line that no file had any more when a hand wrote it may have been brought back', async () => {
    const first = await say(write('a.py', linesOf('a')))
    rmSync(at('a.py'))
    const second = await say(write('b.py', linesOf('b')))
    await exec('true')
    writeFileSync(at('b.py'), `line 1 that a is made of\n${linesOf('b')}`)
    expect([await author('b.py:1'), await author('b.py:2')]).toEqual([unknown(first), by(second)])
  })

  test('a copy that a command found is of the version that was there, not of one that was written again later', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await isPast('a.py')
    cpSync(at('a.py'), at('copy.py'), { preserveTimestamps: true })
    await exec('rm a.py')
    await say(write('a.py', linesOf('a')))
    appendFileSync(at('copy.py'), 'by hand\n')
    expect(await author('copy.py:1')).toEqual(by(first))
  })

  test('an earlier content that a hand puts back after it has changed the file that had it may be the hand’s', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await exec('cp a.py b.py')
    await say(write('a.py', linesOf('another')))
    await exec('true')
    writeFileSync(at('b.py'), linesOf('by hand'))
    await isPast('b.py')
    writeFileSync(at('a.py'), linesOf('a'))
    expect(await author('a.py:1')).toEqual(unknown(first))
  })

  test('a blank line among those of another file that a hand put in its place may be of either', async () => {
    const own = await say(write('a.py', `${linesOf('a')}\n`))
    const first = await say(write('b.py', `${linesOf('b')}\n${linesOf('more of b')}`))
    await exec('true')
    writeFileSync(at('a.py'), `${linesOf('b')}by hand\n\n${linesOf('more of b')}`)
    renameSync(at('b.py'), at('c.py'))
    await exec('true')
    expect(await author('a.py:11')).toEqual(unknown(own, first))
  })
})
