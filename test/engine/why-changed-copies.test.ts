import { appendFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { describe } from 'vitest'
import { findRun } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { noRun, notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

/** A shell command that writes twelve lines. */
const lines = (name: string, to: string, count = 12) =>
  `for n in $(seq ${count}); do echo "line $n that ${name} is made of"; done > ${to}`

describe.each(databases)('changed copies and replaced files, on %s', (database) => {
  const test = testOn(database, 4)
  const { pool, at, say, sayIn, exec, git, sh, put, commit, run, check, begin, restart } = everydayHands(database)
  const text = (path: string) => readFileSync(at(path), 'utf8')

  // Copies that are changed much before anything sees them.
  test('a copy of an agent’s file that the user extends to twice its length', async () => {
    const agent = await say(write('a.py', linesOf('a')))
    await later()
    put('b.py', linesOf('a') + linesOf('mine', 14))
    await check('b.py:5', ofOrUnknown(agent))
    await check('b.py:15', noRun)
  })
  test('a copy of an agent’s file of which the user removes one half', async () => {
    const agent = await say(write('a.py', linesOf('a', 30)))
    await later()
    put(
      'b.py',
      linesOf('a', 30)
        .split(/(?<=\n)/)
        .slice(8, 23)
        .join(''),
    )
    await check('b.py:5', ofOrUnknown(agent))
  })
  test('a copy of one of fifty files that have the same lines but one', async () => {
    const agent = await exec(
      `for f in $(seq 50); do { echo "title number $f"; ${lines('page', '/dev/stdout')}; } > page-$f.md; done`,
    )
    await later()
    sh('cp page-7.md page-mine.md; sed -i "s/title.*/my own title/" page-mine.md')
    await check('page-mine.md:5', ofOrUnknown(agent))
    await check('page-mine.md:1', noRun)
  })
  test('one of fifty files that have the same lines but one, renamed and saved by an editor that replaces', async () => {
    const agent = await exec(
      `for f in $(seq 50); do { echo "title number $f"; ${lines('page', '/dev/stdout')}; } > page-$f.md; done`,
    )
    await later()
    sh('mv page-7.md page-mine.md; sed -i "s/title.*/my own title/" page-mine.md')
    await check('page-mine.md:5', ofOrUnknown(agent))
    await check('page-mine.md:1', noRun)
  })
  test('a copy of a command’s file of more than a megabyte', async () => {
    const agent = await exec('seq -f "line %g of the file that a command has made" 30000 > log.txt')
    await later()
    cpSync(at('log.txt'), at('copy.txt'))
    await check('copy.txt:5', ofOrUnknown(agent))
  })
  test('a changed copy of a command’s file of more than a megabyte', async () => {
    const agent = await exec('seq -f "line %g of the file that a command has made" 30000 > log.txt')
    await later()
    sh('sed "5s/line/LINE/" log.txt > copy.txt')
    await check('copy.txt:7', ofOrUnknown(agent))
    await check('copy.txt:5', noRun)
  })
  test('the user edits a command’s file of more than a megabyte', async () => {
    const agent = await exec('seq -f "line %g of the file that a command has made" 30000 > log.txt')
    await later()
    appendFileSync(at('log.txt'), 'mine\n')
    await check('log.txt:7', ofOrUnknown(agent))
  })
  test('CRLF of an agent’s file is taken away in a new file', async () => {
    const agent = await say(write('a.bat', linesOf('a').replaceAll('\n', '\r\n')))
    await later()
    sh("sed 's/\\r//' a.bat > b.bat; rm a.bat")
    await check('b.bat:5', ofOrUnknown(agent), 'the agent: only the line ends are new')
  })
  test('an agent’s file in UTF-8 becomes one in Latin-1', async () => {
    const agent = await say(write('a.txt', `größe und maße\n${linesOf('a')}`))
    await later()
    sh('iconv -f utf-8 -t latin1 a.txt > b.txt; mv b.txt a.txt')
    await check('a.txt:5', ofOrUnknown(agent))
  })
  test('a copy in the folder above that of the session, with a change', async () => {
    mkdirSync(at('below'))
    const agent = await sayIn(at('below'), write('a.py', linesOf('a')))
    await later()
    put('a.py', linesOf('a').replace('line 5', 'line five'))
    await check('a.py:3', ofOrUnknown(agent))
    await check('a.py:5', noRun)
  })

  // The user's own files in the place of an agent's.
  test('a generator of an agent’s that cleans what another agent had generated, and writes elsewhere', async () => {
    const first = await exec(`mkdir gen; ${lines('gen', 'gen/a.ts')}`)
    await later()
    const second = await exec(`rm -r gen; mkdir out; ${lines('gen', 'out/a.ts')}; echo "more of it" >> out/a.ts`)
    await check('out/a.ts:5', ofOrUnknown(first, second), 'the second')
    await check('out/a.ts:5', notOf(first), 'the second: its generator wrote it')
    await check('out/a.ts:13', ofOrUnknown(second))
  })

  // Places that no survey sees.
  test('a command writes ignored files, hooks and packages', async () => {
    put('.gitignore', 'dist/\n.env\n')
    git('init', '-q')
    await later()
    const agent = await exec(
      `mkdir -p dist node_modules/p; ${['dist/a.js', '.env', '.git/hooks/pre-commit', 'node_modules/p/i.js'].map((name) => lines(name, name)).join('; ')}`,
    )
    for (const name of ['dist/a.js', '.env', '.git/hooks/pre-commit', 'node_modules/p/i.js'])
      await check(`${name}:5`, ofOrUnknown(agent))
  })
  test('an ignored file of a command is renamed and changed by the user', async () => {
    put('.gitignore', '*.log\n')
    git('init', '-q')
    await later()
    const agent = await exec(lines('the log', 'app.log'))
    await later()
    renameSync(at('app.log'), at('notes.txt'))
    appendFileSync(at('notes.txt'), 'mine\n')
    await check('notes.txt:5', ofOrUnknown(agent))
  })
  test('an ignored file of a long command beside many short ones is renamed by the user', async () => {
    put('.gitignore', '*.log\n')
    git('init', '-q')
    await later()
    const slow = await begin(lines('the log', 'app.log'))
    await later()
    await say(...Array.from({ length: 20 }, (_, at) => run(`echo ${at} > short-${at}`)))
    slow.finish()
    await untilSo(async () => {
      const found = await pool().engine.store.read((rows) => findRun(rows, slow.runId))
      return found?.state === 'completed'
    })
    await later()
    renameSync(at('app.log'), at('notes.txt'))
    await check('notes.txt:5', ofOrUnknown(slow.runId))
  })

  // Several at once.
  test('a tool writes while another run’s command works', async () => {
    const slow = await begin(lines('slow', 'slow.txt'))
    const tool = await say(write('tool.txt', linesOf('tool')))
    await later()
    put('mine.txt', linesOf('mine'))
    slow.finish()
    await exec('true')
    await check('tool.txt:5', ofOrUnknown(tool))
    await check('slow.txt:5', ofOrUnknown(slow.runId))
    await later()
    sh('mv tool.txt t2.txt; echo mine >> t2.txt')
    await check('t2.txt:5', ofOrUnknown(tool))
  })
  test('a command in a sub-folder while another one works above', async () => {
    mkdirSync(at('sub'))
    const slow = await begin(lines('slow', 'sub/slow.txt'))
    const quick = await sayIn(at('sub'), run(lines('quick', 'quick.txt')))
    slow.finish()
    await exec('true')
    await check('sub/quick.txt:5', ofOrUnknown(quick))
    await check('sub/slow.txt:5', ofOrUnknown(slow.runId))
  })
  test('the user renames an agent’s file while a command works', async () => {
    const first = await say(write('a.py', linesOf('a')))
    const slow = await begin(lines('slow', 'slow.txt'))
    await later()
    sh('mv a.py b.py; sed -i "s/line 5 that/line five that/" b.py')
    await later()
    slow.finish()
    await exec('true')
    await check('b.py:3', ofOrUnknown(first))
    await check('b.py:5', notOf(first))
  })
  test('a command is cut off by a restart in the middle, and the user moves what it left', async () => {
    const first = await say(write('a.py', linesOf('a')))
    const cut = await begin(`${lines('cut', 'cut.txt')}; echo "of the command" >> a.py`)
    await restart()
    await later()
    await check('cut.txt:5', ofOrUnknown(cut.runId))
    await check('a.py:13', ofOrUnknown(cut.runId))
    await check('a.py:5', ofOrUnknown(first))
    await later()
    sh('mv cut.txt moved.txt; echo mine >> moved.txt')
    await check('moved.txt:5', ofOrUnknown(cut.runId))
  })

  // Names.
  test('names with a colon and a number, and a folder like a line', async () => {
    const agent = await say(write('log:3', linesOf('log')), write('12/a:7.txt', linesOf('a')))
    await check('log:3:5', ofOrUnknown(agent))
    await check('12/a:7.txt:5', ofOrUnknown(agent))
    await later()
    put('log', text('log:3').replace('line 5', 'line five'))
    await check('log:4', ofOrUnknown(agent))
    await check('file:log:5', noRun)
  })
  test('a conflict of a stash with what another agent wrote meanwhile', async () => {
    put('a.py', linesOf('base'))
    git('init', '-q')
    commit()
    const first = await say(edit('a.py', 'line 5 that base', 'line five of the first that base'))
    git('stash', '-q')
    const second = await say(edit('a.py', 'line 5 that base', 'line five of the second that base'))
    commit('second')
    await later()
    sh('git -c user.name=x -c user.email=x@y stash pop -q || true')
    const all = text('a.py').split('\n')
    const lineOf = (words: string) => all.findIndex((line) => line.includes(words)) + 1
    await check(`a.py:${lineOf('of the first')}`, ofOrUnknown(first))
    await check(`a.py:${lineOf('of the second')}`, ofOrUnknown(second))
    await check(`a.py:${lineOf('<<<<')}`, noRun)
    sh('git checkout -q --theirs a.py')
    await check('a.py:5', ofOrUnknown(first))
    rmSync(at('a.py'))
  })
})
