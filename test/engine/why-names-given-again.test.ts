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

describe.each(databases)('a command that gives the name of a file to another one, on %s', (database) => {
  const test = testOn(database)
  const { say, exec, put, judge } = everydayHands(database)
  const isClean = true

  test('a log that is rotated, and begins as the one before', async () => {
    put('log.sh', 'echo "=== the log of the server ==="\necho "level is info, format is text"\necho "request $1"\n')
    const first = await exec('bash log.sh one > app.log')
    const second = await exec('mv app.log app.log.1; bash log.sh two > app.log')
    await judge('app.log.1', () => first, { isClean })
    await judge('app.log', () => second)
  })

  test('a folder that is put aside and generated anew', async () => {
    const first = await say(write('pkg/a.txt', linesOf('a')), write('pkg/b.txt', linesOf('b')))
    const second = await exec(`mv pkg old; mkdir pkg; (${print('a', 9)}; ${print('n', 3)}) > pkg/a.txt`)
    await judge('old/a.txt', () => first, { isClean })
    await judge('old/b.txt', () => first, { isClean })
    await judge('pkg/a.txt', () => second)
  })

  test('files that are renamed by number, with a new first one', async () => {
    const one = await say(write('1.txt', linesOf('one')))
    const two = await say(write('2.txt', linesOf('two')))
    const third = await exec(`mv 2.txt 3.txt; mv 1.txt 2.txt; (${print('one', 9)}) > 1.txt`)
    await judge('3.txt', () => two, { isClean })
    await judge('2.txt', () => one, { isClean })
    await judge('1.txt', () => third)
  })

  test('lines of the command’s own text are its own under a name that it took from another file', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    const second = await exec(`mv a.txt b.txt; cat > a.txt <<X\n${linesOf('a', 9)}${linesOf('b', 3)}X`)
    await judge('a.txt', () => second, { isClean })
    await judge('b.txt', () => first, { isClean })
  })

  test.each([
    `mv a.txt a.bak; sed 's/line 5/line five/' a.bak > a.txt`,
    `sed -i.bak 's/line 5/line five/' a.txt; mv a.txt.bak a.bak`,
    `perl -i.bak -pe 's/line 5/line five/' a.txt; mv a.txt.bak a.bak`,
    `sed 's/line 5/line five/' a.txt > t; mv a.txt a.bak; mv t a.txt`,
    `python3 -c "
import os
text = open('a.txt').read()
os.rename('a.txt', 'a.bak')
open('a.txt', 'w').write(text.replace('line 5', 'line five'))"`,
  ])('a file that is changed while its old one is kept keeps its authors: %s', async (command) => {
    const first = await say(write('a.txt', linesOf('a')))
    const second = await exec(command)
    await judge('a.bak', () => first, { isClean })
    await judge('a.txt', (text) => (text.includes('five') ? second : first), { isClean })
  })

  test.each([
    ['cp template.txt a.txt', '.'],
    ['mv a.txt b.txt; cp template.txt a.txt', '.'],
    ['cat template.txt > a.txt', '.'],
    ['cp template.txt a.txt', 'sub'],
  ])(
    'a file of the user that is copied onto an agent’s is theirs, whatever both have: %s in %s',
    async (command, cwd) => {
      put(`${cwd}/template.txt`, linesOf('a', 8) + linesOf('template', 4))
      await later()
      await say(write(`${cwd}/a.txt`, linesOf('a')))
      await say({ name: 'exec', input: { command, cwd } })
      await judge(`${cwd}/a.txt`, () => person, { isClean })
    },
  )

  test('an agent’s file that is copied onto one of the user is the agent’s, whatever both have', async () => {
    put('b.txt', linesOf('a', 6) + linesOf('user', 6))
    const first = await say(write('a.txt', linesOf('a')))
    await exec('cp a.txt b.txt')
    await judge('b.txt', () => first, { isClean })
  })
})
