import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { person } from './expected-authors.ts'
import { write } from './hands.ts'

const lines = `for n in $(seq 12); do echo "line $n that a is made of"; done > a.txt`

describe.each(databases)('a file that is no text for a while, or is not read, on %s', (database) => {
  const test = testOn(database)
  const { say, exec, sh, judge } = everydayHands(database)

  test('a command makes it binary, and another one a text again', async () => {
    await say(write('a.txt', linesOf('a')))
    await exec(`printf 'x\\0y' > a.txt`)
    const last = await exec(lines)
    await judge('a.txt', () => last)
  })

  test('a command adds to it what is no text, and another one takes that away', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    await exec(`printf 'x\\0y' >> a.txt`)
    await exec('head -n 12 a.txt > t; mv t a.txt')
    await judge('a.txt', () => first)
  })

  test('it becomes UTF-16 without a mark, and UTF-8 again by a command, a person or a tool', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    const [to, from] = ['iconv -f utf-8 -t utf-16le', 'iconv -f utf-16le -t utf-8'].map(
      (each) => `${each} a.txt > t; mv t a.txt`,
    )
    await exec(to ?? '')
    await exec(from ?? '')
    await judge('a.txt', () => first)
    await exec(to ?? '')
    sh(from ?? '')
    await judge('a.txt', () => first)
    await exec(to ?? '')
    const last = await say(write('a.txt', linesOf('a', 9) + linesOf('b', 3)))
    await judge('a.txt', () => last)
  })

  test('a file of an agent that a command gives a second name, and another one writes to', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    const second = await exec('ln a.txt b.txt')
    const third = await exec('echo "a line that is appended by the other name" >> b.txt')
    await judge('a.txt', (text) => (text.includes('appended') ? third : [first, second]))
    sh('rm b.txt; echo "a line of the user" >> a.txt')
    await judge('a.txt', (text) => (text.includes('user') ? person : text.includes('appended') ? third : first))
  })
})
