import { appendFileSync, readFileSync } from 'node:fs'
import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { person } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

/** Files of a few lines that people put into others, and which stay where they are. */
describe.each(databases)('short files of agents that people join, on %s', (database) => {
  const test = testOn(database, 4)
  const { at, say, sh, put, judge } = everydayHands(database)
  const text = (path: string) => readFileSync(at(path), 'utf8')
  const chapter = (name: string) => `# ${name}\n\none of ${name}\ntwo of ${name}\n`

  test('with one another', async () => {
    const first = await say(write('a.md', chapter('first')))
    const second = await say(write('b.md', chapter('second')))
    await later()
    sh('cat a.md b.md > all.md')
    await judge('all.md', (_, line) => (line <= 4 ? first : second))
    put('all.md', `Both:\n\n${text('a.md')}\n---\n${text('b.md')}`)
    await judge('all.md', (line) => (line.includes('first') ? first : line.includes('second') ? second : person))
  })
  test('each of one line', async () => {
    const first = await say(write('a.json', '{"name":"one","port":80}\n'))
    const second = await say(write('b.json', '{"name":"two","port":90}\n'))
    await later()
    sh('cat a.json b.json > all.jsonl')
    await judge('all.jsonl', (_, line) => (line === 1 ? first : second))
  })
  test('with a longer text of theirs', async () => {
    const agent = await say(write('a.md', chapter('agent')))
    put('mine.md', linesOf('mine', 20))
    await later()
    sh('cat mine.md a.md > all.md')
    await judge('all.md', (_, line) => (line > 20 ? agent : person))
  })
  test('with a file that another agent has changed', async () => {
    put('all.md', linesOf('mine', 10))
    const first = await say(edit('all.md', 'line 10 that mine', 'line ten that mine'))
    const second = await say(write('a.md', chapter('second')))
    await later()
    sh('cat a.md >> all.md')
    await judge('all.md', (line, at) => (at > 10 ? second : line.includes('ten') ? first : person))
  })
  test('and a line of which people write themselves stays theirs', async () => {
    await say(write('a.md', chapter('agent')))
    await later()
    put('mine.md', `${linesOf('mine', 6)}one of agent\n`)
    appendFileSync(at('mine.md'), 'and more by hand\n')
    await judge('mine.md', () => person, { isClean: true })
  })
})
