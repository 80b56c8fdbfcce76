import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, cpSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect } from 'vitest'
import { undo } from '../../src/engine/files/undo.ts'
import { raw } from '../../src/store/raw.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { commandHands } from './command-hands.ts'
import { noRun, notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater } from './file-clock.ts'
import { edit, read, write } from './hands.ts'

const linesOf = (name: string, count = 12) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} that ${name} is made of\n`).join('')

/** What people do with git, editors and copies: no answer may be wrong, however it came about. */
describe.each(databases)('everyday work, on %s', (database) => {
  const test = testOn(database)
  const { pool, at, elsewhere, say, sayIn, talk, exec, author } = commandHands(database)
  const gitIn = (folder: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], { cwd: folder, stdio: 'pipe' })
  const git = (...args: string[]) => gitIn(at('.'), ...args)
  /** An agent reads a file, and then writes another one. */
  const readAndWrite = (from: string, to: string, text: string) =>
    talk('reader', 'copy it', [read(from)], [write(to, text)])
  /** Changes rows to what they were before a migration. */
  const forget = (change: string) =>
    pool().engine.store.write('step', async (tx) => void (await tx.run(raw(tx.build, sql.raw(change)))))

  // Restored contents.
  test('a file that git restores is not told as a copy of one with the same content', async () => {
    git('init', '-q')
    writeFileSync(at('mine.json'), linesOf('config'))
    git('add', '.')
    git('commit', '-qm', 'mine')
    await untilFilesAreLater()
    await readAndWrite('mine.json', 'staging.json', linesOf('config'))
    await say(edit('mine.json', 'line 5 that config', 'line five that config'))
    await untilFilesAreLater()
    git('checkout', 'mine.json')
    expect(await author('mine.json:5')).toEqual(noRun)
  })
  test('a file that git restores is not told as a copy of one with the same content, if another run wrote it first', async () => {
    git('init', '-q')
    await say(write('a.json', linesOf('config')))
    const twin = await say(write('d.json', linesOf('config')))
    git('add', '.')
    git('commit', '-qm', 'base')
    await say(write('a.json', linesOf('other')))
    await untilFilesAreLater()
    git('checkout', 'a.json')
    expect(await author('a.json:5')).toEqual(notOf(twin))
  })
  test('a backup that comes back with its times is not told as a copy of another file with the same content', async () => {
    await say(write('a.py', linesOf('both')))
    await untilFilesAreLater()
    const twin = await say(write('d.py', linesOf('both')))
    execFileSync('cp', ['-a', at('a.py'), join(elsewhere(), 'a.py')])
    await say(edit('a.py', 'line 5 that both', 'line five that both'))
    await untilFilesAreLater()
    execFileSync('cp', ['-a', join(elsewhere(), 'a.py'), at('a.py')])
    expect(await author('a.py:5')).toEqual(notOf(twin))
  })

  // Files that become like another one.
  test('a file that git restores is not told as a copy of one that is like it', async () => {
    git('init', '-q')
    writeFileSync(at('mine.yaml'), `${linesOf('template')}name: mine\n`)
    git('add', '.')
    git('commit', '-qm', 'mine')
    await untilFilesAreLater()
    await readAndWrite('mine.yaml', 'b.yaml', `${linesOf('template')}name: b\n`)
    await say(write('mine.yaml', linesOf('quite another')))
    await untilFilesAreLater()
    git('checkout', 'mine.yaml')
    expect(await author('mine.yaml:5')).toEqual(noRun)
  })
  test('search and replace that makes a file like another one does not make it a copy', async () => {
    const yaml = (version: string) =>
      `${Array.from({ length: 12 }, (_, key) => `  key-${key}: value of ${version}\n`).join('')}name: only ${version}\n`
    await say(write('v1.yaml', yaml('v1')))
    await say(write('v2.yaml', yaml('v2')))
    await untilFilesAreLater()
    execFileSync('sed', ['-i', 's/value of v1/value of v2/', at('v1.yaml')])
    expect(await author('v1.yaml:5')).toEqual(noRun)
  })
  test('a formatter that makes a file like another one does not make it a copy', async () => {
    const code = (quote: string, name: string) =>
      `${Array.from({ length: 12 }, (_, step) => `console.log(${quote}step ${step} of the setup${quote})\n`).join('')}run(${name})\n`
    await say(write('a.js', code('"', 'a')))
    await say(write('b.js', code("'", 'b')))
    await untilFilesAreLater()
    writeFileSync(at('a.js'), code("'", 'a'))
    expect(await author('a.js:5')).toEqual(noRun)
  })
  test('a line that both had is not the old file’s once another one took its place and was changed', async () => {
    const old = await say(write('app.py', linesOf('a') + linesOf('common')))
    const next = await say(write('app_new.py', linesOf('b') + linesOf('common')))
    await untilFilesAreLater()
    renameSync(at('app_new.py'), at('app.py'))
    appendFileSync(at('app.py'), 'by hand\n')
    expect(await author('app.py:3')).toEqual(ofOrUnknown(next))
    expect(await author('app.py:15')).toEqual(notOf(old))
  })

  // Records without a time.
  test('after an undo a copy of another file that is made executable is not told as one of the restored file', async () => {
    const first = await say(write('a.py', linesOf('both')))
    const second = await say(write('d.py', linesOf('both')))
    await undo(pool().engine, await say(edit('a.py', 'line 5 that both', 'line five that both')))
    await untilFilesAreLater()
    cpSync(at('d.py'), at('run.py'))
    await untilFilesAreLater()
    chmodSync(at('run.py'), 0o755)
    expect(await author('run.py:3')).toEqual(notOf(first))
    expect(await author('run.py:3')).toEqual(ofOrUnknown(second))
  })
  test('a record without a time does not match every time', async () => {
    const command = await exec(
      'for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "line $n that both is made of"; done > b.py',
    )
    const first = await say(write('a.py', linesOf('both')))
    await forget('UPDATE command_changes SET modified_at = NULL, before_modified_at = NULL, before_changed_at = NULL')
    await untilFilesAreLater()
    cpSync(at('a.py'), at('run.py'))
    await untilFilesAreLater()
    chmodSync(at('run.py'), 0o755)
    expect(await author('run.py:3')).toEqual(notOf(command))
    expect(await author('run.py:3')).toEqual(ofOrUnknown(first))
  })

  // Files of the user that a run copied.
  test('a file that the user goes on with is not told as a copy of what an agent made of it', async () => {
    writeFileSync(at('mine.py'), linesOf('mine', 20))
    await untilFilesAreLater()
    const run = await readAndWrite('mine.py', 'agents.py', `${linesOf('mine', 20)}a line of the agent\n`)
    await untilFilesAreLater()
    appendFileSync(at('mine.py'), 'one more of my own\n')
    // What the agent read was there before it wrote.
    expect(await author('mine.py:3')).toEqual({ by: 'before' })
    appendFileSync(at('mine.py'), 'a line of the agent\n')
    expect(await author('mine.py:22')).toEqual(ofOrUnknown(run))
  })
  test('a file of the user that an agent copied stays the user’s if it is moved, made executable or copied with its times', async () => {
    writeFileSync(at('mine.py'), linesOf('mine'))
    await untilFilesAreLater()
    await readAndWrite('mine.py', 'agents.py', linesOf('mine'))
    await untilFilesAreLater()
    cpSync(at('mine.py'), at('copy.py'), { preserveTimestamps: true })
    expect(await author('copy.py:3')).toEqual(noRun)
    chmodSync(at('mine.py'), 0o755)
    expect(await author('mine.py:3')).toEqual(noRun)
    renameSync(at('mine.py'), at('renamed.py'))
    expect(await author('renamed.py:3')).toEqual(noRun)
  })
  test('a file of the user that an agent copied stays the user’s if git switches to another branch and back', async () => {
    git('init', '-q', '-b', 'main')
    writeFileSync(at('base'), 'base\n')
    git('add', '.')
    git('commit', '-qm', 'base')
    git('branch', 'other')
    writeFileSync(at('mine.py'), linesOf('mine', 20))
    git('add', '.')
    git('commit', '-qm', 'mine')
    await untilFilesAreLater()
    await readAndWrite('mine.py', 'agents.py', `${linesOf('mine', 20)}a line of the agent\n`)
    await untilFilesAreLater()
    git('checkout', '-q', 'other')
    git('checkout', '-q', 'main')
    expect(await author('mine.py:3')).toEqual(noRun)
  })
  test('a file of the user that an agent copied stays the user’s if another agent edits it, and records have no times', async () => {
    writeFileSync(at('mine.py'), linesOf('mine', 20))
    await untilFilesAreLater()
    await readAndWrite('mine.py', 'agents.py', linesOf('mine', 20))
    await say(edit('mine.py', 'line 20 that mine is made of', 'of the second agent'))
    await forget('UPDATE file_changes SET before_modified_at = NULL, before_changed_at = NULL, line_hashes = NULL')
    expect(await author('mine.py:3')).toEqual(noRun)
  })
  test('a text that the user writes is not told as a copy from another project', async () => {
    const other = join(elsewhere(), 'other')
    mkdirSync(other)
    await sayIn(other, write('LICENSE', linesOf('the license')))
    await untilFilesAreLater()
    writeFileSync(at('LICENSE'), linesOf('the license'))
    expect(await author('LICENSE:3')).toEqual(noRun)
  })

  test('a file of the user that an agent copied stays the user’s if it is renamed and changed', async () => {
    writeFileSync(at('mine.py'), linesOf('mine', 20))
    await untilFilesAreLater()
    await readAndWrite('mine.py', 'agents.py', `${linesOf('mine', 20)}a line of the agent\n`)
    await untilFilesAreLater()
    renameSync(at('mine.py'), at('own.py'))
    appendFileSync(at('own.py'), 'one more of my own\n')
    expect(await author('own.py:3')).toEqual(noRun)
  })
  test('a file that a command removes and git restores is not denied to its run', async () => {
    git('init', '-q')
    const first = await say(write('a.py', linesOf('a')))
    git('add', '.')
    git('commit', '-qm', 'a')
    await exec('rm a.py')
    await untilFilesAreLater()
    git('checkout', 'a.py')
    expect(await author('a.py:3')).toEqual(ofOrUnknown(first))
  })

  // Other folders.
  test('a project folder that is renamed does not deny its lines once a file is changed', async () => {
    mkdirSync(at('project'))
    const first = await sayIn(at('project'), write('a.py', linesOf('a')))
    renameSync(at('project'), at('renamed'))
    expect(await author('renamed/a.py:3')).toEqual(ofOrUnknown(first))
    appendFileSync(at('renamed/a.py'), 'by hand\n')
    expect(await author('renamed/a.py:3')).toEqual(ofOrUnknown(first))
  })
  test('lines that git merges from a worktree are not denied', async () => {
    const [main, tree] = [at('main'), at('tree')]
    mkdirSync(main)
    gitIn(main, 'init', '-q', '-b', 'main')
    writeFileSync(join(main, 'app.py'), linesOf('app', 20))
    gitIn(main, 'add', '.')
    gitIn(main, 'commit', '-qm', 'base')
    gitIn(main, 'worktree', 'add', '-q', '-b', 'feature', tree)
    const first = await sayIn(
      tree,
      edit('app.py', 'line 15 that app is made of', 'a line of the agent in the worktree\nand another of its lines'),
    )
    gitIn(tree, 'commit', '-qam', 'feature')
    writeFileSync(join(main, 'app.py'), linesOf('app', 20).replace('line 2 that', 'line two that'))
    gitIn(main, 'commit', '-qam', 'mine')
    gitIn(main, 'merge', '-q', '-m', 'merge', 'feature')
    expect(await author('main/app.py:15')).toEqual(ofOrUnknown(first))
  })
  test('a file that is moved to the folder of another session and changed is not denied', async () => {
    mkdirSync(at('one'))
    mkdirSync(at('two'))
    const first = await sayIn(at('one'), write('a.py', linesOf('a')))
    await sayIn(at('two'), write('z.py', linesOf('z')))
    renameSync(at('one/a.py'), at('two/b.py'))
    appendFileSync(at('two/b.py'), 'by hand\n')
    expect(await author('two/b.py:3')).toEqual(ofOrUnknown(first))
  })

  // Contents that are not known.
  test('a file of a command that was not read is not denied once it is moved', async () => {
    const first = await exec(
      'mkdir made; for i in $(seq 700); do for n in 1 2 3; do echo "line $n of the file $i that is made"; done > made/$i.txt; done',
    )
    const [unread] = await pool().engine.store.read((rows) =>
      rows.all(raw<{ path: string }>(rows.build, sql`SELECT path FROM command_changes WHERE after_hash = ''`)),
    )
    renameSync(at(unread?.path ?? ''), at('moved.txt'))
    expect(await author('moved.txt:2')).toEqual(ofOrUnknown(first))
  })
  test('a file of a command of more than a megabyte is not denied once it is moved', async () => {
    const first = await exec('seq -f "line %g of the file that a command has made" 30000 > log.txt')
    renameSync(at('log.txt'), at('moved.txt'))
    expect(await author('moved.txt:2')).toEqual(ofOrUnknown(first))
  })
  test('a content that was not stored is not denied once its file is moved and changed', async () => {
    await exec(
      'for f in $(seq -w 12); do seq -f "row %g of the file $f with a few more words in it" 9000 > f$f.txt; done',
    )
    await untilFilesAreLater()
    const second = await exec(`sed -i 's/few more/lot of/' f*.txt`)
    renameSync(at('f10.txt'), at('g.txt'))
    appendFileSync(at('g.txt'), 'by hand\n')
    expect(await author('g.txt:3')).toEqual(ofOrUnknown(second))
  })
  test('a file of a megabyte that is moved and changed is not denied', async () => {
    const rows = Array.from({ length: 24_000 }, (_, row) => `row ${row} with some words that a run wrote\n`).join('')
    const first = await say(write('big.txt', rows))
    renameSync(at('big.txt'), at('moved.txt'))
    appendFileSync(at('moved.txt'), 'by hand\n')
    expect(await author('moved.txt:5')).toEqual(ofOrUnknown(first))
  })
  test('a file of short lines that is moved and changed is not denied', async () => {
    const first = await say(write('n.txt', Array.from({ length: 60 }, (_, each) => `${each}\n`).join('')))
    renameSync(at('n.txt'), at('m.txt'))
    appendFileSync(at('m.txt'), '61\n')
    expect(await author('m.txt:5')).toEqual(ofOrUnknown(first))
  })

  // Many versions.
  test('records without hashes are compared, also if they are not among the last eight', async () => {
    const first = await say(write('w.py', linesOf('wanted')))
    cpSync(at('w.py'), at('copy.py'))
    for (let round = 0; round < 10; round++) await say(write('w.py', linesOf(`round ${round}`)))
    await forget('UPDATE file_changes SET line_hashes = NULL')
    appendFileSync(at('copy.py'), 'by hand\n')
    expect(await author('copy.py:3')).toEqual(ofOrUnknown(first))
  })
  test('lines of a version that was not compared, among many that have some of them, are not denied', async () => {
    const first = await say(write('w.py', linesOf('base')))
    for (let version = 2; version <= 20; version++)
      await say(edit('w.py', 'line 12 that', `added in version ${version} of all\nline 12 that`))
    cpSync(at('w.py'), at('copy.py'))
    for (let round = 0; round < 20; round++)
      await say(write('w.py', round % 2 ? linesOf('stub', 3) : linesOf('base', 4) + linesOf(`round ${round}`)))
    appendFileSync(at('copy.py'), 'by hand\n')
    expect(await author('copy.py:3')).toEqual(ofOrUnknown(first))
  })
})
