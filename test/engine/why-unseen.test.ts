import { appendFileSync, cpSync, linkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { undo } from '../../src/engine/files/undo.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import type { EndedStep } from '../../src/engine/run/context/journal.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import type { Reading } from '../../src/store/store.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'
import { commandHands, threeLines as text } from './command-hands.ts'
import { edit, write } from './hands.ts'

describe.each(databases)('what no survey has seen, on %s', (database) => {
  const test = testOn(database)
  const { pool, elsewhere, at, say, exec, begin, restart, ask, author, way } = commandHands(database)
  const unknown = (...runIds: string[]) => ({ by: 'unknown', since: expect.anything(), runIds })
  const ended = (runId: string, state = 'completed') =>
    untilSo(async () => (await pool().engine.store.read((rows) => findRun(rows, runId)))?.state === state)
  const stop = async ({ runId }: { runId: string }) => {
    await cancel(pool().engine, runId, 'stop')
    await ended(runId, 'cancelled')
  }

  test('while a command runs, nobody is denied what it writes, and nothing is told as moved by hand', async () => {
    const first = await say(write('app.py', text))
    const running = await begin("mv app.py core.py; printf 'by the command\\n' > new.py")
    expect(await author('new.py:1')).toEqual(unknown(running.runId))
    expect(await way('core.py:1')).toEqual([
      'asked about core.py:1',
      'moved from app.py:1',
      `written by ${first}`,
      expect.stringMatching(/^you said/),
    ])
    running.finish()
    await untilSo(async () => (await author('new.py:1'))?.by === 'run')
    expect(await author('new.py:1')).toEqual({ by: 'run', runId: running.runId })
  })

  test('what a cancelled command left until it was killed is told as its work, and what came later is not', async () => {
    const first = await say(write('app.py', text))
    const running = await begin("printf 'by the command\\n' | tee new.py >> app.py")
    await stop(running)
    pool().put('app.py', `${pool().content('app.py')}by hand\n`)
    expect(await author('new.py:1')).toEqual({ by: 'run', runId: running.runId })
    expect([await author('app.py:3'), await author('app.py:4'), await author('app.py:5')]).toEqual([
      { by: 'run', runId: first },
      { by: 'run', runId: running.runId },
      { by: 'outside' },
    ])
    const steps = await pool().engine.store.read((rows) => readSteps(rows, running.runId))
    const ends = steps.filter(({ kind }) => kind === 'ended').map(({ payload }) => payload as EndedStep)
    expect(ends.map(({ status, touched }) => ({ status, touched }))).toEqual([
      { status: 'unknown', touched: expect.objectContaining({ created: ['new.py'], changed: ['app.py'] }) },
    ])
  })

  test('what a command left whose process stopped is unknown, and names its run', async () => {
    await say(write('app.py', text))
    const running = await begin("printf 'by the command\\n' | tee new.py >> app.py")
    await restart()
    await ended(running.runId)
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
    await ended(running.runId)
    expect(await author('other.py:1')).toEqual(unknown(other, running.runId))
    expect(await author('new.py:2')).toEqual(unknown(other, running.runId))
    // The other command found this line already: it is of the first one, or of a hand meanwhile.
    expect(await author('new.py:1')).toEqual(unknown(running.runId))
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
    rmSync(at('gone.py'))
    pool().put('own.py', `${head}def other():\n    return 1\n\ndef third():\n    return 2\n\nclass Mine:\n    pass\n`)
    expect(await author('own.py:2')).toEqual({ by: 'unknown', since: null, runIds: [run] })
    expect(await author('own.py:6')).toEqual({ by: 'before' })
  })

  test('a line of a link is a line of the file that it leads to', async () => {
    const first = await say(write('app.py', text))
    await exec('ln -s app.py link.py')
    expect(await author('link.py:1')).toEqual({ by: 'run', runId: first })
    pool().put('own.txt', 'mine\n')
    symlinkSync('own.txt', at('mine.txt'))
    expect(await author('mine.txt:1')).toEqual({ by: 'before' })
  })

  test('of equal lines around a change by hand, no run is denied one and none is given one that may be the hand’s', async () => {
    const first = await say(write('app.py', `import os\n${text}import os\nlast\n`))
    pool().put('app.py', `import os\nimport os\n${text}import os\nby hand\n  return\nlast\n`)
    expect([await author('app.py:1'), await author('app.py:2')]).toEqual([unknown(first), unknown(first)])
    expect([await author('app.py:6'), await author('app.py:9')]).toEqual([
      { by: 'run', runId: first },
      { by: 'run', runId: first },
    ])
    expect([await author('app.py:7'), await author('app.py:8')]).toEqual([{ by: 'outside' }, { by: 'outside' }])
    expect((await ask('app.py:2')).notes[0]?.text).toMatch(
      /^unknown since .* who wrote line 2: the file was changed outside heddle, and the version before had equal lines \(run:/,
    )
    expect((await ask('app.py')).notes.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^unknown since .* who wrote lines 1-2: the file was changed outside heddle/),
      expect.stringMatching(/^it was changed outside heddle since run:.*: lines 7-8$/),
    ])
    // What the hand had written before, it may have written again.
    pool().put('own.py', `  return\n${text}`)
    const second = await say(edit('own.py', 'third line of all', 'third, by a run'))
    pool().put('own.py', `  return\n  return\n${text.replace('third line of all', 'third, by a run')}`)
    expect([await author('own.py:1'), await author('own.py:2')]).toEqual([{ by: 'before' }, { by: 'before' }])
    expect(await author('own.py:5')).toEqual({ by: 'run', runId: second })
  })

  test('a line that a hand moved within its file is not denied to its run', async () => {
    const first = await say(write('app.py', `${text}fourth line of all\n`))
    pool().put('app.py', 'fourth line of all\nthird line of all\nsecond line of all\nfirst line of all\n')
    const found = await Promise.all([1, 2, 3, 4].map((line) => author(`app.py:${line}`)))
    expect(found.filter((each) => each?.by === 'run')).toEqual([{ by: 'run', runId: first }])
    expect(found.filter((each) => each?.by === 'unknown')).toEqual([unknown(first), unknown(first), unknown(first)])
  })

  test('a file moved and changed by hand keeps no author for a line that may be another equal one', async () => {
    const first = await say(write('app.py', `${text}import os\nlast line of all\n`))
    renameSync(at('app.py'), at('core.py'))
    pool().put('core.py', `${text}import os\nimport os\nlast line of all\n`)
    expect(await author('core.py:3')).toEqual({ by: 'run', runId: first })
    expect([await author('core.py:4'), await author('core.py:5')]).toEqual([
      { by: 'unknown', since: null, runIds: [first] },
      { by: 'unknown', since: null, runIds: [first] },
    ])
  })

  test('a file of a few letters that came there by hand is unknown if a file that is gone had the same, unless it is that one, and no run’s if it is still there', async () => {
    const first = await say(write('a.txt', '1\n2\n3\n'))
    cpSync(at('a.txt'), at('copy.txt'))
    expect([await author('copy.txt:1'), await author('copy.txt:3')]).toEqual([{ by: 'before' }, { by: 'before' }])
    rmSync(at('copy.txt'))
    renameSync(at('a.txt'), at('b.txt'))
    expect([await author('b.txt:1'), await author('b.txt:3')]).toEqual([
      ...[
        { by: 'run', runId: first },
        { by: 'run', runId: first },
      ],
    ])
    cpSync(at('b.txt'), at('c.txt'))
    rmSync(at('b.txt'))
    expect(await author('c.txt:1')).toEqual({ by: 'unknown', since: null, runIds: [first] })
    pool().put('own.txt', 'mine\n')
    expect(await author('own.txt:1')).toEqual({ by: 'before' })
  })

  test('what a command left unseen is not told as a copy of what a run wrote later in the same words', async () => {
    const running = await begin(`printf '${text.replaceAll('\n', '\\n')}' > new.py`)
    await restart()
    await ended(running.runId)
    await say(write('other.py', text))
    await exec('mv new.py core.py')
    expect(await author('core.py:1')).toEqual({ ...unknown(), runIds: expect.arrayContaining([running.runId]) })
  })

  test('what any of several cancelled commands may have left names each of them', async () => {
    const [one, other] = [await begin('touch one'), await begin("printf 'by the other\\n' > new.py")]
    await stop(one)
    await stop(other)
    expect(await author('new.py:1')).toEqual({
      ...unknown(),
      runIds: expect.arrayContaining([one.runId, other.runId]),
    })
  })

  test('what a survey found unchanged after it was recorded was changed by hand later, not by its command', async () => {
    const running = await begin('true')
    await say(write('app.py', text))
    running.finish()
    await ended(running.runId)
    pool().put('app.py', `${text}by hand\n`)
    expect(await author('app.py:4')).toEqual({ by: 'outside' })
  })

  test('a file with several hard links is unknown where it was changed under another name', async () => {
    const first = await say(write('app.py', text))
    linkSync(at('app.py'), join(elsewhere(), 'other.py'))
    appendFileSync(join(elsewhere(), 'other.py'), 'under another name\n')
    expect(await author('app.py:1')).toEqual({ by: 'run', runId: first })
    expect(await author('app.py:4')).toEqual(unknown())
    expect((await ask('app.py:4')).notes[0]?.text).toMatch(
      /^unknown since .* who wrote line 4: the file has several hard links/,
    )
    // A command changes both names.
    const second = await exec("ln app.py same.py; printf 'by a command\\n' >> same.py")
    expect([await author('app.py:5'), await author('same.py:5')]).toEqual([
      { by: 'unknown', since: expect.anything(), runIds: [second] },
      { by: 'unknown', since: expect.anything(), runIds: [second] },
    ])
  })

  test('a line of any of several commands that ran before another one saw it names each of them', async () => {
    await say(write('app.py', text))
    const one = await begin("printf 'by one\\n' >> app.py")
    const other = await begin("printf 'by other\\n' >> app.py")
    await exec("printf 'by the last\\n' >> app.py")
    for (const running of [one, other]) {
      running.finish()
      await ended(running.runId)
    }
    const both = { by: 'unknown', since: expect.anything(), runIds: expect.arrayContaining([one.runId, other.runId]) }
    expect(await author('app.py:4')).toEqual(both)
  })

  test('a command that ran at the same time counts behind a move, too, although it ended after it', async () => {
    await say(write('app.py', text))
    const running = await begin('true')
    const other = await exec("printf 'by one of both\\n' >> app.py")
    await exec('mv app.py core.py')
    running.finish()
    await ended(running.runId)
    expect(await author('core.py:4')).toEqual({
      by: 'unknown',
      since: expect.anything(),
      runIds: expect.arrayContaining([other, running.runId]),
    })
  })

  test('a copy that a hand changed is not denied to a run whose file was removed since, nor to one that wrote it again', async () => {
    const long = text + text.replaceAll('all', 'others') + text.replaceAll('all', 'thirds')
    const first = await say(write('app.py', long))
    cpSync(at('app.py'), at('copy.py'))
    appendFileSync(at('copy.py'), 'by hand\n')
    await exec('rm app.py')
    expect(await author('copy.py:1')).toEqual({ by: 'unknown', since: null, runIds: [first] })
    const again = await say(write('app.py', long))
    appendFileSync(at('copy.py'), 'by hand again\n')
    expect(await author('copy.py:1')).toEqual({
      by: 'unknown',
      since: null,
      runIds: expect.arrayContaining([first, again]),
    })
  })

  test('a short file that begins as many do is no copy of another one, whoever wrote it', async () => {
    const head = '#!/usr/bin/env python3\n# SPDX-License-Identifier: MIT\nimport json\nimport logging\n'
    const first = await say(write('app.py', `${head}print(1)\n`))
    pool().put('by-hand.py', `${head}print(2)\n`)
    const running = await begin(`printf '${head.replaceAll('\n', '\\n')}print(3)\\n' > unseen.py`)
    await restart()
    await ended(running.runId)
    expect((await author('by-hand.py:1'))?.by).toBe('unknown')
    const runIds = expect.arrayContaining([first, running.runId])
    expect(await author('unseen.py:1')).toEqual({ by: 'unknown', since: expect.anything(), runIds })
  })

  test('a file that was moved away by hand before its run was undone keeps its author', async () => {
    const first = await say(write('app.py', text))
    renameSync(at('app.py'), at('core.py'))
    appendFileSync(at('core.py'), 'by hand\n')
    expect((await undo(pool().engine, first)).restored).toEqual([])
    expect([await author('core.py:1'), await author('core.py:4')]).toEqual([
      { by: 'run', runId: first },
      { by: 'before' },
    ])
  })

  /** The author of a line, if this is done after so many of the reads that find it. */
  const authorWhile = async (reference: string, after: number, act: () => Promise<void>) => {
    const { store } = pool().engine
    let reads = 0
    const counted = <R extends Reading>(rows: R): R => ({
      ...rows,
      async all(query) {
        const answer = await rows.all(query)
        if (++reads === after) await act()
        return answer
      },
    })
    const { file } = await ask(reference, pool().folder, {
      ...store,
      read: (body) => store.read((rows) => body(counted(rows))),
      snapshot: (body) => store.snapshot((rows) => body(counted(rows))),
    })
    return file?.author
  }

  test('a command that ends while why reads is denied nothing, after whichever read it ends', async () => {
    for (let after = 1; after <= 12; after++) {
      const running = await begin(`printf 'by the command ${after}\\n' > new-${after}.py`)
      let isOver = false
      const found = await authorWhile(`new-${after}.py:1`, after, async () => {
        isOver = true
        running.finish()
        await ended(running.runId)
      })
      const named = found?.by === 'unknown' ? found.runIds : [found?.by === 'run' && found.runId]
      expect({ after, named }).toEqual({ after, named: [running.runId] })
      if (!isOver) running.finish()
    }
  })

  test('a run that writes a file while why reads is denied nothing, after whichever read it writes', async () => {
    const first = await say(write('app.py', text))
    let words = 'second line of all'
    for (let after = 1; after <= 12; after++) {
      let last = first
      const found = await authorWhile('app.py:2', after, async () => {
        last = await say(edit('app.py', words, `second line, changed ${after} times`))
        words = `second line, changed ${after} times`
      })
      expect({ after, by: found?.by }).toEqual({ after, by: 'run' })
      expect(last).not.toBe('')
    }
  })
})
