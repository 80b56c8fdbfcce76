import { appendFileSync, readFileSync } from 'node:fs'
import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { person } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { read, write } from './hands.ts'

const page = (path: string, offset: number, limit: number) => ({ name: 'read_file', input: { path, offset, limit } })

describe.each(databases)('lines that an agent read in a file of the user, on %s', (database) => {
  const test = testOn(database, 4)
  const { at, say, exec, talk, sh, put, judge } = everydayHands(database)
  /** The user writes a file, an agent reads it and writes another one. */
  const readAndWrite = async (mine: string, theirs: string, ...reads: ReturnType<typeof read>[]) => {
    put('mine.py', mine)
    await later()
    const agent = await talk('reader', 'write one like it', reads, [write('theirs.py', theirs)])
    await later()
    return agent
  }

  test('of which the agent wrote only a part are the agent’s where the user takes them over', async () => {
    const mine = 'import os.path as path\nvalue = 10\nreturn items.map(one)\n'
    const added = ['import os', 'value = 1', 'return items', 'and a line of the agent']
    const agent = await readAndWrite(mine, `${mine}${added.join('\n')}\n`, read('mine.py'))
    sh('cp -p theirs.py mine.py')
    await judge('mine.py', (text) => (added.includes(text) ? agent : [agent, person]))
    sh('cp theirs.py mine.py; echo mine >> mine.py')
    await judge('mine.py', (text) => (added.includes(text) ? agent : text === 'mine' ? person : [agent, person]))
  })
  test('and which the agent wrote more often may be the agent’s where the user takes its file over', async () => {
    const method = (name: string) => `def ${name}():\n    return None of them\n`
    const agent = await readAndWrite(method('a'), method('a') + method('b') + method('c'), read('mine.py'))
    sh('cp -p theirs.py mine.py')
    await judge('mine.py', (_, line) => (line > 2 ? agent : [agent, person]))
  })
  test('may be the agent’s where the user adds lines of its file, if it read one such line of several', async () => {
    const mine = `${linesOf('mine', 3)}a line that comes again\n${linesOf('more', 3)}`
    const theirs = `${linesOf('theirs', 6)}a line that comes again\n`
    const agent = await readAndWrite(mine, theirs, page('mine.py', 1, 4))
    put('mine.py', mine + theirs)
    await judge('mine.py', (_, line) => (line > 7 ? agent : person))
  })
  test('page by page stay the user’s, also those that come again', async () => {
    const mine = `${linesOf('mine', 3)}a line that comes again\n\n${linesOf('more', 3)}a line that comes again\n`
    await readAndWrite(mine, `${mine}and a line of the agent\n`, page('mine.py', 1, 5), page('mine.py', 4, 9))
    appendFileSync(at('mine.py'), 'by the user\n')
    await judge('mine.py', () => person, { isClean: true })
    put('mine.py', readFileSync(at('mine.py'), 'utf8').replace('a line that comes again\n\n', '\n'))
    await judge('mine.py', () => person, { isClean: true })
  })
  test('are not the user’s if agents wrote the file, and the user swaps both', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await later()
    const reader = await talk(
      'reader',
      'write one like it',
      [read('a.py')],
      [write('b.py', `${linesOf('a')}and more\n`)],
    )
    await exec("sed -i 's/line 3 /line three /' a.py")
    await later()
    const [a, b] = ['a.py', 'b.py'].map((path) => readFileSync(at(path), 'utf8'))
    put('a.py', b ?? '')
    put('b.py', a ?? '')
    await judge('a.py', () => [first, reader])
  })
})
