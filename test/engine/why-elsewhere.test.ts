import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { undo } from '../../src/engine/files/undo.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'
import { commandHands } from './command-hands.ts'
import { edit, write } from './hands.ts'

const linesOf = (name: string, count = 9) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} that ${name} is made of\n`).join('')

/** A command sees the folder without a content, which was elsewhere all the time: that proves nothing. */
describe.each(databases)('what was kept where no survey looks, on %s', (database) => {
  const test = testOn(database)
  const { pool, at, elsewhere, say, exec, begin, author } = commandHands(database)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], { cwd: at('.'), stdio: 'pipe' })
  const by = (runId: string) => ({ by: 'run', runId })
  /** Right is the run that wrote the line, or that nobody knows; then the run is named. */
  const ofOrUnknown = (runId: string) =>
    expect.toSatisfy(
      (found: { by: string; runId?: string; runIds?: string[] }) =>
        found.by === 'unknown' ? found.runIds?.includes(runId) === true : found.runId === runId,
      `run ${runId}, or unknown with that run`,
    )

  test('lines of a run that git stashes and brings back are not the user’s', async () => {
    git('init', '-q')
    writeFileSync(at('a.py'), linesOf('base'))
    git('add', '.')
    git('commit', '-qm', 'base')
    const first = await say(
      edit('a.py', 'line 5 that base is made of', 'a line of the first run\nand another of its lines'),
    )
    appendFileSync(at('a.py'), 'by hand\n')
    git('stash', '-q')
    await exec('true')
    git('stash', 'pop', '-q')
    expect([await author('a.py:5'), await author('a.py:6')]).toEqual([ofOrUnknown(first), ofOrUnknown(first)])
  })

  test('a file of a branch that is merged later is not denied to its run', async () => {
    git('init', '-q', '-b', 'main')
    writeFileSync(at('base.py'), linesOf('base'))
    git('add', '.')
    git('commit', '-qm', 'base')
    git('checkout', '-q', '-b', 'feature')
    const first = await say(write('a.py', linesOf('a')))
    appendFileSync(at('a.py'), 'reviewed by hand\n')
    git('add', '.')
    git('commit', '-qm', 'feature')
    git('checkout', '-q', 'main')
    await exec('true')
    git('merge', '-q', 'feature')
    expect(await author('a.py:1')).toEqual(ofOrUnknown(first))
  })

  test('what an editor takes away and brings back is not denied to its run', async () => {
    const first = await say(write('a.py', linesOf('a', 20)))
    writeFileSync(at('a.py'), linesOf('a', 10))
    await exec('true')
    writeFileSync(at('a.py'), `${linesOf('a', 20)}by hand\n`)
    expect([await author('a.py:1'), await author('a.py:15')]).toEqual([by(first), ofOrUnknown(first)])
  })

  test('a file that was moved out of the folder, and back in with a change, is not denied to its run', async () => {
    const first = await say(write('a.py', linesOf('a')))
    renameSync(at('a.py'), join(elsewhere(), 'a.py'))
    await exec('true')
    renameSync(join(elsewhere(), 'a.py'), at('b.py'))
    appendFileSync(at('b.py'), 'by hand\n')
    expect(await author('b.py:1')).toEqual(ofOrUnknown(first))
  })

  test('a changed copy in an ignored place is not denied to the run whose file it is of', async () => {
    writeFileSync(at('.gitignore'), '*.bak\n')
    const first = await say(write('a.py', linesOf('a')))
    writeFileSync(at('a.bak'), `${linesOf('a')}by hand\n`)
    await say(write('a.py', linesOf('another')))
    await exec('true')
    expect(await author('a.bak:1')).toEqual(ofOrUnknown(first))
    renameSync(at('a.bak'), at('b.py'))
    expect(await author('b.py:1')).toEqual(ofOrUnknown(first))
  })

  test('of two runs that wrote the same the later one is not named for a copy that was made before', async () => {
    writeFileSync(at('.gitignore'), 'out\n')
    const first = await say(write('a.py', linesOf('a')))
    mkdirSync(at('out'))
    cpSync(at('a.py'), at('out/a.py'))
    await say(write('a.py', linesOf('another')))
    await say(write('c.py', linesOf('a')))
    await exec('true')
    renameSync(at('out/a.py'), at('b.py'))
    expect(await author('b.py:1')).toEqual(ofOrUnknown(first))
  })

  test('files that the user makes do not hide those of runs, however many they are', async () => {
    const first = await say(write('a.py', linesOf('a')))
    for (let file = 0; file < 450; file++) writeFileSync(at(`file-${file}.txt`), linesOf(`file ${file}`, 2))
    await exec('true')
    renameSync(at('a.py'), at('b.py'))
    appendFileSync(at('b.py'), 'by hand\n')
    expect(await author('b.py:1')).toEqual(by(first))
  })

  test('a line that an undo restores while a command runs is not the command’s', async () => {
    const first = await say(write('a.py', linesOf('a')))
    const second = await say(edit('a.py', 'line 5 that a is made of', 'a line of the second run'))
    const running = await begin('true')
    await undo(pool().engine, second)
    running.finish()
    await untilSo(
      async () => (await pool().engine.store.read((rows) => findRun(rows, running.runId)))?.state === 'completed',
    )
    expect([await author('a.py:1'), await author('a.py:5')]).toEqual([by(first), by(first)])
  })

  test('a file that the user and commands change by turns is explained in a moment, however often', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await say(write('b.py', linesOf('a')))
    for (let round = 0; round < 16; round++) {
      for (const file of ['a.py', 'b.py']) writeFileSync(at(file), `${file} by hand ${round}\n${linesOf('a')}`)
      await exec('true')
    }
    const { user } = process.cpuUsage()
    expect(await author('a.py:2')).toEqual(ofOrUnknown(first))
    // One way after another, as it was done once, takes minutes.
    expect(process.cpuUsage().user - user).toBeLessThan(5_000_000)
  })
})
