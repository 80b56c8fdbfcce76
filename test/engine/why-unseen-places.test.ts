import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { person } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

/** A shell command that prints lines which are not in its text. */
const print = (name: string, count = 12) => `for n in $(seq ${count}); do echo "line $n that ${name} is made of"; done`

describe.each(databases)('files from places where nothing looks, on %s', (database) => {
  const test = testOn(database)
  const { say, exec, put, judge, begin, restart } = everydayHands(database)
  const isClean = true

  test('a command’s file that another command makes no longer ignored', async () => {
    put('.gitignore', 'gen/\n')
    const first = await exec(`mkdir gen; (${print('b')}) > gen/b.txt`)
    await later()
    await exec('sed -i /gen/d .gitignore')
    await judge('gen/b.txt', () => first)
  })

  test('files of the user that a command, or the user beside a command, makes no longer ignored', async () => {
    put('.gitignore', 'gen/\n*.log\n')
    put('gen/b.txt', linesOf('user'))
    put('app.log', linesOf('log'))
    await later()
    await exec('sed -i /gen/d .gitignore')
    await judge('gen/b.txt', () => person, { isClean })
    await later()
    const other = await begin('true')
    put('.gitignore', '\n')
    other.finish()
    await exec('true')
    await judge('app.log', () => person)
  })

  test('an ignored file of three commands that the user makes no longer ignored, and a tool edits', async () => {
    put('.gitignore', 'gen/\n')
    const first = await exec(`mkdir gen; (${print('b')}) > gen/b.txt`)
    await later()
    const second = await exec(`(${print('c', 6)}) >> gen/b.txt`)
    await later()
    const third = await exec(`(${print('d', 6)}) >> gen/b.txt`)
    put('.gitignore', '\n')
    const truthOf = (text: string) => (text.includes('c is') ? second : text.includes('d is') ? third : first)
    await judge('gen/b.txt', truthOf)
    const editor = await say(edit('gen/b.txt', 'line 3 that b', 'line three that b'))
    await judge('gen/b.txt', (text) => (text.includes('three') ? editor : truthOf(text)))
  })

  test('an agent’s file that is ignored, changed by a command, and no longer ignored', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    await exec('echo a.txt > .gitignore')
    const second = await exec(`sed -i 's/line 5/line five/' a.txt`)
    await later()
    await exec('rm .gitignore')
    await judge('a.txt', (text) => (text.includes('five') ? second : first))
  })

  test('a command’s ignored file that another command moves', async () => {
    put('.gitignore', 'dist/\n')
    const first = await exec(`mkdir dist; (${print('b')}) > dist/b.txt`)
    await later()
    await exec('mv dist/b.txt b.txt')
    await judge('b.txt', () => first)
  })

  test('an ignored file of a command that was cut off, and another one moves', async () => {
    put('.gitignore', 'dist/\n')
    const { runId } = await begin(`mkdir dist; (${print('b')}) > dist/b.txt`)
    await restart()
    await later()
    await exec('mv dist/b.txt b.txt')
    await judge('b.txt', () => runId)
  })

  test('a command’s package file that another command copies, and a third one moves', async () => {
    const first = await exec(`mkdir -p node_modules/p; (${print('p')}) > node_modules/p/i.js`)
    await later()
    const second = await exec('mkdir vendor; cp -r node_modules/p vendor/p')
    await judge('vendor/p/i.js', () => [first, second])
    await later()
    await exec('mv node_modules/p/i.js i.js')
    await judge('i.js', () => first)
  })

  test('the user’s ignored file that a command moves', async () => {
    put('.gitignore', 'tmp/\n')
    put('tmp/b.txt', linesOf('user'))
    await later()
    await exec('mv tmp/b.txt b.txt')
    await judge('b.txt', () => person, { isClean })
  })

  test('the user’s ignored file that a command moves onto an agent’s which is like it', async () => {
    put('.gitignore', 'tmp/\n')
    put('tmp/b.txt', linesOf('user', 9) + linesOf('more', 3))
    await say(write('b.txt', linesOf('user')))
    await later()
    await exec('mv tmp/b.txt b.txt')
    await judge('b.txt', () => person)
  })

  test('an agent’s file that commands move to an ignored place, change there and move back', async () => {
    put('.gitignore', 'tmp/\n')
    const first = await say(write('a.txt', linesOf('a')))
    await exec('mkdir tmp; mv a.txt tmp/')
    await exec('mv tmp/a.txt .')
    await judge('a.txt', () => first, { isClean })
    await exec('mv a.txt tmp/')
    await later()
    const second = await exec(`(${print('b', 3)}) >> tmp/a.txt`)
    await later()
    await exec('mv tmp/a.txt b.txt')
    await judge('b.txt', (text) => (text.includes('b is') ? second : first))
  })

  test('a file that a command renames and writes anew', async () => {
    await say(write('a.txt', linesOf('a')))
    await later()
    const second = await exec(`mv a.txt b.txt; (${print('b', 6)}) > b.txt`)
    await judge('b.txt', () => second, { isClean })
  })

  test('an agent’s backup at an ignored place that a command moves back', async () => {
    put('.gitignore', '*.bak\n')
    const first = await say(write('a.txt', linesOf('a')))
    await exec('cp a.txt a.bak')
    await later()
    await say(edit('a.txt', 'line 3 that', 'line three that'))
    await later()
    const last = await exec('mv a.bak a.txt')
    await judge('a.txt', () => [first, last])
  })
})
