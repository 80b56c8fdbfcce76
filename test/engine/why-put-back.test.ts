import { rmSync, writeFileSync } from 'node:fs'
import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { noRun, notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

describe.each(databases)('lines that people put back, on %s', (database) => {
  const test = testOn(database)
  const { at, say, exec, sh, put, check } = everydayHands(database)

  test('into a file that they have renamed', async () => {
    const first = await say(write('conf', `timeout = 30 seconds\n${linesOf('conf')}`))
    await say(write('conf', `timeout = 60 seconds\n${linesOf('another')}`))
    await later()
    sh('mv conf config')
    put('config', `timeout = 30 seconds\n${linesOf('another')}`)
    await check('config:1', ofOrUnknown(first))
  })
  test('into a file that a command has moved', async () => {
    const first = await say(write('conf', `timeout = 30 seconds\n${linesOf('conf')}`))
    await say(write('conf', `timeout = 60 seconds\n${linesOf('another')}`))
    await exec('mkdir etc && mv conf etc/config')
    await later()
    put('etc/config', `timeout = 30 seconds\n${linesOf('another')}`)
    await check('etc/config:1', ofOrUnknown(first))
  })
  test('of a whole content, at once after they had put another file there', async () => {
    const other = await say(write('other', linesOf('other')))
    const first = await say(write('list', linesOf('list')))
    sh('mv other list')
    await exec('echo more >> list')
    put('list', linesOf('list'))
    await check('list:5', ofOrUnknown(first))
    await check('list:5', noRun)
    await check('list:5', notOf(other))
  })
  test('that are short, beside another change', async () => {
    const first = await say(write('list', `a\nx=1\n大阪\n${linesOf('list')}`))
    await say(edit('list', 'x=1\n大阪', 'x=2\n京都'))
    await later()
    put('list', `a\nx=1\n大阪\n${linesOf('list')}mine\n`)
    await check('list:2', ofOrUnknown(first))
    await check('list:3', ofOrUnknown(first))
    await check('list:16', noRun)
  })
  test('are named as those of their run, however often the file was changed since', async () => {
    const first = await say(write('a.ini', `value = the first of all\n${linesOf('a')}`))
    let value = 'the first of all'
    for (let round = 1; round <= 12; round++) {
      await say(edit('a.ini', `value = ${value}`, `value = number ${round} of many`))
      value = `number ${round} of many`
    }
    await later()
    put('a.ini', `value = the first of all\n${linesOf('a')}mine\n`)
    await check('a.ini:1', ofOrUnknown(first))
    await check('a.ini:14', noRun)
  })
  test('are not those of a run if a command saw the file empty before they were typed', async () => {
    await say(write('a.py', `import os\n${linesOf('a')}`))
    await later()
    writeFileSync(at('a.py'), '')
    await later()
    await exec('true')
    await later()
    put('a.py', `import os\n${linesOf('mine')}`)
    await check('a.py:5', noRun)
    rmSync(at('a.py'))
    put('a.py', linesOf('mine'))
    await check('a.py:5', noRun)
  })
})
