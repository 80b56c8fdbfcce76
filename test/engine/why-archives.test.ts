import { cpSync, mkdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'vitest'
import { undo } from '../../src/engine/files/undo.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { noRun, notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

/** Times that archives, packages and templates bring with them prove nothing about who put a file there. */
describe.each(databases)('archives and templates, on %s', (database) => {
  const test = testOn(database, 4)
  const { pool, at, elsewhere, say, exec, git, sh, put, commit, check } = everydayHands(database)
  const away = (name: string) => join(elsewhere(), name)
  /** An archive elsewhere with a file of a time of its own. */
  const archive = () => {
    mkdirSync(away('pkg'))
    writeFileSync(away('pkg/LICENSE'), linesOf('the licence'))
    utimesSync(away('pkg/LICENSE'), 499_162_500, 499_162_500)
    sh(`tar czf pkg.tgz pkg; rm -r pkg`, elsewhere())
    return away('pkg.tgz')
  }

  test('an agent’s command and the user unpack one archive in two folders', async () => {
    const tgz = archive()
    await exec(`mkdir one; tar xzf ${tgz} -C one`)
    await later()
    sh(`mkdir two; tar xzf ${tgz} -C two`)
    await check('two/pkg/LICENSE:5', noRun, 'the user unpacked it')
    await later()
    sh('echo mine >> two/pkg/LICENSE')
    await check('two/pkg/LICENSE:5', noRun, 'the user unpacked it')
    await check('two/pkg/LICENSE:13', noRun)
  })
  test('the user unpacks an archive first, and then an agent’s command in another folder', async () => {
    const tgz = archive()
    sh(`mkdir two; tar xzf ${tgz} -C two`)
    await later()
    const agent = await exec(`mkdir one; tar xzf ${tgz} -C one`)
    await check('two/pkg/LICENSE:5', noRun, 'the user unpacked it')
    await check('one/pkg/LICENSE:5', ofOrUnknown(agent), 'the agent unpacked it')
  })
  test('two agents’ commands unpack one archive in two folders', async () => {
    const tgz = archive()
    const first = await exec(`mkdir one; tar xzf ${tgz} -C one`)
    await later()
    const second = await exec(`mkdir two; tar xzf ${tgz} -C two`)
    await check('one/pkg/LICENSE:5', ofOrUnknown(first))
    await check('two/pkg/LICENSE:5', ofOrUnknown(second), 'the second unpacked it')
    await check('two/pkg/LICENSE:5', notOf(first), 'the second unpacked it')
  })
  test('an agent’s command and the user copy one template with its times', async () => {
    mkdirSync(away('template'))
    writeFileSync(away('template/main.ts'), linesOf('the template'))
    await later()
    await exec(`cp -a ${away('template')} one`)
    await later()
    sh(`cp -a ${away('template')} two; mv two app`)
    await check('app/main.ts:5', noRun, 'the user copied the template')
  })
  test('an agent unpacks an archive, removes it, and the user unpacks it again under another name', async () => {
    const tgz = archive()
    await exec(`mkdir one; tar xzf ${tgz} -C one`)
    await exec('rm -r one')
    await later()
    sh(`mkdir two; tar xzf ${tgz} -C two`)
    await check('two/pkg/LICENSE:5', noRun, 'the user unpacked it')
  })
  test('builds with a fixed time, by an agent and by the user', async () => {
    const build = (to: string) =>
      `mkdir ${to}; for n in $(seq 12); do echo "line $n that the build is made of"; done > ${to}/app.js; touch -d @1000000000 ${to}/app.js`
    await exec(build('dist1'))
    await later()
    sh(build('dist2'))
    await check('dist2/app.js:5', noRun, 'the user built it')
  })
  test('the user takes an agent’s change of a copy into his own file', async () => {
    put('mine.py', linesOf('mine'))
    await later()
    await exec('cp mine.py draft.py')
    const agent = await say(edit('draft.py', 'line 5 that', 'line five of the agent that'))
    await later()
    sh('cp draft.py mine.py')
    await check('mine.py:5', ofOrUnknown(agent))
    await check('mine.py:3', noRun)
  })
  test('an agent’s command copies its file over the user’s, and git restores that', async () => {
    put('mine.py', linesOf('mine', 8) + linesOf('both', 6))
    git('init', '-q')
    commit()
    await later()
    const agent = await say(write('theirs.py', linesOf('theirs', 8) + linesOf('both', 6)))
    const second = await exec('cp theirs.py mine.py')
    await later()
    git('checkout', 'mine.py')
    for (const line of [5, 11]) {
      await check(`mine.py:${line}`, notOf(agent), 'the user: as committed')
      await check(`mine.py:${line}`, notOf(second), 'the user: as committed')
    }
  })
  test('a renamed file gets a line of an earlier agent back', async () => {
    const first = await say(write('a.py', linesOf('a')))
    const old = readFileSync(at('a.py'), 'utf8')
    const second = await say(edit('a.py', 'line 5 that', 'line five of the second that'))
    await later()
    renameSync(at('a.py'), at('b.py'))
    put('b.py', old)
    await check('b.py:5', ofOrUnknown(first))
    await check('b.py:5', notOf(second))
    await check('b.py:3', ofOrUnknown(first))
  })
  test('an old buffer brings back what an undo took away', async () => {
    put('a.py', linesOf('a'))
    const agent = await say(edit('a.py', 'line 5 that', 'line five of the agent that'))
    await later()
    const buffer = readFileSync(at('a.py'), 'utf8')
    await undo(pool().engine, agent)
    await later()
    put('a.py', `${buffer}mine\n`)
    await check('a.py:5', ofOrUnknown(agent), 'the agent: the buffer had its line')
    await check('a.py:13', noRun)
    await check('a.py:3', noRun)
  })
  test('a stash of a command’s change that the user pops after another command', async () => {
    put('a.py', linesOf('a'))
    git('init', '-q')
    commit()
    const agent = await exec("sed -i 's/line 5 that/line five of the agent that/' a.py")
    git('stash', '-q')
    await exec('true')
    await later()
    git('stash', 'pop', '-q')
    await check('a.py:5', ofOrUnknown(agent))
    await check('a.py:3', noRun)
  })
  test('the user’s backup folder is unpacked into a new folder, after agents changed the original', async () => {
    const first = await say(write('src/a.py', linesOf('a')))
    put('src/mine.py', linesOf('mine'))
    sh(`tar czf ${away('b.tgz')} src`)
    await later()
    const second = await exec("sed -i 's/line 5 that/line five that/' src/*.py")
    await later()
    sh(`mkdir old; tar xzf ${away('b.tgz')} -C old`)
    await check('old/src/a.py:5', ofOrUnknown(first))
    await check('old/src/mine.py:5', notOf(second))
    await check('old/src/mine.py:5', noRun)
    cpSync(at('old/src/a.py'), at('a2.py'))
    await check('a2.py:5', ofOrUnknown(first))
  })
})
