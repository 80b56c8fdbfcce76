import { appendFileSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { why } from '../../src/engine/why/why.ts'
import { recordFileChange } from '../../src/store/rows/file-changes.ts'
import { hashOf } from '../../src/tools/files/content-hash.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { commandHands, threeLines as text } from './command-hands.ts'
import { testTool } from './engine.ts'
import { edit, type Hands, newHands, planned, write } from './hands.ts'

/** A command that changes app.py while nothing is surveyed. */
function unseenCommand(pool: () => Hands): Tool {
  const scan = {
    ...testTool('scan', 'unsafe', () => 'done'),
    touchesFolder: true,
    run: async () => {
      pool().put('app.py', `${text}from an unseen command\n`)
      return { status: 'ok', output: 'done', touched: { unseen: 'scanning took too long' } }
    },
  }
  return scan as unknown as Tool
}

describe.each(databases)('lines that commands and hands move and change, on %s', (database) => {
  const test = testOn(database)
  const { pool, elsewhere, at, say, exec, ask, way } = commandHands(database, (each) => [unseenCommand(each)])
  /** For each line the run at the end of the files and commands that it came through, else what is said instead. */
  const authors = async (path: string, lines: number) => {
    const found: string[] = []
    for (let line = 1; line <= lines; line++) {
      const { chain, notes } = await ask(`${path}:${line}`)
      const writer = chain.find(({ how }) => how === 'written by' || how === 'changed during')
      found.push(writer?.id ?? notes[0]?.text ?? '')
    }
    return found
  }
  const asTurn = expect.stringMatching(/^you said [0-9a-z]{20}$/)

  test('a content that returns is the work of the run that brought it back', async () => {
    const first = await say(write('app.py', text))
    const second = await say(edit('app.py', 'second line of all', 'other'))
    const third = await say(write('app.py', text))
    expect(second).not.toBe(first)
    expect(await authors('app.py', 3)).toEqual([first, third, first])
  })

  test('what was removed and is written again word for word is the work of who wrote it again', async () => {
    await say(write('app.py', text))
    await exec('rm app.py')
    const again = await say(write('app.py', text))
    expect(await authors('app.py', 3)).toEqual([again, again, again])
    rmSync(at('app.py'))
    const last = await say(write('app.py', text))
    expect(await authors('app.py', 3)).toEqual([last, last, last])
  })

  test('a line of a file that a command moved is followed through the move to the edit', async () => {
    const first = await say(write('app.py', text))
    const second = await say(edit('app.py', 'second line of all', 'second line, edited'))
    const mover = await exec('mkdir lib && mv app.py lib/core.py')
    expect(await way('lib/core.py:2')).toEqual([
      'asked about lib/core.py:2',
      `moved by ${mover}`,
      'moved from app.py:2',
      `written by ${second}`,
      asTurn,
    ])
    expect(await authors('lib/core.py', 3)).toEqual([first, second, first])
  })

  test('a short file that a command moved keeps its author', async () => {
    const first = await say(write('VERSION', '1.2\n'))
    await exec('mkdir lib && mv VERSION lib/VERSION')
    expect(await authors('lib/VERSION', 1)).toEqual([first])
  })

  test('a command that moves a file and changes it is the author of what it changed', async () => {
    const first = await say(write('app.py', text))
    const mover = await exec("mv app.py core.py && printf 'added by the command\\n' >> core.py")
    expect(await authors('core.py', 4)).toEqual([first, first, first, mover])
  })

  test('a file that a command wrote, copied or formatted names its run', async () => {
    const first = await say(write('app.py', text))
    const printer = await exec("printf 'x = 1\\n' > new.py")
    expect(await way('new.py:1')).toEqual(['asked about new.py:1', `changed during ${printer}`, asTurn])
    const copier = await exec('cp app.py copy.py')
    expect(await way('copy.py:1')).toEqual([
      'asked about copy.py:1',
      `copied by ${copier}`,
      'copied from app.py:1',
      `written by ${first}`,
      asTurn,
    ])
    const formatter = await exec("sed -i 's/second/SECOND/' app.py")
    expect(await authors('app.py', 3)).toEqual([first, formatter, first])
    const { file, notes } = await ask('app.py')
    expect(file).toMatchObject({
      writers: [
        { runId: first, lines: 2 },
        { runId: formatter, lines: 1 },
      ],
      others: 0,
    })
    expect(notes).toEqual([])
  })

  test('what was changed by hand before a command is not the work of the command', async () => {
    const first = await say(write('app.py', text))
    appendFileSync(at('app.py'), 'by hand\n')
    const formatter = await exec("sed -i 's/second/SECOND/' app.py")
    const outside = 'line 4 was changed outside heddle: by hand or by another program'
    expect(await authors('app.py', 4)).toEqual([first, formatter, first, outside])
  })

  test('a file or folder that was renamed by hand is followed by its content, and told as such', async () => {
    const first = await say(write('src/app.py', text))
    const second = await say(edit('src/app.py', 'second line of all', 'second line, edited'))
    renameSync(at('src'), at('lib'))
    expect(await way('lib/app.py:2')).toEqual([
      'asked about lib/app.py:2',
      'moved by hand src/app.py:2',
      `written by ${second}`,
      asTurn,
    ])
    expect(await way('lib/app.py')).toEqual(['asked about lib/app.py', 'moved by hand src/app.py'])
    appendFileSync(at('lib/app.py'), 'by hand\n')
    const third = await say(edit('lib/app.py', 'third line of all', 'third line, edited'))
    const outside = expect.stringContaining('line 4 was')
    expect(await authors('lib/app.py', 4)).toEqual([first, second, third, outside])
    const moved = join(elsewhere(), 'project')
    renameSync(pool().folder, moved)
    mkdirSync(pool().folder)
    expect((await way('lib/app.py:3', moved)).slice(1, 3)).toEqual([
      `moved by hand ${pool().folder}/lib/app.py:3`,
      `written by ${third}`,
    ])
  })

  test('after a command that no survey saw, the author is unknown since the version before, not nobody', async () => {
    const first = await say(write('app.py', text))
    const scanned = await say({ name: 'scan', input: {} })
    const { file, notes } = await ask('app.py:4')
    expect(file?.author).toEqual({ by: 'unknown', since: expect.any(String), runIds: [scanned] })
    expect(notes[0]?.text).toMatch(/^unknown since \d{4}-\d\d-\d\d \d\d:\d\d who wrote line 4: /)
    expect((await ask('app.py:1')).file?.author).toEqual({ by: 'run', runId: first })
  })
})

test('the first line of a file keeps its author however many versions there are', async () => {
  const count = 600
  const version = (at: number) => `the first line\nversion ${at}\n`
  const pool = await newHands('sqlite', planned({ start: [[write('log.md', version(0))]], go: [] }))
  await pool.work()
  const [first, second] = [await pool.ask('start'), await pool.ask('go', 'other')]
  await pool.engine.store.write('step', async (tx) => {
    for (let at = 0; at < count; at++) {
      const [before, after] = [hashOf(Buffer.from(version(at))), hashOf(Buffer.from(version(at + 1)))]
      const call = { runId: second, callId: `call-${at}`, folder: pool.folder, path: 'log.md', mode: 0o644, at }
      await recordFileChange(tx, { ...call, before, after, lineMap: '0,0,1', lineHashes: '' }, undefined)
    }
  })
  pool.put('log.md', version(count))
  const context = { store: pool.engine.store, protect: nothingProtected, budget: { usd: 5, tokens: 1000 } }
  const writerOf = async (line: number) => (await why(context, pool.folder, `log.md:${line}`)).chain[1]
  expect(await writerOf(1)).toMatchObject({ how: 'written by', id: first })
  expect(await writerOf(2)).toMatchObject({ how: 'written by', id: second, callId: `call-${count - 1}` })
  await pool.remove()
})
