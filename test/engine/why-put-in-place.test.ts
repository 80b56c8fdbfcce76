import { appendFileSync, chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { noRun, notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, read, write } from './hands.ts'

/** No answer may name another run than the true one, nor deny a run its line; unknown is allowed. */
describe.each(databases)('files that people put in the place of others, on %s', (database) => {
  const test = testOn(database)
  const { at, elsewhere, say, talk, exec, git, gitIn, sh, put, commit, run, check } = everydayHands(database)

  test('files of one clone, of which an agent’s formatter writes one in its place', async () => {
    put('origin/one.json', '{"name":"one","strict":true,"target":"es2022","module":"nodenext"}\n')
    const formatted = (name: string) =>
      `{\n  "name": "${name}",\n  "strict": true,\n  "target": "es2022",\n  "module": "nodenext"\n}\n`
    put('origin/two.json', formatted('two'))
    gitIn(at('origin'), 'init', '-q')
    gitIn(at('origin'), 'add', '-A')
    gitIn(at('origin'), 'commit', '-qm', 'all')
    git('clone', '-q', at('origin'), at('app'))
    rmSync(at('origin'), { recursive: true })
    await later()
    const format = await exec(
      `node -e "const fs=require('fs');fs.writeFileSync('app/one.json',JSON.stringify(JSON.parse(fs.readFileSync('app/one.json','utf8')),null,2)+'\\n')"`,
    )
    await check('app/one.json:3', ofOrUnknown(format), 'the formatter')
    await check('app/two.json:3', noRun, 'the user: two.json was never touched')
    await later()
    put('app/two.json', formatted('two').replace('es2022', 'es2023'))
    await check('app/two.json:3', noRun, 'the user: only he changed two.json, in its place')
    chmodSync(at('app/two.json'), 0o600)
    await check('app/two.json:3', noRun, 'the user: only he changed two.json, in its place')
  })
  test('two files of one command, of which another run appends to one and the user renames the other', async () => {
    const first = await exec(
      'numbers=$(seq 12); exec 3> a.conf 4> b.conf; for n in $numbers; do echo "key_$n = value number $n" >&3; [ $n = 12 ] || echo "key_$n = value number $n" >&4; done',
    )
    await later()
    const second = await exec('echo "key_12 = value number 12" >> b.conf')
    await later()
    renameSync(at('a.conf'), at('c.conf'))
    await check('c.conf:12', notOf(second), 'the first run')
    await check('c.conf:12', ofOrUnknown(first), 'the first run')
    appendFileSync(at('c.conf'), 'mine = by hand\n')
    await check('c.conf:12', notOf(second), 'the first run')
    await check('c.conf:3', ofOrUnknown(first), 'the first run')
  })
  test('files that the user unpacks at once, of which an agent appends to one', async () => {
    sh('for f in dev prod; do for n in $(seq 8); do echo "option_$n: the same in $f and others"; done > $f.yml; done')
    sh('echo "timeout_seconds: thirty of them" >> prod.yml')
    sh('tar cf ../x.tar dev.yml prod.yml; rm dev.yml prod.yml; tar xmf ../x.tar; rm ../x.tar')
    await later()
    const agent = await exec('echo "timeout_seconds: thirty of them" >> dev.yml')
    await check('dev.yml:9', ofOrUnknown(agent), 'the agent')
    await check('prod.yml:9', noRun, 'the user')
    await later()
    appendFileSync(at('prod.yml'), 'mine: yes\n')
    await check('prod.yml:9', noRun, 'the user')
  })
  test('the user’s own notes, pasted in chat, written down with a heredoc, and saved by the user as well', async () => {
    const notes = linesOf('my notes')
    writeFileSync(join(elsewhere(), 'notes.md'), notes)
    await talk('notes', `write this down:\n${notes}`, [run(`cat > notes.md <<'END'\n${notes}END`)])
    await later()
    sh(`cp ${join(elsewhere(), 'notes.md')} my-notes.md`)
    await check('my-notes.md:3', noRun, 'the user')
  })
  test('notes that the user pasted in chat, an agent wrote down with write_file, and the user saved as well', async () => {
    const notes = linesOf('my notes')
    writeFileSync(join(elsewhere(), 'notes.md'), notes)
    await talk('notes', `write this down:\n${notes}`, [write('notes.md', notes)])
    await later()
    sh(`cp ${join(elsewhere(), 'notes.md')} my-notes.md`)
    await check('my-notes.md:3', noRun, 'the user')
  })
  test('the user’s file moved over the agent’s changed copy of it', async () => {
    put('config.yaml', linesOf('config'))
    await later()
    const agent = await talk(
      'c',
      'improve it',
      [read('config.yaml')],
      [write('config.new.yaml', linesOf('config').replace('line 5 that', 'line five that'))],
    )
    await later()
    renameSync(at('config.yaml'), at('config.new.yaml'))
    await check('config.new.yaml:3', notOf(agent), 'the user: his older file is there now')
    await check('config.new.yaml:5', notOf(agent), 'the user')
  })
  test('the user’s master from elsewhere, with its times, over the agent’s changed copy of it', async () => {
    const master = join(elsewhere(), 'app.conf')
    writeFileSync(master, linesOf('master'))
    await later()
    const agent = await talk('c', `this is it:\n${linesOf('master')}`, [
      write('app.conf', linesOf('master').replace('line 5 that', 'line five that')),
    ])
    await later()
    sh(`cp -a ${master} app.conf`)
    await check('app.conf:3', notOf(agent), 'the user: the content is older than the run')
  })
  test('the user’s file copied over the agent’s changed copy of it', async () => {
    put('config.yaml', linesOf('config'))
    await later()
    const agent = await talk(
      'c',
      'improve it',
      [read('config.yaml')],
      [write('new.yaml', linesOf('config').replace('line 5 that', 'line five that'))],
    )
    await later()
    sh('cp config.yaml new.yaml')
    await check('new.yaml:3', notOf(agent), 'the user: copied from his own file')
  })
  test('an agent’s file that the user deletes, and writes himself with the same boilerplate', async () => {
    const boilerplate = '#!/usr/bin/env python3\nimport sys\nimport os\n'
    const end = "if __name__ == '__main__':\n    sys.exit(main())\n"
    const agent = await say(write('tool.py', boilerplate + linesOf('the agent', 20) + end))
    await later()
    rmSync(at('tool.py'))
    await exec('ls')
    await later()
    put('tool.py', boilerplate + linesOf('me', 30) + end)
    await check('tool.py:2', notOf(agent), 'the user wrote a new file')
    await check('tool.py:10', noRun, 'the user')
  })
  test('an agent’s file that the user deletes and writes himself, and no command ran', async () => {
    const boilerplate = '#!/usr/bin/env python3\nimport sys\nimport os\n'
    const agent = await say(write('tool.py', boilerplate + linesOf('the agent', 20)))
    await later()
    rmSync(at('tool.py'))
    await later()
    put('tool.py', boilerplate + linesOf('me', 30))
    await check('tool.py:2', notOf(agent), 'the user wrote a new file')
  })
  test('a content of the user that was never recorded comes back from git, while an agent’s copy of it is there', async () => {
    put('mine.json', linesOf('config'))
    git('init', '-q')
    commit()
    await later()
    const twin = await talk('c', 'copy it', [read('mine.json')], [write('staging.json', linesOf('config'))])
    await later()
    sh("sed -i 's/line 5 that/line FIVE that/' mine.json")
    await later()
    await say(edit('mine.json', 'line 9 that', 'line nine that'))
    await later()
    git('checkout', 'mine.json')
    await check('mine.json:5', notOf(twin), 'the user: as committed before the agent copied it')
    await check('mine.json:3', notOf(twin), 'the user')
    await check('mine.json:9', notOf(twin), 'the user')
  })
  test('reverted and the revert reverted, with a command in between and a change by hand', async () => {
    put('a.py', linesOf('base'))
    git('init', '-q')
    commit('base')
    await later()
    const agent = await say(
      edit('a.py', 'line 5 that base is made of', 'a line that the agent added\nanother of the agent'),
    )
    commit('agent')
    git('revert', '--no-edit', 'HEAD')
    await later()
    await exec('true')
    await later()
    git('revert', '--no-edit', 'HEAD')
    appendFileSync(at('a.py'), 'by hand\n')
    await check('a.py:5', ofOrUnknown(agent), 'the agent')
    await check('a.py:3', noRun, 'the user')
    await check('a.py:14', noRun, 'the user')
  })
  test('cherry-pick of an agent’s commit onto another branch that changed around it', async () => {
    put('a.py', linesOf('base', 20))
    git('init', '-q')
    commit('base')
    git('branch', 'release')
    await later()
    const agent = await say(
      edit('a.py', 'line 15 that base is made of', 'a fix that the agent made\nwith a second line'),
    )
    commit('fix')
    const fix = git('rev-parse', 'HEAD').toString().trim()
    git('checkout', '-q', 'release')
    await later()
    put('a.py', linesOf('base', 20).replace('line 2 that', 'line two that'))
    commit('release')
    git('cherry-pick', fix)
    await check('a.py:15', ofOrUnknown(agent), 'the agent')
    await check('a.py:2', noRun, 'the user')
    await check('a.py:7', noRun, 'the user')
  })
  test('rebase of an agent’s branch onto the user’s', async () => {
    put('a.py', linesOf('base', 20))
    git('init', '-q')
    commit('base')
    git('checkout', '-qb', 'feature')
    await later()
    const agent = await say(edit('a.py', 'line 15 that base is made of', 'of the agent, first\nof the agent, second'))
    await say(write('new.py', linesOf('new')))
    commit('feature')
    git('checkout', '-q', 'main')
    await exec('ls')
    await later()
    put('a.py', linesOf('base', 20).replace('line 2 that', 'line two that'))
    commit('mine')
    await later()
    git('checkout', '-q', 'feature')
    git('rebase', '-q', 'main')
    await check('a.py:15', ofOrUnknown(agent), 'the agent')
    await check('a.py:2', noRun, 'the user')
  })
  test('stash of a new file and pop, with a command in between', async () => {
    put('base', 'base\n')
    git('init', '-q')
    commit()
    const agent = await say(write('a.py', linesOf('a')))
    git('stash', '-qu')
    await exec('ls')
    await later()
    git('stash', 'pop', '-q')
    appendFileSync(at('a.py'), 'mine\n')
    await check('a.py:3', ofOrUnknown(agent), 'the agent')
    await check('a.py:13', noRun, 'the user')
  })
})
