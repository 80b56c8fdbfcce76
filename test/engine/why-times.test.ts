import { appendFileSync, cpSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { commandHands } from './command-hands.ts'
import { untilFilesAreLater } from './file-clock.ts'
import { edit, write } from './hands.ts'

const linesOf = (name: string, count = 9) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} that ${name} is made of\n`).join('')

/** A file that is moved keeps the time at which its content was written: of several with one content it tells which was moved. */
describe.each(databases)('times of files, on %s', (database) => {
  const test = testOn(database)
  const { at, say, exec, author } = commandHands(database)
  const by = (runId: string) => ({ by: 'run', runId })
  test('of two runs that wrote the same content, the one is named whose file was moved', async () => {
    const first = await say(write('a.py', linesOf('both')))
    await untilFilesAreLater()
    const second = await say(write('b.py', linesOf('both')))
    await untilFilesAreLater()
    renameSync(at('b.py'), at('c.py'))
    expect(await author('c.py:1')).toEqual(by(second))
    renameSync(at('a.py'), at('d.py'))
    expect(await author('d.py:1')).toEqual(by(first))
  })

  test('a copy that keeps its times tells where it is from, and one that does not leaves it unknown', async () => {
    const first = await say(write('a.py', linesOf('both')))
    await untilFilesAreLater()
    const second = await say(write('b.py', linesOf('both')))
    await untilFilesAreLater()
    cpSync(at('a.py'), at('kept.py'), { preserveTimestamps: true })
    expect(await author('kept.py:1')).toEqual(by(first))
    cpSync(at('a.py'), at('new.py'))
    expect(await author('new.py:1')).toMatchObject({ by: 'unknown', runIds: expect.arrayContaining([first, second]) })
  })

  test('a file that is moved away and back keeps its authors', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await untilFilesAreLater()
    renameSync(at('a.py'), at('away'))
    await say(write('a.py', linesOf('another')))
    await untilFilesAreLater()
    renameSync(at('away'), at('a.py'))
    expect(await author('a.py:1')).toEqual(by(first))
    appendFileSync(at('a.py'), 'by hand\n')
    expect([await author('a.py:1'), await author('a.py:10')]).toEqual([by(first), { by: 'outside' }])
  })

  test('a content that is written again is not told as moved, since it has the time of its writing', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await say(write('a.py', linesOf('another')))
    await untilFilesAreLater()
    writeFileSync(at('a.py'), linesOf('a'))
    expect(await author('a.py:1')).toMatchObject({ by: 'unknown', runIds: [first] })
  })

  test('a file that a command left is told by its time, also if the command had moved it', async () => {
    const first = await say(write('a.py', linesOf('both')))
    await untilFilesAreLater()
    const second = await say(write('b.py', linesOf('both')))
    await untilFilesAreLater()
    await exec('mkdir x y && mv a.py x/a.py && mv b.py y/b.py')
    await untilFilesAreLater()
    renameSync(at('x/a.py'), at('c.py'))
    expect(await author('c.py:1')).toEqual(by(first))
    renameSync(at('y/b.py'), at('d.py'))
    expect(await author('d.py:1')).toEqual(by(second))
  })

  test('the time of what a tool replaces is recorded: what was moved there is known after the change, too', async () => {
    const first = await say(write('a.py', linesOf('both')))
    await untilFilesAreLater()
    const second = await say(write('b.py', linesOf('both')))
    await untilFilesAreLater()
    renameSync(at('b.py'), at('c.py'))
    await say(edit('c.py', 'line 9 that both is made of', 'a line of the third run'))
    expect(await author('c.py:1')).toEqual(by(second))
    expect(first).not.toBe(second)
  })

  test('a time of a copy that no version has tells nothing', async () => {
    const first = await say(write('a.py', linesOf('both')))
    const second = await say(write('b.py', linesOf('both')))
    cpSync(at('b.py'), at('c.py'))
    const { mtimeMs } = statSync(at('c.py'))
    utimesSync(at('c.py'), 1, mtimeMs / 1000 - 86_400)
    expect(await author('c.py:1')).toMatchObject({ by: 'unknown', runIds: expect.arrayContaining([first, second]) })
  })
})
