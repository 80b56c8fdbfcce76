import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe } from 'vitest'
import { undo } from '../../src/engine/files/undo.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { noRun, notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, read, write } from './hands.ts'

/** No answer may name another run than the true one, nor deny a run its line; unknown is allowed. */
describe.each(databases)('git, editors and links, on %s', (database) => {
  const test = testOn(database)
  const { pool, at, elsewhere, say, sayIn, talk, exec, git, sh, put, commit, run, check } = everydayHands(database)

  test('an agent stashes and pops the user’s uncommitted lines in two commands', async () => {
    put('a.py', linesOf('base'))
    git('init', '-q')
    commit()
    sh("sed -i 's/line 5 that base/line five of my own that base/' a.py")
    await later()
    await exec('git stash -q')
    const pop = await exec('git -c user.name=x -c user.email=x@y stash pop -q')
    await check('a.py:5', notOf(pop), 'the user (documented: restored content belongs to who restores it)')
    await check('a.py:3', noRun, 'the user')
  })
  test('an agent moves the user’s file out of the way and back in two commands', async () => {
    put('mine.py', linesOf('mine'))
    await later()
    await exec(`mv mine.py ${join(elsewhere(), 'kept.py')}`)
    const back = await exec(`mv ${join(elsewhere(), 'kept.py')} mine.py`)
    await check('mine.py:3', notOf(back), 'the user (documented: restored content belongs to who restores it)')
  })
  test('an agent looks at another branch and comes back', async () => {
    put('mine.py', linesOf('mine'))
    git('init', '-q')
    commit()
    git('checkout', '-qb', 'other')
    put('mine.py', linesOf('other'))
    commit()
    git('checkout', '-q', 'main')
    await later()
    await exec('git checkout -q other')
    const back = await exec('git checkout -q main')
    await check('mine.py:3', notOf(back), 'the user (documented: restored content belongs to who restores it)')
  })
  test('vim saves an agent’s file with a backup', async () => {
    const agent = await say(write('a.py', linesOf('a')))
    await later()
    // What vim does with `backup` and `backupcopy=no`.
    renameSync(at('a.py'), at('a.py~'))
    put('a.py', linesOf('a').replace('line 5', 'line five'))
    await check('a.py:5', noRun, 'the user')
    await check('a.py:3', ofOrUnknown(agent), 'the agent')
    await check('a.py~:5', ofOrUnknown(agent), 'the agent: vim’s backup is its file')
  })
  test('VS Code writes in place, twice, with a formatter', async () => {
    await say(write('a.js', linesOf('a')))
    await later()
    put('a.js', readFileSync(at('a.js'), 'utf8').replaceAll('made of', 'made of;'))
    await later()
    put('a.js', readFileSync(at('a.js'), 'utf8').replace('line 3 that a is made of;', 'line 3 that a is made of'))
    await check('a.js:5', noRun, 'the user’s formatter')
  })
  test('an editor that replaces a file after it was renamed', async () => {
    const agent = await say(write('a.py', linesOf('a')))
    await later()
    renameSync(at('a.py'), at('b.py'))
    sh("sed -i 's/line 5 that/line five that/' b.py")
    await check('b.py:3', ofOrUnknown(agent), 'the agent')
    await check('b.py:5', noRun, 'the user')
  })
  test('find and replace over many files of several runs and the user', async () => {
    const first = await say(write('src/a.py', linesOf('a')))
    const second = await exec('mkdir -p lib; for n in $(seq 12); do echo "line $n that b is made of"; done > lib/b.py')
    put('mine.py', linesOf('mine'))
    await later()
    sh("sed -i 's/line 5 that/line five that/' src/a.py lib/b.py mine.py")
    await check('src/a.py:3', ofOrUnknown(first))
    await check('lib/b.py:3', ofOrUnknown(second))
    await check('mine.py:3', noRun)
    for (const name of ['src/a.py', 'lib/b.py', 'mine.py']) await check(`${name}:5`, noRun, 'the user')
  })
  test('the user cuts a function out of an agent’s module and pastes it into his own', async () => {
    const fn = 'def shared_helper(value):\n    return value * 42 + 7\n'
    const agent = await say(write('agent.py', linesOf('before', 6) + fn + linesOf('after', 6)))
    put('mine.py', linesOf('mine', 40))
    await later()
    put('agent.py', linesOf('before', 6) + linesOf('after', 6))
    put('mine.py', linesOf('mine', 20) + fn + linesOf('mine', 40).split('\n').slice(20).join('\n'))
    await check('mine.py:21', ofOrUnknown(agent), 'the agent’s function')
    await check('mine.py:3', noRun)
    await check('agent.py:3', ofOrUnknown(agent))
  })
  test('the user joins modules of two runs and his own', async () => {
    const first = await say(write('a.py', linesOf('a')))
    const second = await say(write('b.py', linesOf('b')))
    put('c.py', linesOf('c'))
    await later()
    sh('cat a.py b.py c.py > all.py; rm a.py b.py c.py')
    await check('all.py:3', ofOrUnknown(first))
    await check('all.py:15', ofOrUnknown(second))
    await check('all.py:27', noRun)
  })
  test('an agent splits the user’s module by a command, then the user renames the parts', async () => {
    put('mine.py', linesOf('mine', 30))
    await later()
    const agent = await exec('head -15 mine.py > one.py; tail -15 mine.py > two.py; rm mine.py')
    await check('one.py:3', notOf(agent))
    await later()
    mkdirSync(at('parts'))
    renameSync(at('one.py'), at('parts/one.py'))
    renameSync(at('two.py'), at('parts/two.py'))
    await check('parts/one.py:3', noRun)
    await check('parts/two.py:3', noRun)
  })
  test('an agent replaces its own copy by the user’s file with a command', async () => {
    put('mine.py', linesOf('mine'))
    await later()
    const writer = await talk(
      'c',
      'copy it',
      [read('mine.py')],
      [write('copy.py', linesOf('mine').replace('line 5 that', 'line five that'))],
    )
    await later()
    const mover = await exec('mv mine.py copy.py')
    await check('copy.py:3', notOf(writer))
    await check('copy.py:3', notOf(mover))
  })
  test('an agent appends the user’s file to its own with cat, and removes it', async () => {
    put('mine.py', linesOf('mine'))
    const writer = await say(write('all.py', linesOf('all')))
    await later()
    await exec('cat mine.py >> all.py && rm mine.py')
    await check('all.py:15', noRun)
    await check('all.py:3', ofOrUnknown(writer))
  })
  test('a backup folder by hand, agents go on, the folder is put back', async () => {
    const first = await say(write('src/a.py', linesOf('a')))
    await later()
    sh('cp -r src src.bak')
    await later()
    const second = await exec("sed -i 's/line 5 that/line five that/' src/a.py")
    await later()
    sh('rm -r src; mv src.bak src')
    await check('src/a.py:5', notOf(second))
    await check('src/a.py:5', ofOrUnknown(first), 'the first run: the backup is a copy of its file')
    await check('src/a.py:3', ofOrUnknown(first))
  })
  test('an agent’s backup by a command of the user’s folder, put back by the user', async () => {
    put('src/mine.py', linesOf('mine'))
    await later()
    const backup = await exec('cp -r src src.bak')
    const change = await say(edit('src/mine.py', 'line 5 that', 'line five that'))
    await later()
    sh('rm -r src; mv src.bak src')
    await check('src/mine.py:5', notOf(backup))
    await check('src/mine.py:5', notOf(change))
    await check('src/mine.py:3', noRun)
  })
  test('.orig and .bak files of the user’s own, moved back over what an agent made of it', async () => {
    put('app.ini', linesOf('app'))
    await later()
    sh('cp app.ini app.ini.orig')
    await later()
    const agent = await say(write('app.ini', `[section]\n${linesOf('app').replaceAll('line', '  line')}`))
    await later()
    renameSync(at('app.ini.orig'), at('app.ini'))
    await check('app.ini:3', notOf(agent))
    await check('app.ini:5', notOf(agent))
  })
  test('case renames and renamed folders, with changes in place', async () => {
    const agent = await say(write('Readme.md', linesOf('readme')), write('old/x.py', linesOf('x')))
    await later()
    renameSync(at('Readme.md'), at('README.md'))
    appendFileSync(at('README.md'), 'mine\n')
    renameSync(at('old'), at('new'))
    sh("sed -i 's/line 5 that/line five that/' new/x.py")
    await check('README.md:3', ofOrUnknown(agent))
    await check('README.md:13', noRun)
    await check('new/x.py:3', ofOrUnknown(agent))
    await check('new/x.py:5', noRun)
  })
  test('a linked folder that leads to the agent’s and then to the user’s release', async () => {
    const agent = await say(write('v1/app.py', linesOf('app')))
    put('v2/app.py', linesOf('mine'))
    symlinkSync('v1', at('current'))
    await check('current/app.py:3', ofOrUnknown(agent))
    rmSync(at('current'))
    symlinkSync('v2', at('current'))
    await check('current/app.py:3', noRun)
  })
  test('an agent’s command writes through a linked folder', async () => {
    mkdirSync(at('v1'))
    symlinkSync('v1', at('current'))
    const agent = await exec('for n in $(seq 12); do echo "line $n that a is made of"; done > current/a.py')
    await check('v1/a.py:3', ofOrUnknown(agent))
    await check('current/a.py:3', ofOrUnknown(agent))
  })
  test('an agent’s file that becomes a link to the user’s', async () => {
    const agent = await say(write('conf.yml', linesOf('conf')))
    put('shared.yml', linesOf('conf').replace('line 2 that', 'line two that'))
    await later()
    rmSync(at('conf.yml'))
    symlinkSync('shared.yml', at('conf.yml'))
    await check('conf.yml:3', notOf(agent), 'the user wrote shared.yml himself')
  })
  test('a hard link that is broken by an editor', async () => {
    const agent = await say(write('a.py', linesOf('a')))
    await later()
    linkSync(at('a.py'), at('b.py'))
    await check('b.py:3', ofOrUnknown(agent))
    sh("sed -i 's/line 5 that/line five that/' b.py")
    await check('b.py:3', ofOrUnknown(agent))
    await check('b.py:5', noRun)
    await check('a.py:5', ofOrUnknown(agent))
  })
  test('line ends: the user converts an agent’s file, an agent the user’s', async () => {
    const agent = await say(write('a.bat', linesOf('a')))
    put('mine.bat', linesOf('mine'))
    await later()
    sh("sed -i 's/$/\\r/' a.bat")
    await exec("sed -i 's/$/\\r/' mine.bat")
    await check('a.bat:3', ofOrUnknown(agent))
    await check('mine.bat:3', notOf(agent), 'the user, or the run that converted it')
    await later()
    sh("sed 's/\\r//' mine.bat > unix.bat; rm mine.bat; mv unix.bat mine.bat")
    await check('mine.bat:3', notOf(agent))
  })
  test('names with spaces, letters of other scripts, and in hidden folders', async () => {
    const agent = await exec(
      'mkdir -p .github/workflows; for f in "my notes.md" "größe.md" .github/workflows/ci.yml; do for n in $(seq 5); do echo "line $n that is in $f"; done > "$f"; done',
    )
    for (const name of ['my notes.md', 'größe.md', '.github/workflows/ci.yml'])
      await check(`${name}:3`, ofOrUnknown(agent))
  })
  test('sessions in the folder and in a sub-folder change the same file by turns with the user', async () => {
    mkdirSync(at('web'))
    const first = await say(write('web/a.py', linesOf('a')))
    const second = await sayIn(at('web'), edit('a.py', 'line 5 that a is made of', 'a line of the second run'))
    await later()
    sh("sed -i 's/line 9 that/line nine that/' web/a.py")
    await sayIn(at('web'), run('true'))
    const third = await exec("sed -i 's/line 7 that/line seven that/' web/a.py")
    await check('web/a.py:3', ofOrUnknown(first))
    await check('web/a.py:5', ofOrUnknown(second))
    await check('web/a.py:9', noRun)
    await check('web/a.py:7', ofOrUnknown(third))
  })
  test('a session in a linked folder', async () => {
    mkdirSync(at('project'))
    symlinkSync('project', at('link'))
    const agent = await sayIn(at('link'), write('a.py', linesOf('a')))
    const command = await sayIn(at('link'), run('for n in $(seq 12); do echo "line $n that b is made of"; done > b.py'))
    await check('project/a.py:3', ofOrUnknown(agent))
    await check('project/b.py:3', ofOrUnknown(command))
    await check('link/b.py:3', ofOrUnknown(command))
  })
  test('two very similar configs: the user changes one to the value of the other', async () => {
    const conf = (env: string, port: number) => `[server]\nname = ${env}\nport = ${port}\nworkers = 4\ntimeout = 30\n`
    const dev = await say(write('dev.ini', conf('dev', 8080)))
    const prod = await say(write('prod.ini', conf('prod', 80)))
    await later()
    put('dev.ini', conf('dev', 80))
    await check('dev.ini:3', noRun, 'the user')
    await check('dev.ini:4', notOf(prod))
    put('dev.ini', conf('prod', 80))
    await check('dev.ini:2', notOf(dev))
    await check('dev.ini:2', notOf(prod), 'the user typed it')
    await check('dev.ini:3', notOf(prod), 'the user typed it')
  })
  test('small files of the user with the content that an agent’s have', async () => {
    await say(
      write('a/VERSION', '1.2.3\n'),
      write('a/.nvmrc', '22\n'),
      write('a/robots.txt', 'User-agent: *\nDisallow:\n'),
    )
    await later()
    put('b/VERSION', '1.2.3\n')
    put('b/.nvmrc', '22\n')
    put('b/robots.txt', 'User-agent: *\nDisallow:\n')
    await check('b/VERSION:1', noRun)
    await check('b/.nvmrc:1', noRun)
    await check('b/robots.txt:1', noRun)
  })
  test('a lock file that an agent’s and the user’s install change by turns', async () => {
    const entry = (n: number) => `"pkg-${n}": {\n  "version": "1.0.${n}",\n  "resolved": "https://r/pkg-${n}"\n},\n`
    put('lock.json', [1, 2, 3].map(entry).join(''))
    await later()
    writeFileSync(join(elsewhere(), 'l'), [1, 2, 3, 4].map(entry).join(''))
    const agent = await exec(`cat ${join(elsewhere(), 'l')} > lock.json`)
    await later()
    put('lock.json', [1, 2, 3, 4, 5].map(entry).join(''))
    await check('lock.json:2', noRun)
    await check('lock.json:14', ofOrUnknown(agent))
    await check('lock.json:18', noRun)
  })
  test('a shopping list: the user deletes an agent’s entry, and writes it again later', async () => {
    const agent = await say(write('todo.md', '- buy milk for the week\n- call the dentist\n'))
    await later()
    put('todo.md', '- call the dentist\n')
    await exec('true')
    await later()
    put('todo.md', '- call the dentist\n- buy milk for the week\n')
    await check('todo.md:2', notOf(agent), 'the user typed it')
    await check('todo.md:1', ofOrUnknown(agent))
  })
  test('undo after an agent’s copy of the user’s file was moved by the user', async () => {
    put('mine.py', linesOf('mine'))
    await later()
    const agent = await say(edit('mine.py', 'line 5 that', 'line five that'))
    await later()
    renameSync(at('mine.py'), at('moved.py'))
    await undo(pool().engine, agent)
    await check('moved.py:3', noRun)
    await check('moved.py:5', ofOrUnknown(agent))
  })
  test('undo of a rewrite of the user’s file, and the user goes on in place', async () => {
    put('a.py', linesOf('a'))
    await later()
    const agent = await say(write('a.py', `${linesOf('a', 4)}${linesOf('the agent', 8)}`))
    await undo(pool().engine, agent)
    await later()
    appendFileSync(at('a.py'), 'mine\n')
    for (const line of [2, 9, 13]) await check(`a.py:${line}`, noRun)
  })
  test('touch and chmod of the user’s file that an agent copied with cp', async () => {
    put('mine.py', linesOf('mine'))
    await later()
    const agent = await exec('cp mine.py agents.py')
    await later()
    utimesSync(at('mine.py'), new Date(), new Date())
    chmodSync(at('mine.py'), 0o755)
    await check('mine.py:3', noRun)
    await check('agents.py:3', notOf(agent), 'copied from the user’s')
    sh('touch agents.py')
    renameSync(at('agents.py'), at('x.py'))
    await check('x.py:3', noRun)
  })
})
