import { renameSync, writeFileSync } from 'node:fs'
import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { person } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { write } from './hands.ts'

describe.each(databases)('a file of an agent that people move onto another one, on %s', (database) => {
  const test = testOn(database, 4)
  const { at, say, exec, sh, put, judge, check } = everydayHands(database)
  /** Saves as many editors do: a new file takes the place of the old one. */
  const saveAtomically = (path: string, content: string) => {
    writeFileSync(at(`${path}.tmp`), content)
    renameSync(at(`${path}.tmp`), at(path))
  }
  /** Two agents write two files. */
  const begin = async (first: readonly [string, string], second: readonly [string, string]) => {
    const runs = [await say(write(...first)), await say(write(...second))] as const
    await later()
    return runs
  }

  test('and then save by an editor that replaces it, with a line that both had', async () => {
    const [first] = await begin(['a.env', 'PORT=80\nHOST=local\n'], ['b.env', 'PORT=90\nHOST=local\n'])
    sh('mv a.env b.env')
    saveAtomically('b.env', 'PORT=81\nHOST=local\n')
    const isRight = (text: string) => (text.startsWith('PORT') ? person : first)
    await judge('b.env', isRight)
    await later()
    await exec('true')
    await judge('b.env', isRight)
  })
  test('and then save by an editor that replaces it, if the other one had all of it and more', async () => {
    const [first] = await begin(['a.md', linesOf('both', 4)], ['b.md', linesOf('both', 4) + linesOf('b', 4)])
    sh('mv a.md b.md')
    saveAtomically('b.md', `${linesOf('both', 4)}mine\n`)
    await judge('b.md', (text) => (text === 'mine' ? person : first))
  })
  test('is no doubt if they delete it, and change the other one where it is', async () => {
    const [, second] = await begin(['a.md', linesOf('both', 4)], ['b.md', linesOf('both', 4) + linesOf('b', 4)])
    sh('rm a.md')
    put('b.md', `${linesOf('both', 4)}mine\n`)
    await judge('b.md', (text) => (text === 'mine' ? person : second), { isClean: true })
  })
  test('is no doubt if they delete it, and it lacked a line that stayed in the other one', async () => {
    const [, second] = await begin(['a.md', linesOf('both', 4)], ['b.md', linesOf('both', 4) + linesOf('b', 4)])
    sh('rm a.md')
    saveAtomically('b.md', `${linesOf('both', 4) + linesOf('b', 3)}mine\n`)
    await judge('b.md', (text) => (text === 'mine' ? person : second), { isClean: true })
  })
  // The other one had all of these lines, too, but in no better order.
  test('and write anew by an agent once it is removed, if they move lines in it', async () => {
    await say(write('a.md', linesOf('both')))
    sh('mv a.md b.md')
    await exec('rm b.md')
    const second = await say(write('b.md', linesOf('both')))
    await later()
    const [first = '', ...others] = linesOf('both').split('\n').slice(0, -1)
    put('b.md', [...others, first, 'mine', ''].join('\n'))
    await check('b.md:1', { by: 'run', runId: second })
    await check('b.md:11', { by: 'run', runId: second })
    await judge('b.md', (text) => (text === 'mine' ? person : text === first ? [second, person] : second))
  })
})
