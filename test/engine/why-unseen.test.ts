import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { why } from '../../src/engine/why/why.ts'
import { databases } from '../setup/places.ts'
import { untilSo } from '../setup/until.ts'
import { type Hands, newHands, planned, write } from './hands.ts'
import { unconfinedExec } from './unconfined-exec.ts'

type Calls = Parameters<typeof planned>[0][string][number]

const text = 'first line of all\nsecond line of all\nthird line of all\n'

describe.each(databases)('what no survey has seen, on %s', (database) => {
  let pool: Hands
  let plans: Record<string, Calls[]>
  let said: number
  let elsewhere: string
  beforeEach(async () => {
    plans = {}
    said = 0
    elsewhere = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-elsewhere-')))
    pool = await newHands(database, planned(plans), [await unconfinedExec()])
    await pool.work()
  })
  afterEach(async () => {
    await pool.remove()
    rmSync(elsewhere, { recursive: true, force: true })
  })
  const say = (...calls: Calls) => {
    const words = `do ${++said}`
    plans[words] = [calls]
    return pool.ask(words, `session-${said}`)
  }
  const exec = (command: string) => say({ name: 'exec', input: { command } })
  /** A command that has done its work and waits. */
  const begin = async (command: string) => {
    const words = `do ${++said}`
    const [done, go] = [join(elsewhere, `done-${said}`), join(elsewhere, `go-${said}`)]
    execFileSync('mkfifo', [go])
    plans[words] = [[{ name: 'exec', input: { command: `${command}; touch '${done}'; cat '${go}'` } }]]
    const { runId } = await pool.say(words, { folder: pool.folder, label: `session-${said}` })
    await untilSo(() => existsSync(done))
    return { runId: runId ?? '', finish: () => writeFileSync(go, '') }
  }
  const ask = (reference: string) =>
    why(
      { store: pool.engine.store, protect: nothingProtected, budget: { usd: 5, tokens: 1000 } },
      pool.folder,
      reference,
    )
  const author = async (reference: string) => (await ask(reference)).file?.author
  const unknown = (...runIds: string[]) => ({ by: 'unknown', since: expect.anything(), runIds })

  test('while a command runs, nobody is denied what it writes, and nothing is told as moved by hand', async () => {
    const first = await say(write('app.py', text))
    const running = await begin("mv app.py core.py; printf 'by the command\\n' > new.py")
    expect(await author('new.py:1')).toEqual(unknown(running.runId))
    expect((await ask('core.py:1')).chain.map(({ how, id }) => `${how} ${id}`)).toEqual([
      'asked about core.py:1',
      'moved from app.py:1',
      `written by ${first}`,
      expect.stringMatching(/^you said/),
    ])
    running.finish()
    await untilSo(async () => (await author('new.py:1'))?.by === 'run')
    expect(await author('new.py:1')).toEqual({ by: 'run', runId: running.runId })
  })

  test('what a cancelled command left is unknown, and names its run', async () => {
    await say(write('app.py', text))
    const running = await begin("printf 'by the command\\n' | tee new.py >> app.py")
    await cancel(pool.engine, running.runId, 'stop')
    expect(await author('new.py:1')).toEqual(unknown(running.runId))
    expect(await author('app.py:4')).toEqual(unknown(running.runId))
    // Later versions change nothing about it.
    await say(write('new.py', 'by the command\nby a tool\n'))
    expect(await author('new.py:1')).toEqual(unknown(running.runId))
  })

  test('a change during the commands of two runs is unknown while one of them still runs', async () => {
    const running = await begin("printf 'by one of both\\n' > new.py")
    const other = await exec("printf 'by the other\\n' > other.py; printf 'more\\n' >> new.py")
    expect(await author('other.py:1')).toEqual(unknown(other, running.runId))
    running.finish()
    await untilSo(async () => {
      const found = await author('other.py:1')
      return found?.by === 'unknown' && found.runIds.length === 2
    })
    expect(await author('new.py:2')).toMatchObject({ by: 'unknown' })
  })

  test('files that a command swaps or rotates are followed to who wrote their lines', async () => {
    const [other, third] = [text.replaceAll('all', 'others'), text.replaceAll('all', 'thirds')]
    const first = await say(write('a.txt', text))
    const second = await say(write('b.txt', other))
    await exec('mv a.txt t; mv b.txt a.txt; mv t b.txt')
    expect([await author('a.txt:1'), await author('b.txt:1')]).toEqual([
      { by: 'run', runId: second },
      { by: 'run', runId: first },
    ])
    const last = await exec(`mv a.txt a.1; mv b.txt a.txt; printf '${third.replaceAll('\n', '\\n')}' > b.txt`)
    expect([await author('a.1:1'), await author('a.txt:1'), await author('b.txt:1')]).toEqual([
      { by: 'run', runId: second },
      { by: 'run', runId: first },
      { by: 'run', runId: last },
    ])
  })

  test('a file written by hand is not told as moved because it begins like one that is gone', async () => {
    const head = '#!/usr/bin/env python3\nimport os\nimport sys\nimport json\n\n'
    const run = await say(write('gone.py', `${head}def main():\n    print("agent")\n\nmain()\n`))
    rmSync(join(pool.folder, 'gone.py'))
    pool.put('own.py', `${head}def other():\n    return 1\n\ndef third():\n    return 2\n\nclass Mine:\n    pass\n`)
    expect(await author('own.py:2')).toEqual({ by: 'unknown', since: null, runIds: [run] })
    expect(await author('own.py:6')).toEqual({ by: 'before' })
  })

  test('a line of a link is a line of the file that it leads to', async () => {
    const first = await say(write('app.py', text))
    await exec('ln -s app.py link.py')
    expect(await author('link.py:1')).toEqual({ by: 'run', runId: first })
    pool.put('own.txt', 'mine\n')
    symlinkSync('own.txt', join(pool.folder, 'mine.txt'))
    expect(await author('mine.txt:1')).toEqual({ by: 'before' })
  })
})
