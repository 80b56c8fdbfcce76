import { readFileSync } from 'node:fs'
import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands } from './everyday-hands.ts'
import { person } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

describe.each(databases)('short files of agents that people copy and change, on %s', (database) => {
  const test = testOn(database)
  const { at, say, sh, put, judge } = everydayHands(database)
  const replace = (path: string, from: string, to: string) =>
    put(path, readFileSync(at(path), 'utf8').replace(from, to))

  test('a template that is used twice, once by another agent', async () => {
    const first = await say(write('t.md', '# Title\nDate:\nWho:\nWhat happened:\n'))
    await later()
    sh('cp t.md a.md; cp t.md b.md')
    await later()
    const second = await say(edit('a.md', 'Who:', 'Who: agent'))
    await later()
    replace('b.md', 'Who:', 'Who: me')
    await judge('a.md', (text) => (text === 'Who: agent' ? second : first))
    await judge('b.md', (text) => (text === 'Who: me' ? person : first))
  })
  test('a report, of which each month’s is made from the last one', async () => {
    const agent = await say(write('r1.md', '# Report\n\n## Numbers\n\n- sold: 10\n- open: 2\n'))
    await later()
    sh('cp r1.md r2.md')
    replace('r2.md', '10', '12')
    await later()
    sh('cp r2.md r3.md')
    replace('r3.md', '12', '14')
    for (const path of ['r2.md', 'r3.md'])
      await judge(path, (text) => (text.startsWith('- sold') ? person : text === '' ? [agent, person] : agent))
  })
  test('a file of the user that has little of it is the user’s', async () => {
    await say(write('r1.md', '# Report\n\n## Numbers\n\n- sold: 10\n- open: 2\n'))
    await later()
    put('mine.md', '# Report\n\nAll of it went well.\nNobody complained.\n')
    await judge('mine.md', () => person, { isClean: true })
  })
})
