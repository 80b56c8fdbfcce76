import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { person } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { write } from './hands.ts'

/** A shell command that prints lines which are not in its text. */
const print = (name: string, count: number, from = 1) =>
  `for n in $(seq ${from} ${count}); do echo "line $n that ${name} is made of"; done`

describe.each(databases)('what a command makes while it takes files away, on %s', (database) => {
  const test = testOn(database)
  const { say, exec, sh, put, judge, begin } = everydayHands(database)
  const isClean = true

  test('a build that replaces two files by one with most of their lines', async () => {
    await exec(`mkdir dist; ${print('x', 12)} > dist/x.1.js; ${print('y', 12)} > dist/y.1.js`)
    await later()
    const build = await exec(`rm -rf dist; mkdir dist; (${print('x', 9)}; ${print('y', 8)}) > dist/all.2.js`)
    await judge('dist/all.2.js', () => build)
  })

  test('a generator writes to an index what a file had that it removes', async () => {
    await say(write('old.txt', linesOf('old')))
    const index = await say(write('index.txt', linesOf('index')))
    const made = await exec(`rm old.txt; (${print('index', 12)}; ${print('old', 12)}) > index.txt`)
    await judge('index.txt', (text) => (text.includes('index') ? [index, made] : made))
  })

  test('a generator shortens one file and writes the same lines to another one', async () => {
    await say(write('a.txt', linesOf('a', 20)))
    const b = await say(write('b.txt', linesOf('b')))
    const made = await exec(`sed -i '11,20d' a.txt; (${print('a', 20, 11)}) >> b.txt`)
    await judge('b.txt', (text) => (text.includes('a is') ? made : b))
  })

  test('a person appends lines to a file while a command removes another one with them', async () => {
    put('notes.txt', linesOf('notes'))
    await say(write('a.txt', linesOf('a')))
    await later()
    const remover = await begin('rm a.txt')
    sh(`(${print('a', 9)}) >> notes.txt`)
    remover.finish()
    await exec('true')
    await judge('notes.txt', () => [person, remover.runId])
  })

  test('lines of the command’s own text are its own, whatever it removes', async () => {
    await say(write('a.txt', linesOf('a')), write('c.txt', linesOf('c')))
    const made = await exec(`rm a.txt c.txt; cat > b.txt <<X\n${linesOf('a')}${linesOf('c')}X`)
    await judge('b.txt', () => made, { isClean })
  })

  test('lines that steps of a command take from the files which it removes keep their authors', async () => {
    const a = await say(write('a.txt', linesOf('a')))
    const c = await say(write('c.txt', linesOf('c')))
    const taker = await exec(
      '(echo "a heading for both of them"; cat a.txt; tail -n 9 c.txt) > t; mv t b.txt; rm a.txt c.txt',
    )
    await judge('b.txt', (text) => (text.includes('a is') ? a : text.includes('c is') ? c : taker), { isClean })
  })

  test('lines that code takes from one file to another keep their authors', async () => {
    const a = await say(write('a.txt', linesOf('a', 20)))
    const b = await say(write('b.txt', linesOf('b')))
    await exec(`python3 -c "
lines = open('a.txt').readlines()
open('a.txt', 'w').writelines(lines[:10])
open('b.txt', 'a').writelines(lines[10:])"`)
    await judge('b.txt', (text) => (text.includes('a is') ? a : b), { isClean })
    await judge('a.txt', () => a, { isClean })
  })

  test('a copy that the command overwrites is its own work', async () => {
    await say(write('a.txt', linesOf('a')))
    const made = await exec(`cp a.txt b.txt; (${print('a', 9)}; ${print('b', 3)}) > b.txt`)
    await judge('b.txt', () => made)
  })
})
