import { appendFileSync, chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { noRun, notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, read, write } from './hands.ts'

/** No answer may name another run than the true one, nor deny a run its line; unknown is allowed. */
describe.each(databases)('files that agents and people share, on %s', (database) => {
  const test = testOn(database)
  const { at, elsewhere, say, sayIn, talk, exec, git, gitIn, sh, put, commit, run, check, ask } =
    everydayHands(database)

  test('a file that an agent deletes, the user restores from the trash, and changes', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await later()
    sh(`cp -a a.py ${elsewhere()}`)
    await exec('rm a.py')
    await later()
    sh(`cp -a ${join(elsewhere(), 'a.py')} a.py; echo mine >> a.py`)
    await check('a.py:3', ofOrUnknown(first))
    await check('a.py:13', noRun)
  })
  test('the user’s file deleted by an agent, and restored by the user with a change', async () => {
    put('mine.py', linesOf('mine'))
    git('init', '-q')
    commit()
    await later()
    await exec('rm mine.py')
    await later()
    git('checkout', 'mine.py')
    await check('mine.py:3', noRun)
    await talk('c', 'copy it', [read('mine.py')], [write('agents.py', linesOf('mine'))])
    await later()
    appendFileSync(at('mine.py'), 'more\n')
    await check('mine.py:3', noRun)
  })
  test('a worktree with the user’s and the agent’s files', async () => {
    mkdirSync(at('main'))
    writeFileSync(at('main/mine.py'), linesOf('mine'))
    gitIn(at('main'), 'init', '-q')
    const agent = await sayIn(at('main'), write('agents.py', linesOf('agents')))
    gitIn(at('main'), 'add', '-A')
    gitIn(at('main'), 'commit', '-qm', 'x')
    await later()
    gitIn(at('main'), 'worktree', 'add', '-q', '-b', 'other', at('tree'))
    await check('tree/mine.py:3', noRun)
    await check('tree/agents.py:3', ofOrUnknown(agent))
  })
  test('a file that an agent read in one session and another session’s agent copied by sed', async () => {
    put('mine.py', linesOf('mine'))
    await later()
    const reader = await talk('one', 'look', [read('mine.py')])
    await exec("sed -n '1,12p' mine.py > part.py")
    await later()
    sh('rm mine.py')
    put('mine.py', linesOf('mine'))
    await check('mine.py:3', noRun, 'the user')
    await check('part.py:3', notOf(reader), 'the user, or the run of the command')
  })
  test('an agent that rewrites the user’s file as a whole with one change, and the user swaps two blocks', async () => {
    const [a, b] = [linesOf('block a', 6), linesOf('block b', 10)]
    put('m.py', a + b)
    await later()
    const agent = await talk(
      'c',
      'change it',
      [read('m.py')],
      [write('m.py', a + b.replace('line 2 that', 'line two that'))],
    )
    await later()
    put('m.py', b.replace('line 2 that', 'line two that') + a)
    await check('m.py:2', ofOrUnknown(agent))
    await check('m.py:5', noRun)
    await check('m.py:13', noRun)
  })
  test('an agent ports the user’s file to another branch with a change, and the user switches back', async () => {
    put('base', 'base\n')
    git('init', '-q')
    commit('base')
    git('branch', 'feature')
    put('guide.md', linesOf('guide'))
    commit('guide')
    git('checkout', '-q', 'feature')
    await later()
    const agent = await talk(
      'c',
      'port the guide',
      [run('git show main:guide.md')],
      [write('guide.md', `${linesOf('guide')}a line of the agent\n`)],
    )
    commit('ported')
    await later()
    git('checkout', '-q', 'main')
    await check('guide.md:3', notOf(agent), 'the user: committed before the run')
  })
  test('a file of one run over that of another run that was made of it', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await later()
    const second = await talk('c', 'vary it', [read('a.py')], [write('b.py', `${linesOf('a')}more of the second\n`)])
    await later()
    renameSync(at('a.py'), at('b.py'))
    await check('b.py:3', ofOrUnknown(first), 'the first run')
    await check('b.py:3', notOf(second))
  })
  test('a file of one run copied over that of another run that was made of it', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await later()
    const second = await talk('c', 'vary it', [read('a.py')], [write('b.py', `${linesOf('a')}more of the second\n`)])
    await later()
    sh('cp a.py b.py')
    await check('b.py:3', ofOrUnknown(first), 'the first run')
    await check('b.py:3', notOf(second))
  })
  test('a renamed file and a new one of another run under the old name, both changed in place', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await later()
    renameSync(at('a.py'), at('old.py'))
    const second = await say(write('a.py', linesOf('a').replace('line 5 that', 'line five that')))
    await later()
    appendFileSync(at('old.py'), 'mine\n')
    appendFileSync(at('a.py'), 'mine\n')
    await check('old.py:5', ofOrUnknown(first))
    await check('a.py:5', ofOrUnknown(second))
    await check('old.py:3', ofOrUnknown(first))
    await check('a.py:3', notOf(first))
  })
  test('gzip and gunzip of an agent’s log', async () => {
    const agent = await exec('for n in $(seq 6); do echo "server step $n is starting"; done > app.log')
    await later()
    sh('gzip app.log; mv app.log.gz old.gz')
    await exec('ls')
    await later()
    sh('gunzip -c old.gz > old.log')
    await check('old.log:3', ofOrUnknown(agent))
  })
  test('a conflict between the user’s and the agent’s change that the user solves', async () => {
    put('a.py', linesOf('base'))
    git('init', '-q')
    commit('base')
    git('checkout', '-qb', 'feature')
    await later()
    const agent = await say(edit('a.py', 'line 5 that base', 'line five by the agent that base'))
    commit('agent')
    git('checkout', '-q', 'main')
    put('a.py', linesOf('base').replace('line 5 that base', 'line five by me that base'))
    commit('mine')
    await later()
    sh('git -c user.name=x -c user.email=x@y merge -q feature || true')
    await check('a.py:6', noRun, 'mine, in the conflict')
    await check('a.py:8', ofOrUnknown(agent), 'the agent’s, in the conflict')
    put(
      'a.py',
      linesOf('base').replace(
        'line 5 that base is made of',
        'line five by me that base is made of\nline five by the agent that base is made of',
      ),
    )
    await check('a.py:5', noRun)
    await check('a.py:6', ofOrUnknown(agent))
  })
  test('a patch that the user takes out and applies again, with a command in between', async () => {
    put('a.py', linesOf('base'))
    git('init', '-q')
    commit('base')
    await later()
    const agent = await say(edit('a.py', 'line 5 that base is made of', 'first of the agent\nsecond of the agent'))
    sh(`git diff > ${join(elsewhere(), 'p')}; git checkout -q .`)
    await exec('true')
    await later()
    sh(`git apply ${join(elsewhere(), 'p')}`)
    await check('a.py:5', ofOrUnknown(agent))
    await check('a.py:3', noRun)
  })
  test('an agent stashes, tests and pops in one command', async () => {
    put('a.py', linesOf('base'))
    git('init', '-q')
    commit('base')
    sh("sed -i 's/line 5 that/line five of mine that/' a.py")
    await later()
    const agent = await say(edit('a.py', 'line 9 that', 'line nine of the agent that'))
    const tester = await exec('git stash -q && cat a.py && git stash pop -q')
    await check('a.py:5', notOf(tester))
    await check('a.py:5', noRun)
    await check('a.py:9', ofOrUnknown(agent))
  })
  test('an agent stashes, pops in another command, and its own and another run’s lines come back', async () => {
    put('a.py', linesOf('base'))
    git('init', '-q')
    commit('base')
    const agent = await say(edit('a.py', 'line 9 that', 'line nine of the agent that'))
    await exec('git -c user.name=x -c user.email=x@y stash -q')
    const pop = await exec('git stash pop -q')
    await check('a.py:9', notOf(pop), `the run ${agent} (documented: restored content belongs to who restores it)`)
    await check('a.py:3', noRun)
  })
  test('an agent writes through a linked folder with a tool', async () => {
    mkdirSync(at('v1'))
    symlinkSync('v1', at('current'))
    const agent = await say(write('current/app.py', linesOf('app')))
    await check('current/app.py:3', ofOrUnknown(agent))
    await check('v1/app.py:3', ofOrUnknown(agent))
  })
  test('an agent reindents the user’s file with a command, and the user checks it out again', async () => {
    put('a.py', linesOf('base'))
    git('init', '-q')
    commit('base')
    await later()
    const agent = await exec("sed -i '5,8s/^/    /' a.py")
    await check('a.py:6', ofOrUnknown(agent))
    await check('a.py:3', noRun)
    await later()
    git('checkout', 'a.py')
    await check('a.py:6', noRun)
  })
  test('a small function that an agent moves by two edits, and git restores', async () => {
    const small = linesOf('the small function', 4)
    put('m.py', `${small}${linesOf('the rest', 20)}`)
    git('init', '-q')
    commit()
    await later()
    const agent = await say(
      edit('m.py', small, ''),
      edit('m.py', 'line 20 that the rest is made of\n', `line 20 that the rest is made of\n${small}`),
    )
    await later()
    git('checkout', 'm.py')
    await check('m.py:2', notOf(agent), 'the user: as committed')
    await check('m.py:10', noRun)
  })
  test('the user’s own file over the agent’s by mv, and he goes on with it', async () => {
    put('draft.md', linesOf('draft', 20))
    await later()
    const agent = await talk(
      'c',
      'polish',
      [read('draft.md')],
      [
        write(
          'final.md',
          linesOf('draft', 20)
            .replace('line 5 that', 'the fifth line that')
            .replace('line 9 that', 'the ninth line that'),
        ),
      ],
    )
    await later()
    renameSync(at('draft.md'), at('final.md'))
    appendFileSync(at('final.md'), 'by me\n')
    await check('final.md:3', notOf(agent), 'the user')
    await exec('true')
    await later()
    appendFileSync(at('final.md'), 'by me again\n')
    await check('final.md:3', notOf(agent), 'the user')
  })
  test('a file that an agent read and copied with a change, and the user appends to', async () => {
    put('mine.py', linesOf('mine', 20))
    await later()
    await talk('c', 'port it', [read('mine.py')], [write('port.py', `${linesOf('mine', 20)}of the agent\n`)])
    await later()
    appendFileSync(at('mine.py'), 'mine\n')
    await check('mine.py:3', noRun, 'the user: the record of the read proves it')
    await check('mine.py:21', noRun, 'the user')
  })
  test('renamed, seen by a command, and then changed by an editor that replaces', async () => {
    const agent = await say(write('a.py', linesOf('a')))
    await later()
    renameSync(at('a.py'), at('b.py'))
    await later()
    await exec('true')
    await later()
    sh("sed -i 's/line 5 that/line five that/' b.py")
    await check('b.py:3', ofOrUnknown(agent), 'the agent')
    await check('b.py:5', noRun, 'the user')
  })
  test('a copy of a folder of two runs, seen by a command, of which the user changes one file in place', async () => {
    const common = linesOf('common', 6)
    await say(write('src/a.py', linesOf('a', 6) + common))
    await later()
    const second = await say(write('src/b.py', linesOf('b', 6) + common))
    await later()
    sh('cp -r src src2')
    await later()
    await exec('true')
    await later()
    appendFileSync(at('src2/a.py'), 'mine\n')
    appendFileSync(at('src2/b.py'), 'mine\n')
    await check('src2/a.py:9', notOf(second), 'the first run')
    await check('src2/b.py:9', ofOrUnknown(second), 'the second run')
  })
  test('an edit with much unchanged context does not take the user’s lines', async () => {
    put('a.py', linesOf('a', 20))
    await later()
    const agent = await say(
      edit(
        'a.py',
        linesOf('a', 12),
        linesOf('a', 12).replace('line 5 that', 'line five that').replace('line 9 that', 'new\nline 9 that'),
      ),
    )
    await check('a.py:5', ofOrUnknown(agent))
    for (const line of [2, 4, 6, 8, 10, 15]) await check(`a.py:${line}`, noRun)
  })
  test('a renamed file whose old name has a new file of another run', async () => {
    const first = await say(write('a.py', linesOf('a')))
    await later()
    renameSync(at('a.py'), at('old.py'))
    await say(write('a.py', linesOf('quite another')))
    await check('old.py:3', ofOrUnknown(first))
    const { chain } = await ask('old.py:3')
    expect.soft(chain.map(({ how }) => how)).toContain('moved by hand')
  })
  test('the user’s unpacked files: chmod of one after an agent wrote into the other in place', async () => {
    sh(
      'for f in a b; do printf "shared header of all\\nname = $f\\n"; [ $f = b ] && printf "debug = false in this file\\n"; done > /dev/null; printf "shared header of all\\nname = a\\n" > a.ini; printf "shared header of all\\nname = b\\ndebug = false in this file\\n" > b.ini',
    )
    await later()
    const agent = await exec('echo "debug = false in this file" >> a.ini')
    await later()
    chmodSync(at('b.ini'), 0o600)
    await check('b.ini:3', notOf(agent), 'the user')
  })
  test('releases that change places by renamed folders', async () => {
    const first = await say(write('web/a.py', linesOf('a')))
    await later()
    const second = await talk(
      'c',
      'vary',
      [read('web/a.py')],
      [write('web.next/a.py', `${linesOf('a')}of the second\n`)],
    )
    await later()
    sh('mv web web.old; mv web.next web')
    await check('web/a.py:3', ofOrUnknown(second), 'the second run')
    await check('web.old/a.py:3', ofOrUnknown(first), 'the first run')
    sh('mv web web.next; mv web.old web')
    await check('web/a.py:3', ofOrUnknown(first), 'the first run')
    await check('web.next/a.py:3', ofOrUnknown(second), 'the second run')
  })
  test('the user’s older folder takes the place of the one that an agent made of it', async () => {
    put('conf/app.yml', linesOf('app'))
    await later()
    const agent = await talk(
      'c',
      'vary',
      [read('conf/app.yml')],
      [write('conf.new/app.yml', linesOf('app').replace('line 5 that', 'line five that'))],
    )
    await later()
    sh('rm -r conf.new; mv conf conf.new')
    await check('conf.new/app.yml:3', notOf(agent), 'the user: birth, mtime and ctime are older than the run')
  })
  test('a backup folder of the user’s own file, put back after an agent’s change', async () => {
    put('src/mine.py', linesOf('mine'))
    await later()
    sh('cp -r src src.bak')
    await later()
    const agent = await exec("sed -i 's/line 5 that/line five that/' src/mine.py")
    await later()
    sh('rm -r src; mv src.bak src')
    await check('src/mine.py:5', notOf(agent))
    await check('src/mine.py:3', noRun)
  })
})
