import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'vitest'
import { undo } from '../../src/engine/files/undo.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { noRun, notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

const restored = 'the run: the user restored its line word for word'

/** Equal contents that came about apart, and lines that a person put back. */
describe.each(databases)('equal and restored contents, on %s', (database) => {
  const test = testOn(database, 4)
  const { pool, at, elsewhere, say, exec, git, gitIn, sh, put, commit, run, check } = everydayHands(database)

  // (a) Equal contents that both come from elsewhere.
  test('a licence that an agent writes, and a clone by the user that has the same', async () => {
    const origin = join(elsewhere(), 'lib')
    sh(`mkdir ${origin}`)
    writeFileSync(join(origin, 'LICENSE'), linesOf('the licence', 20))
    writeFileSync(join(origin, 'lib.py'), linesOf('lib', 20))
    gitIn(origin, 'init', '-q')
    gitIn(origin, 'add', '-A')
    gitIn(origin, 'commit', '-qm', 'lib')
    await say(write('LICENSE', linesOf('the licence', 20)))
    await later()
    git('clone', '-q', origin, at('vendor'))
    await check('vendor/LICENSE:5', noRun, 'the user cloned it')
    await check('vendor/lib.py:5', noRun, 'the user cloned it')
  })
  test('a tsconfig that an agent’s command generates, and the user’s command in another package', async () => {
    const tsc = `node -e "console.log(JSON.stringify({compilerOptions:{target:'es2022',module:'nodenext',strict:true,skipLibCheck:true}},null,2))"`
    await exec(`mkdir -p packages/a && ${tsc} > packages/a/tsconfig.json`)
    await later()
    sh(`mkdir -p packages/b; ${tsc} > packages/b/tsconfig.json`)
    await check('packages/b/tsconfig.json:3', noRun, 'the user generated it')
  })
  test('a shared template that an agent’s command copies from elsewhere, and the user as well', async () => {
    writeFileSync(join(elsewhere(), 'editorconfig'), linesOf('the template'))
    await later()
    await exec(`mkdir -p web; cp ${join(elsewhere(), 'editorconfig')} web/.editorconfig`)
    await later()
    sh(`mkdir -p api; cp ${join(elsewhere(), 'editorconfig')} api/.editorconfig`)
    await check('api/.editorconfig:5', noRun, 'the user copied it from elsewhere')
  })
  test('a table that an agent writes, and the user’s own export of the same data', async () => {
    const rows = Array.from({ length: 15 }, (_, row) => `${row},customer number ${row},${row * 37}\n`).join('')
    await say(write('data/report.csv', `id,name,sum\n${rows}`))
    await later()
    put('exports/2024.csv', `id,name,sum\n${rows}`)
    await check('exports/2024.csv:5', noRun, 'the user’s program wrote it')
  })

  // (b) A command's output that equals a file that is still there.
  test('an agent’s generator that makes what the user’s file has', async () => {
    const make = (to: string) =>
      `mkdir -p ${to} && for n in $(seq 12); do echo "option_$n = the default"; done > ${to}/app.ini`
    sh(make('mine'))
    await later()
    const agent = await exec(make('theirs'))
    await check('theirs/app.ini:5', ofOrUnknown(agent), 'the agent’s generator')
    await check('mine/app.ini:5', noRun, 'the user')
  })
  test('an agent’s generator that makes what another agent’s file has', async () => {
    const text = Array.from({ length: 12 }, (_, at) => `option_${at + 1} = the default\n`).join('')
    const first = await say(write('one/app.ini', text))
    await later()
    const second = await exec(
      'mkdir -p two && for n in $(seq 12); do echo "option_$n = the default"; done > two/app.ini',
    )
    await check('two/app.ini:5', notOf(first), 'the second run’s generator')
    await check('two/app.ini:5', ofOrUnknown(second), 'the second run’s generator')
  })

  // (c) A large block that an agent moved by two edits.
  const block = linesOf('the block', 20)
  const rest = linesOf('the rest', 6)
  const moveBlock = () =>
    say(
      edit('m.py', block, ''),
      edit('m.py', 'line 6 that the rest is made of\n', `line 6 that the rest is made of\n${block}`),
    )
  test('a large block that an agent moves by two edits, and git restores', async () => {
    put('m.py', block + rest)
    git('init', '-q')
    commit()
    await later()
    const agent = await moveBlock()
    await later()
    git('checkout', 'm.py')
    await check('m.py:5', notOf(agent), 'the user: as committed')
    await check('m.py:23', notOf(agent), 'the user: as committed')
  })
  test('a large block that an agent moves by two edits, and the user undoes in an editor', async () => {
    put('m.py', block + rest)
    await later()
    const agent = await moveBlock()
    await later()
    put('m.py', block + rest)
    await check('m.py:5', notOf(agent), 'the user: as it was')
    appendFileSync(at('m.py'), 'and one more of mine\n')
    await check('m.py:5', notOf(agent), 'the user: as it was')
  })

  // (d) Lines of a run that a person restores.
  test('lines of a run that another run replaces, and git restores', async () => {
    put('a.py', linesOf('base'))
    git('init', '-q')
    commit()
    const first = await say(edit('a.py', 'line 5 that base', 'line five of the first run that base'))
    commit('first')
    await say(edit('a.py', 'line five of the first run that base', 'line five of the second that base'))
    await later()
    git('checkout', 'a.py')
    await check('a.py:5', ofOrUnknown(first), restored)
    await check('a.py:3', noRun, 'the user')
  })
  test('lines of a run that a command replaces, and tar restores', async () => {
    put('a.py', linesOf('base'))
    const first = await say(edit('a.py', 'line 5 that base', 'line five of the first run that base'))
    sh(`tar cf ${join(elsewhere(), 'b.tar')} a.py`)
    await later()
    await exec("sed -i 's/line five of.*/line five of the command/' a.py")
    await later()
    sh(`tar xf ${join(elsewhere(), 'b.tar')}`)
    await check('a.py:5', ofOrUnknown(first), restored)
  })
  test('lines of a run that undo takes away, and git restores', async () => {
    put('a.py', linesOf('base'))
    git('init', '-q')
    commit()
    const first = await say(edit('a.py', 'line 5 that base', 'line five of the first run that base'))
    commit('first')
    await undo(pool().engine, first)
    await later()
    git('checkout', 'a.py')
    await check('a.py:5', ofOrUnknown(first), restored)
  })
  test('lines of a run that the user replaces in an editor, and brings back by its undo', async () => {
    put('a.py', linesOf('base'))
    const first = await say(edit('a.py', 'line 5 that base', 'line five of the first run that base'))
    const text = linesOf('base').replace('line 5 that base', 'line five of the first run that base')
    await later()
    put('a.py', linesOf('base'))
    await say(run('true'))
    await later()
    put('a.py', text)
    await check('a.py:5', ofOrUnknown(first), restored)
  })
  test('a whole file of a run that another run writes anew, and git restores', async () => {
    const first = await say(write('a.py', linesOf('first')))
    git('init', '-q')
    commit()
    await say(write('a.py', linesOf('second')))
    await later()
    git('checkout', 'a.py')
    await check('a.py:5', ofOrUnknown(first), restored)
  })
})
