import { appendFileSync } from 'node:fs'
import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { person } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { write } from './hands.ts'

/** Brackets, empty lines and numbers stay in their place by chance. */
describe.each(databases)('short texts that people change, on %s', (database) => {
  const test = testOn(database, 4)
  const { at, say, exec, sh, put, judge } = everydayHands(database)
  /** An agent writes a file. */
  const begin = async (path: string, content: string) => {
    const agent = await say(write(path, content))
    await later()
    return agent
  }

  // Only lines that any file has are the same ones.
  test('an agent’s object that the user deletes, and another one that the user writes under its name', async () => {
    await begin('a.json', '{\n  "name": "one"\n}\n')
    sh('rm a.json')
    put('a.json', '{\n  "id": 3\n}\n')
    await judge('a.json', () => person)
    await exec('true')
    await judge('a.json', () => person)
  })
  test('an agent’s object in the place of which the user types another one', async () => {
    await begin('c.json', '{\n  "port": 80,\n  "list": [\n  ]\n}\n')
    put('c.json', '{\n  "name": "x",\n  "tags": [\n    "a"\n  ]\n}\n')
    await judge('c.json', () => person)
  })
  test('an agent’s object onto which the user moves one of his own', async () => {
    await begin('c.json', '{\n  "port": 80\n}\n')
    put('mine.json', '{\n  "name": "x"\n}\n')
    await later()
    sh('mv mine.json c.json')
    await judge('c.json', () => person)
  })
  test('paragraphs of an agent that the user replaces, with empty lines between them', async () => {
    await begin('a.md', '# One\n\ntext of one\n\nmore of one\n')
    put('a.md', '# Two\n\ntext of two\n\nmore of two\n')
    await judge('a.md', () => person)
  })
  test('an agent’s file that the user renames, and another one with the same head under its old name', async () => {
    const head = '# Copyright the team\n# All rights reserved\nimport os\nimport sys\n\n'
    const agent = await begin('a.py', head + linesOf('a', 6))
    await exec('true')
    sh('mv a.py b.py')
    await later()
    put('a.py', head + linesOf('mine', 6))
    await later()
    await exec('true')
    await judge('a.py', () => person)
    await judge('b.py', () => agent, { isClean: true })
  })

  // Other lines tell that it is the same file.
  test('numbers of an agent, to which the user adds one, or of which the user changes or removes one', async () => {
    const agent = await begin('n.txt', '1\n2\n3\n')
    appendFileSync(at('n.txt'), '4\n')
    await judge('n.txt', (text) => (text === '4' ? person : agent), { isClean: true })
    put('n.txt', '1\n2\n3\n5\n')
    await judge('n.txt', (text) => (text === '5' ? person : agent), { isClean: true })
    put('n.txt', '1\n3\n')
    await judge('n.txt', () => agent, { isClean: true })
  })
  test('an agent’s settings of which the user changes one', async () => {
    const agent = await begin('c.json', '{\n  "port": 80,\n  "host": "a"\n}\n')
    put('c.json', '{\n  "port": 81,\n  "host": "a"\n}\n')
    await judge('c.json', (text) => (text.includes('81') ? person : agent), { isClean: true })
  })

  // Times tell where it is from.
  test('a folder of an agent with a version of three letters, which the user copies with its times', async () => {
    const agent = await begin('a/VERSION', '1.0\n')
    put('mine/VERSION', '1.0\n')
    await later()
    sh('cp -rp a b; cp -rp mine other')
    await judge('b/VERSION', () => agent, { isClean: true })
    await judge('other/VERSION', () => person, { isClean: true })
    await exec('true')
    await judge('b/VERSION', () => agent, { isClean: true })
    await judge('other/VERSION', () => person, { isClean: true })
  })
})
