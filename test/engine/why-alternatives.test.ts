import { cpSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { findRun } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'
import { commandHands } from './command-hands.ts'
import { untilFilesAreLater } from './file-clock.ts'
import { edit, write } from './hands.ts'

const linesOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} that ${name} is made of\n`).join('')

describe.each(databases)('what more than one history explains, on %s', (database) => {
  const test = testOn(database)
  const { pool, at, elsewhere, say, exec, begin, author, way } = commandHands(database)
  const by = (runId: string) => ({ by: 'run', runId })
  const unknown = (...runIds: string[]) => ({
    by: 'unknown',
    since: expect.toSatisfy(() => true),
    runIds: expect.toSatisfy((found: string[]) => runIds.every((each) => found.includes(each))),
  })
  const isOver = (runId: string) =>
    untilSo(async () => (await pool().engine.store.read((rows) => findRun(rows, runId)))?.state === 'completed')

  test('an earlier content that a hand put back before it moved the file may be the hand’s', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    await say(write('a.py', linesOf('another', 9)))
    writeFileSync(at('a.py'), linesOf('a', 9))
    renameSync(at('a.py'), at('b.py'))
    expect(await author('b.py:1')).toEqual(unknown(first))
  })

  test('a few lines that a hand put back before it moved the file may be the hand’s, and the others are whose they were', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    const second = await say(edit('a.py', 'line 2 that a is made of', 'a line of the second run'))
    writeFileSync(at('a.py'), `${linesOf('a', 9)}by hand\n`)
    renameSync(at('a.py'), at('b.py'))
    expect([await author('b.py:1'), await author('b.py:2'), await author('b.py:10')]).toEqual([
      by(first),
      unknown(first),
      { by: 'before' },
    ])
    expect(second).not.toBe(first)
  })

  test('what a hand copied from a version that was replaced since is whose it was, if all that came later is recorded', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    await untilFilesAreLater()
    cpSync(at('a.py'), at('b.py'), { preserveTimestamps: true })
    await say(write('a.py', linesOf('another', 9)))
    await say(edit('b.py', 'line 2 that a is made of', 'a line of the last run'))
    expect(await author('b.py:1')).toEqual(by(first))
    expect((await way('b.py:1'))[1]).toBe('copied by hand a.py:1')
    await exec('rm a.py')
    expect(await author('b.py:1')).toEqual(by(first))
  })

  test('a file that a hand moves onto another one, or swaps with it, keeps its authors', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    const second = await say(write('b.py', linesOf('b', 9)))
    const third = await say(write('c.py', linesOf('c', 9)))
    renameSync(at('a.py'), at('b.py'))
    expect([await author('b.py:1'), (await way('b.py:1'))[1]]).toEqual([by(first), 'moved by hand a.py:1'])
    const last = await say(edit('b.py', 'line 2 that a is made of', 'a line of the last run'))
    expect([await author('b.py:1'), await author('b.py:2')]).toEqual([by(first), by(last)])
    writeFileSync(at('c.py'), pool().content('b.py'))
    writeFileSync(at('b.py'), linesOf('c', 9))
    expect([await author('b.py:1'), await author('c.py:1'), await author('c.py:2')]).toEqual([
      ...[by(third), by(first), by(last)],
    ])
    rmSync(at('c.py'))
    writeFileSync(at('b.py'), `by hand\n${linesOf('c', 9)}`)
    expect([await author('b.py:1'), await author('b.py:2')]).toEqual([{ by: 'outside' }, unknown(third)])
    expect(second).not.toBe(first)
  })

  test('a content that a hand puts back with other line ends is not told as that of the file which it was moved to', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    await exec("mv a.py b.py && printf 'another content\\n' > a.py")
    renameSync(at('b.py'), at('c.py'))
    writeFileSync(at('a.py'), linesOf('a', 9).replaceAll('\n', '\r\n'))
    expect(await author('a.py:1')).toEqual(unknown(first))
  })

  test('a file that a command moved away and a hand swaps back keeps its authors', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    await exec(`mv a.py b.py && for n in 1 2 3 4 5 6 7 8 9; do echo "line $n of another content" >> a.py; done`)
    const [one, other] = [pool().content('a.py'), pool().content('b.py')]
    writeFileSync(at('a.py'), other)
    writeFileSync(at('b.py'), one)
    expect(await author('a.py:1')).toEqual(by(first))
    await exec('true')
    expect(await author('a.py:1')).toEqual(by(first))
  })

  test('lines of another file that a hand adds to one of which half is left may be written there', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    const second = await say(write('b.py', linesOf('b', 9)))
    writeFileSync(at('a.py'), `${linesOf('a', 9)}${linesOf('b', 9)}`)
    expect([await author('a.py:1'), await author('a.py:10')]).toEqual([by(first), unknown(second)])
    writeFileSync(at('a.py'), `${linesOf('a', 9)}${linesOf('b', 9)}${linesOf('b', 9)}`)
    rmSync(at('b.py'))
    expect(await author('a.py:20')).toEqual(unknown(second))
  })

  test('a blank line of a file that a hand moves or copies onto another one is not told as the one that stood there', async () => {
    const first = await say(write('a.py', `${linesOf('a', 3)}\n${linesOf('more', 3)}`))
    writeFileSync(at('b.py'), `${linesOf('b', 3)}\n${linesOf('others', 3)}`)
    await say(edit('b.py', 'line 1 that b is made of', 'a line of the second run'))
    writeFileSync(at('b.py'), pool().content('a.py'))
    expect([await author('b.py:3'), await author('b.py:4')]).toEqual([unknown(first), unknown(first)])
    renameSync(at('a.py'), at('b.py'))
    expect([await author('b.py:3'), await author('b.py:4')]).toEqual([by(first), by(first)])
  })

  test('a file that a hand moved away and changed much, or moved back, is not denied to its runs', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    await say(write('b.py', linesOf('b', 9)))
    renameSync(at('a.py'), at('t'))
    renameSync(at('b.py'), at('a.py'))
    writeFileSync(at('b.py'), `${linesOf('a', 2)}${linesOf('a hand', 7)}`)
    await say(edit('a.py', 'line 9 that b is made of', 'a line of another run'))
    expect([await author('b.py:1'), await author('b.py:3')]).toEqual([unknown(first), { by: 'outside' }])
    writeFileSync(at('a.py'), linesOf('a', 9))
    expect(await author('a.py:1')).toEqual(unknown(first))
  })

  test('an earlier content of a file that a hand puts back is not told as that of another file which had it once', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    await exec('cp a.py b.py')
    await say(write('b.py', linesOf('b', 9)))
    await say(write('a.py', linesOf('another', 9)))
    writeFileSync(at('a.py'), linesOf('a', 9))
    expect((await author('a.py:1'))?.by).not.toBe('run')
    expect(first).not.toBe('')
  })

  test('a content that a hand puts back is not told as that of the file which it was moved from', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    renameSync(at('a.py'), at('b.py'))
    const second = await say(edit('b.py', 'line 2 that a is made of', 'a line of the second run'))
    writeFileSync(at('b.py'), linesOf('a', 9))
    expect([await author('b.py:1'), await author('b.py:2')]).toEqual([by(first), unknown(first)])
    expect(second).not.toBe(first)
  })

  test('a line that comes back with a file which a hand changed and moved is not denied to the run that wrote it', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    await exec('cp a.py b.py')
    const cutter = await exec("sed -i '5d' b.py")
    writeFileSync(at('a.py'), `${linesOf('a', 9)}by hand\n`)
    renameSync(at('a.py'), at('b.py'))
    expect([await author('b.py:1'), await author('b.py:5'), await author('b.py:10')]).toEqual([
      ...[by(first), by(first), { by: 'outside' }],
    ])
    expect(cutter).not.toBe(first)
  })

  test('a line that stays where a hand puts another file is not told as its own if that one’s authors are unknown', async () => {
    const first = await say(write('a.py', `${linesOf('a', 4)}import os\n${linesOf('more', 4)}`))
    const other = `${linesOf('b', 4)}import os\n${linesOf('others', 4)}`
    const second = await say(write('b.py', other))
    const third = await say(write('c.py', other))
    cpSync(at('b.py'), at('a.py'))
    expect(await author('a.py:5')).toEqual(unknown(first, second, third))
  })

  test('a copy of what several files had is whose all of them say, also when a hand has moved it', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    await exec('cp a.py b.py')
    const copier = await exec('cp b.py c.py')
    expect(await author('c.py:1')).toEqual(by(first))
    expect((await way('c.py:1'))[1]).toBe(`copied by ${copier}`)
    renameSync(at('c.py'), at('d.py'))
    expect(await author('d.py:1')).toEqual(by(first))
    const again = await say(write('e.py', linesOf('a', 9)))
    await exec('cp e.py f.py')
    expect(await author('f.py:1')).toEqual(by(again))
    cpSync(at('f.py'), at('g.py'))
    expect(await author('g.py:1')).toEqual(unknown(first, again))
  })

  test('of equal lines of a file a command may have taken out either', async () => {
    const first = await say(write('a.py', `import os\n${linesOf('a', 3)}`))
    const second = await say(write('b.py', `import os\n${linesOf('b', 3)}`))
    await exec('cat a.py b.py > c.py && rm a.py b.py')
    await exec("sed -n '5,8p' c.py > d.py && sed -i '5,8d' c.py")
    expect([await author('d.py:1'), await author('d.py:2')]).toEqual([unknown(first, second), by(second)])
  })

  test('a content that a run writes again was copied before that, while it was a hand’s, if a command has found the copy', async () => {
    const first = await say(write('a.py', linesOf('a', 9)))
    writeFileSync(at('a.py'), linesOf('by hand', 9))
    cpSync(at('a.py'), at('b.py'))
    // A file that changes while a command surveys is not recorded, by coarse clocks.
    await untilSo(() => statSync(at('b.py')).ctimeMs + 30 < Date.now())
    await exec('rm a.py')
    const again = await say(write('a.py', linesOf('by hand', 9)))
    await exec('mv b.py c.py')
    expect(await author('c.py:1')).toEqual({ by: 'before' })
    expect(first).not.toBe(again)
  })

  test('a short file with the words of another one may be a copy of it', async () => {
    const first = await say(write('a.txt', 'a line of few words\n'))
    cpSync(at('a.txt'), at('copy.txt'))
    expect(await author('copy.txt:1')).toEqual(unknown(first))
    await say(write('b.txt', linesOf('b', 3)))
    await exec('mv copy.txt t && mv b.txt copy.txt && mv t b.txt')
    expect(await author('b.txt:1')).toEqual({ by: 'unknown', since: null, runIds: [first] })
  })

  test('of equal lines that a command put together each may be that of the file which it removed', async () => {
    const first = await say(write('a.py', 'the only line of both files\n'))
    const copier = await exec("echo 'the only line of both files' > b.py")
    await exec('cat a.py >> b.py && rm a.py')
    expect([await author('b.py:1'), await author('b.py:2')]).toEqual([unknown(first, copier), unknown(first, copier)])
    await exec('cp b.py c.py')
    expect(await author('c.py:1')).toEqual(unknown(first, copier))
  })

  test('a single line of a file that a command took away may be what is left of it', async () => {
    const first = await say(write('a.py', `  return\n${linesOf('a', 5)}`))
    const mover = await exec("mv a.py b.py && printf '  return\\nby the command\\n' > b.py")
    expect([await author('b.py:1'), await author('b.py:2')]).toEqual([unknown(first, mover), by(mover)])
  })

  test('blank lines of a file that a command moved and changed may be all that is left of it', async () => {
    const first = await say(write('a.py', '\n\n'))
    const mover = await exec("mv a.py b.py && printf 'by the command\\n' >> b.py")
    expect([await author('b.py:1'), await author('b.py:3')]).toEqual([unknown(first, mover), by(mover)])
  })

  test('lines that a command takes out of a file, and puts into another one, are whose they were', async () => {
    const first = await say(write('a.py', linesOf('a', 12)))
    const second = await say(write('b.py', linesOf('b', 3)))
    const cutter = await exec("head -n 3 a.py >> b.py && sed -i 1,3d a.py && printf 'by the command\\n' >> b.py")
    const found = [await author('b.py:3'), await author('b.py:4'), await author('b.py:6'), await author('b.py:7')]
    expect(found).toEqual([by(second), by(first), by(first), by(cutter)])
    expect(await author('a.py:1')).toEqual(by(first))
    const twice = await say(write('twice.py', `${linesOf('d', 8)}${linesOf('d', 8)}`))
    await exec('head -n 3 twice.py > d.py && sed -i 1,3d twice.py')
    expect([await author('d.py:1'), await author('d.py:3')]).toEqual([by(twice), by(twice)])
    // A single one may have been written anew.
    const last = await exec('tail -n 1 a.py > c.py && sed -i 9d a.py')
    expect(await author('c.py:1')).toEqual(unknown(first, last))
  })

  test('a file that a command moved onto one with the same content may be either', async () => {
    const first = await say(write('a.py', linesOf('a', 4)))
    const second = await say(write('b.py', linesOf('a', 4)))
    await exec('mv a.py b.py')
    expect(await author('b.py:1')).toEqual(unknown(first, second))
    await exec('touch b.py')
    expect(await author('b.py:1')).toEqual(unknown(first, second))
  })

  test('what one of two commands left unread hides no author of lines that the other one found and left', async () => {
    const first = await say(write('a.py', linesOf('a', 3)))
    const running = await begin('true')
    // With a second link it is not read.
    const other = await exec(`printf 'by one of both\\n' >> a.py && ln a.py ${join(elsewhere(), 'linked')}`)
    rmSync(join(elsewhere(), 'linked'))
    running.finish()
    await isOver(running.runId)
    expect([await author('a.py:1'), await author('a.py:4')]).toEqual([by(first), unknown(running.runId, other)])
  })
})
