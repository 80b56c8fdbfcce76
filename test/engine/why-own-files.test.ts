import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { undo } from '../../src/engine/files/undo.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { commandHands } from './command-hands.ts'
import { noRun, notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater } from './file-clock.ts'
import { write } from './hands.ts'

const linesOf = (name: string, count = 12) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} that ${name} is made of\n`).join('')

/** A file of the user that looks like an agent's is not told as a copy of that. */
describe.each(databases)('files of the user, on %s', (database) => {
  const test = testOn(database)
  const { at, say, sayIn, talk, exec, author } = commandHands(database)
  const cat = { name: 'exec', input: { command: 'cat mine.py' } }
  const changes = {
    'changed in its place': () => appendFileSync(at('mine.py'), 'one more of my own\n'),
    // As many editors and git do.
    'replaced by a new file': () => execFileSync('sed', ['-i', 's/line 7 that/line seven that/', at('mine.py')]),
    'written anew as it was': () => {
      rmSync(at('mine.py'))
      writeFileSync(at('mine.py'), linesOf('mine'))
    },
  }
  const copies = {
    'by a command': (label: string, text: string) => talk(label, 'copy it', [cat], [write('agents.py', text)]),
    'in an earlier turn': async (label: string, text: string) => {
      await talk(label, 'show it', [cat])
      await talk(label, 'copy it', [write('agents.py', text)])
    },
    'in a message': (label: string, text: string) =>
      talk(label, `here it is:\n${linesOf('mine')}`, [write('agents.py', text)]),
  }
  const pairs = Object.entries(copies).flatMap(([seen, copy]) =>
    Object.entries(changes).map(([changed, change]) => ({ seen, changed, copy, change })),
  )

  test.each(pairs)('that an agent saw $seen and copied stay the user’s if $changed', async ({ copy, change }) => {
    // In sessions of their own: one that has used the network asks before its next command.
    for (const [label, more] of Object.entries({ exact: '', changed: 'a line of the agent\n' })) {
      writeFileSync(at('mine.py'), linesOf('mine'))
      await untilFilesAreLater()
      await copy(label, linesOf('mine') + more)
      await untilFilesAreLater()
      change()
      expect(await author('mine.py:3')).toEqual(noRun)
      rmSync(at('mine.py'))
    }
  })
  test.each(Object.entries(changes))(
    'of which a command made another one stay the user’s if %s, also if that is gone',
    async (_, change) => {
      writeFileSync(at('mine.py'), linesOf('mine'))
      await untilFilesAreLater()
      await exec('sed "s/line 2 that/line two that/" mine.py > agents.py')
      await untilFilesAreLater()
      change()
      expect(await author('mine.py:3')).toEqual(noRun)
      rmSync(at('agents.py'))
      expect(await author('mine.py:3')).toEqual(noRun)
    },
  )
  test('that are like one of an agent are not told as copies of it, since both may be from elsewhere', async () => {
    await say(write('LICENSE', linesOf('the licence', 20)))
    await untilFilesAreLater()
    writeFileSync(at('OWN'), `Copyright by me\n${linesOf('the licence', 20)}`)
    expect(await author('OWN:3')).toEqual(noRun)
  })
  test('above the folder of a session are not told as copies of what is there', async () => {
    mkdirSync(at('below'))
    await sayIn(at('below'), write('LICENSE', linesOf('the licence')))
    await untilFilesAreLater()
    writeFileSync(at('LICENSE'), linesOf('the licence'))
    expect(await author('LICENSE:3')).toEqual(noRun)
  })
})

describe.each(databases)('files that changed places, on %s', (database) => {
  const test = testOn(database)
  const { pool, at, say, author } = commandHands(database)

  test('and were changed are not told as what was there before, though both begin alike', async () => {
    const first = await say(write('a.py', linesOf('both', 4) + linesOf('a', 10)))
    const second = await say(write('b.py', linesOf('both', 4) + linesOf('b', 10)))
    await untilFilesAreLater()
    renameSync(at('a.py'), at('c.py'))
    renameSync(at('b.py'), at('a.py'))
    renameSync(at('c.py'), at('b.py'))
    appendFileSync(at('a.py'), 'by hand\n')
    expect(await author('a.py:2')).toEqual(notOf(first))
    expect(await author('a.py:7')).toEqual(ofOrUnknown(second))
    expect(await author('b.py:2')).toEqual(ofOrUnknown(first))
    appendFileSync(at('b.py'), 'by hand\n')
    expect(await author('a.py:2')).toEqual(notOf(first))
    expect(await author('b.py:2')).toEqual(notOf(second))
    expect(await author('b.py:7')).toEqual(ofOrUnknown(first))
  })
  test('is not denied to its run if a copy comes back after an undo', async () => {
    const run = await say(write('a.py', linesOf('a')))
    cpSync(at('a.py'), at('kept'))
    await undo(pool().engine, run)
    await untilFilesAreLater()
    renameSync(at('kept'), at('a.py'))
    expect(await author('a.py:3')).toEqual(ofOrUnknown(run))
  })
})
