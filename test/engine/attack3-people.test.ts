import { describe, test } from 'vitest'
import { linesOf } from './everyday-hands.ts'
import { attackDatabases, attackHands, user } from './attack3-hands.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, read, write } from './hands.ts'

const text = linesOf('a')
const g = 'git -c user.name=x -c user.email=x@y -c init.defaultBranch=main'

const renames: Record<string, string> = {
  mv: 'mv f g',
  'git mv': `${g} init -q .; git add f; git mv f g`,
  'over another folder': 'mkdir s; mv f s/; mv s/f g; rmdir s',
  'twice': 'mv f h; mv h g',
  'ln and rm': 'ln f g; rm f',
  'python': `python3 -c "import os; os.rename('f','g')"`,
}
const copies: Record<string, string> = {
  'cp -p': 'cp -p f g',
  'cp -a': 'cp -a f g',
  'tar': 'mkdir s; tar --format=posix -cf - f | tar xpf - -C s; mv s/f g; rmdir s',
  'touch -r': 'cp f g; touch -r f g',
}
const plainCopies: Record<string, string> = {
  cp: 'cp f g',
  cat: 'cat f > g',
  'cp of a folder': 'mkdir s; cp f s/f; mv s/f g; rmdir s',
  'git show': `${g} init -q .; git add f; ${g} commit -qm c; git show HEAD:f > g`,
  'head': 'head -100 f > g',
  'ln -s and cp': 'ln -s f l; cp l g; rm l',
}
const savers: Record<string, (change: string) => string> = {
  'in place': (change) => `sed '${change}' f > /tmp/$$.s; cat /tmp/$$.s > f; rm /tmp/$$.s`,
  'by a new file': (change) => `sed -i '${change}' f`,
  'with a backup that stays': (change) => `sed -i.bak '${change}' f`,
  'as vim': (change) => `mv f f~; sed '${change}' f~ > f; rm f~`,
  'as vim with a backup that stays': (change) => `mv f f~; sed '${change}' f~ > f`,
  'as emacs': (change) => `cp -p f f~; sed '${change}' f~ > /tmp/$$.s; cat /tmp/$$.s > f; rm /tmp/$$.s`,
  'with a swap file': (change) => `cp f .f.swp; sed '${change}' .f.swp > f.new; mv f.new f; rm .f.swp`,
  'over a link': (change) => `ln -s f l; sed -i --follow-symlinks '${change}' l; rm l`,
  'truncating first': (change) => `x=$(sed '${change}' f); : > f; echo "$x" > f`,
  'twice': (change) => `sed -i '${change}' f; touch f`,
}
const undoings: Record<string, string> = {
  'git checkout': 'git checkout -q f',
  'git restore': 'git restore f',
  'git stash': `${g} stash -q`,
  'git reset --hard': 'git reset -q --hard',
  'git show >': 'git show HEAD:f > f',
  'a branch and back': `${g} commit -qam x; git checkout -q HEAD~1`,
}

describe.each(attackDatabases)('attack: people, on %s', (database) => {
  const { say, exec, sh, put, exact, soft, talk } = attackHands(database)
  const made = () => say(write('f', text))

  test.each(Object.entries(renames))('a rename by %s', async (_, command) => {
    const a = await made()
    await later()
    sh(command)
    await exact('g', { '1-12': a })
    await later()
    const b = await say(edit('g', 'line 5', 'line five'))
    await exact('g', { 3: a, 5: b, 12: a })
    await later()
    sh('sed -i "s/line 8/line eight/" g')
    await exact('g', { 3: a, 5: b, 8: user, 12: a })
  })
  test.each(Object.entries(renames))('a rename by %s and back after an edit', async (_, command) => {
    const a = await made()
    await later()
    sh(command)
    await later()
    const b = await say(edit('g', 'line 5', 'line five'))
    await later()
    sh('mv g f')
    await exact('f', { 3: a, 5: b, 12: a })
  })
  test.each(Object.entries(renames))('a rename by %s, and a new file of another agent with the old name', async (_, command) => {
    const a = await made()
    await later()
    sh(command)
    await later()
    const b = await say(write('f', linesOf('b')))
    await exact('g', { '1-12': a })
    await exact('f', { '1-12': b })
  })
  test.each(Object.entries(renames))('a rename by %s, and the user’s new file with the old name and the same lines', async (_, command) => {
    const a = await made()
    await later()
    sh(command)
    await later()
    put('f', `${text}mine of it\n`)
    await soft('g', { 3: a })
    await soft('f', { 3: [a, user], 13: user })
  })
  test.each(Object.entries(copies))('a copy with its times by %s', async (_, command) => {
    const a = await made()
    await later()
    sh(command)
    await exact('g', { 3: a })
    await later()
    const b = await say(edit('g', 'line 5', 'line five'))
    await exact('g', { 3: a, 5: b })
    await exact('f', { 5: a })
    await later()
    sh('cp f g')
    await soft('g', { 3: a, 5: a })
  })
  test.each(Object.entries(plainCopies))('a copy without its times by %s', async (_, command) => {
    const a = await made()
    await later()
    sh(command)
    await soft('g', { 3: a })
    await exact('f', { 3: a })
    await later()
    const b = await say(edit('g', 'line 5', 'line five'))
    await soft('g', { 3: a, 5: b })
    await exact('g', { 5: b })
    await later()
    sh('rm f')
    await soft('g', { 3: a })
    await exact('g', { 5: b })
    await later()
    sh('mv g f')
    await soft('f', { 3: a })
    await exact('f', { 5: b })
  })
  test.each(Object.entries(savers))('a save %s', async (_, save) => {
    const a = await made()
    await later()
    sh(save('s/line 5/line five/'))
    await exact('f', { '1-4': a, 5: user, '6-12': a })
    const b = await say(edit('f', 'line 7', 'line seven'))
    await later()
    sh(save('s/line 9/line nine/'))
    await exact('f', { '1-4': a, 5: user, 6: a, 7: b, 8: a, 9: user, '10-12': a })
  })
  test.each(Object.entries(savers))('a save %s after a rename', async (_, save) => {
    const a = await say(write('old', text))
    await later()
    sh('mv old f')
    sh(save('s/line 5/line five/'))
    await soft('f', { '1-4': a, 5: user, '6-12': a })
  })
  test.each(Object.entries(savers))('a save %s that takes back an agent’s edit', async (_, save) => {
    const a = await made()
    await say(edit('f', 'line 5', 'line five'))
    await later()
    sh(save('s/line five/line 5/'))
    await soft('f', { '1-4': a, 5: [a, user], '6-12': a })
  })
  test.each(Object.entries(undoings))('an agent’s uncommitted edit taken back by %s', async (_, command) => {
    const a = await made()
    sh(`${g} init -q .; git add f; ${g} commit -qm c`)
    await later()
    await say(edit('f', 'line 5', 'line five'))
    await later()
    sh(command)
    await soft('f', { '1-12': a })
    await later()
    const c = await say(edit('f', 'line 7', 'line seven'))
    await soft('f', { '1-6': a, 7: c, '8-12': a })
  })
  test.each(Object.entries(undoings))('the user’s own change taken back by %s', async (_, command) => {
    const a = await made()
    sh(`${g} init -q .; git add f; ${g} commit -qm c`)
    await later()
    sh('sed -i "s/line 5/line five/" f')
    await exec('true')
    await later()
    sh(command)
    await soft('f', { '1-12': a })
  })
  test('two files swapped by hand', async () => {
    const a = await say(write('f', text))
    const b = await say(write('g', linesOf('b')))
    await later()
    sh('mv f x; mv g f; mv x g')
    await exact('f', { 3: b })
    await exact('g', { 3: a })
    const c = await say(edit('f', 'line 5', 'line five'))
    await exact('f', { 3: b, 5: c })
  })
  test('two files merged into one by hand', async () => {
    const a = await say(write('f', text))
    const b = await say(write('g', linesOf('b')))
    await later()
    sh('cat f g > h; rm f g')
    await soft('h', { '1-12': a, '13-24': b })
  })
  test('a file appended to another one by hand', async () => {
    const a = await say(write('f', text))
    const b = await say(write('g', linesOf('b')))
    await later()
    sh('cat g >> f; rm g')
    await exact('f', { '1-12': a })
    await soft('f', { '13-24': b })
  })
  test('a file split into two by hand', async () => {
    const a = await made()
    await later()
    sh('head -6 f > g; tail -6 f > h; rm f')
    await soft('g', { '1-6': a })
    await soft('h', { '1-6': a })
  })
  test('the second half moved to a new file by hand', async () => {
    const a = await say(write('f', linesOf('a', 20)))
    await later()
    sh('tail -10 f > g; sed -i "11,\\$d" f')
    await exact('f', { '1-10': a })
    await soft('g', { '1-10': [a, user] })
  })
  test('a folder renamed by hand', async () => {
    const a = await say(write('src/a', linesOf('a')), write('src/b/b', linesOf('b')))
    await later()
    sh('mv src lib')
    await exact('lib/a', { 3: a })
    await exact('lib/b/b', { 3: a })
    const b = await say(edit('lib/b/b', 'line 5', 'line five'))
    await exact('lib/b/b', { 3: a, 5: b })
  })
  test('a folder copied by hand with times, then each edited', async () => {
    const a = await say(write('src/a', linesOf('a')), write('src/b', linesOf('b')))
    await later()
    sh('cp -a src lib')
    await later()
    const b = await say(edit('lib/a', 'line 5', 'line five'))
    const c = await say(edit('src/a', 'line 5', 'line cinq'))
    await exact('lib/a', { 3: a, 5: b })
    await exact('src/a', { 3: a, 5: c })
    await exact('lib/b', { 3: a })
  })
  test('a folder moved out and back', async () => {
    const a = await say(write('src/a', linesOf('a')))
    await later()
    sh('mv src ../away-$$; mv ../away-$$ src')
    await exact('src/a', { 3: a })
  })
  test('removed by hand and made again by hand with other lines', async () => {
    await made()
    await later()
    sh('rm f')
    await later()
    put('f', linesOf('mine'))
    await exact('f', { '1-12': user })
  })
  test('removed by hand, and restored from the wastebasket', async () => {
    const a = await made()
    await later()
    sh('mv f /tmp/trash-$$; mv /tmp/trash-$$ f')
    await exact('f', { '1-12': a })
  })
  test('removed by hand, seen by a command, and restored from the wastebasket', async () => {
    const a = await made()
    await later()
    sh('mv f ../trash-f')
    await exec('true')
    await later()
    sh('mv ../trash-f f')
    await soft('f', { '1-12': a })
  })
  test('a hard link made by hand, edited by the other name', async () => {
    const a = await made()
    await later()
    sh('ln f l; sed "s/line 5/line five/" f > x; cat x > l; rm x')
    await soft('f', { 3: a, 5: user })
    await soft('l', { 3: a, 5: user })
  })
  test('a link put in the place of the file', async () => {
    const a = await made()
    await later()
    sh('mkdir real; mv f real/; ln -s real/f f')
    await exact('real/f', { 3: a })
    await exact('f', { 3: a })
    const b = await say(edit('f', 'line 5', 'line five'))
    await soft('real/f', { 3: a, 5: b })
  })
  test('branches: an agent on each, the user switches', async () => {
    const a = await made()
    sh(`${g} init -q .; git add f; ${g} commit -qm c; git checkout -qb one`)
    await later()
    const b = await say(edit('f', 'line 5', 'line five'))
    sh(`${g} commit -qam b; git checkout -q main; git checkout -qb two`)
    await later()
    const c = await say(edit('f', 'line 7', 'line seven'))
    sh(`${g} commit -qam c`)
    await soft('f', { 3: a, 5: a, 7: c })
    await later()
    sh('git checkout -q one')
    await soft('f', { 3: a, 5: b, 7: a })
    await later()
    sh(`${g} merge -q two -m m`)
    await soft('f', { 3: a, 5: b, 7: c })
  })
  test('a worktree by hand, an agent in it, commit there and merge here', async () => {
    const a = await made()
    sh(`${g} init -q .; git add f; ${g} commit -qm c; git worktree add -q -b one wt`)
    await later()
    const b = await say(edit('wt/f', 'line 5', 'line five'))
    sh(`cd wt; ${g} commit -qam b; cd ..; ${g} merge -q one`)
    await exact('f', { 3: a })
    await soft('f', { 5: b })
  })
  test('git clone in a folder beside', async () => {
    const a = await made()
    sh(`${g} init -q .; git add f; ${g} commit -qm c; git clone -q . copy`)
    await soft('copy/f', { 3: a })
    const b = await say(edit('copy/f', 'line 5', 'line five'))
    await soft('copy/f', { 3: a, 5: b })
    sh(`cd copy; ${g} commit -qam b; cd ..; git pull -q copy main`)
    await exact('f', { 3: a })
    await soft('f', { 5: b })
  })
  test('git revert by hand of an agent’s commit', async () => {
    const a = await made()
    sh(`${g} init -q .; git add f; ${g} commit -qm c`)
    await say(edit('f', 'line 5', 'line five'))
    sh(`${g} commit -qam b; sleep 0.05; ${g} revert --no-edit HEAD`)
    await soft('f', { 3: a, 5: a })
  })
  test('git cherry-pick of an agent’s commit to another branch', async () => {
    const a = await made()
    sh(`${g} init -q .; git add f; ${g} commit -qm c; git checkout -qb one`)
    const b = await say(edit('f', 'line 5', 'line five'))
    sh(`${g} commit -qam b; git checkout -q main`)
    await exec('true')
    sh(`sleep 0.05; sed -i 's/line 9/line nine/' f; ${g} commit -qam u; ${g} cherry-pick one`)
    await exact('f', { 3: a, 9: user })
    await soft('f', { 5: b })
  })
  test('a conflict that the user resolves with both sides', async () => {
    const a = await made()
    sh(`${g} init -q .; git add f; ${g} commit -qm c; git checkout -qb one`)
    const b = await say(edit('f', 'line 5 that', 'line five by b that'))
    sh(`${g} commit -qam b; git checkout -q main`)
    await later()
    const c = await say(edit('f', 'line 5 that', 'line five by c that'))
    sh(`${g} commit -qam c; ${g} merge -q one || true; sed -i '/^[<=>]\\{7\\}/d' f`)
    await exact('f', { 3: a, 5: c })
    await soft('f', { 6: b, 7: a })
  })
  test('patch by hand from a diff of the agent’s edit', async () => {
    const a = await made()
    sh('cp f f.orig')
    const b = await say(edit('f', 'line 5', 'line five'))
    sh('diff -u f.orig f > p || true; mv f.orig f')
    await exec('true')
    await later()
    sh('patch -s f < p')
    await soft('f', { 3: a, 5: b })
  })
  test('a template that the user fills twice, of an agent', async () => {
    const a = await say(write('template', `${text}name: NAME\n`))
    await later()
    sh('sed s/NAME/one/ template > one; sed s/NAME/two/ template > two')
    await soft('one', { 3: a, 13: user })
    await soft('two', { 3: a, 13: user })
    await exact('template', { 3: a })
  })
  test('the user’s file and an agent’s with the same licence at the top', async () => {
    put('mine', linesOf('the licence', 8) + linesOf('mine', 8))
    await later()
    const a = await say(read('mine'), write('f', linesOf('the licence', 8) + linesOf('a', 8)))
    await soft('mine', { '1-16': user })
    await soft('f', { '9-16': a })
    await later()
    sh("sed -i 's/line 2 that mine/line two that mine/' mine")
    await exact('mine', { 10: user })
    await soft('mine', { '1-8': user, '11-16': user })
  })
  test('the user’s file with the licence at the top is made after an agent’s', async () => {
    const a = await say(write('f', linesOf('the licence', 8) + linesOf('a', 8)))
    await later()
    put('mine', linesOf('the licence', 8) + linesOf('mine', 8))
    await soft('mine', { '1-8': [a, user], '9-16': user })
  })
  test('an old backup copied over, and the agent’s work typed again', async () => {
    const a = await made()
    sh('cp f f.bak')
    await later()
    const b = await say(edit('f', 'line 5', 'line five'))
    await later()
    sh('cp f.bak f')
    await soft('f', { '1-12': a })
    await later()
    sh("sed -i 's/line 5/line five/' f")
    await soft('f', { '1-4': a, 5: [b, user], '6-12': a })
  })
  test('a backup moved over the file', async () => {
    const a = await made()
    sh('cp -p f f.bak')
    await later()
    await say(edit('f', 'line 5', 'line five'))
    await later()
    sh('mv f.bak f')
    await soft('f', { '1-12': a })
    const c = await say(edit('f', 'line 5', 'line cinq'))
    await soft('f', { '1-4': a, 5: c, '6-12': a })
  })
  test('the user moves a block in an agent’s file', async () => {
    const a = await made()
    await later()
    sh('{ sed -n 7,12p f; sed -n 1,6p f; } > x; cat x > f; rm x')
    await soft('f', { '1-12': a })
  })
  test('the user duplicates a block in an agent’s file', async () => {
    const a = await made()
    await later()
    sh('sed -n 1,6p f > x; cat x >> f; rm x')
    await soft('f', { '1-12': a, '13-18': [a, user] })
  })
  test('search and replace by hand over three files', async () => {
    const a = await say(write('a', linesOf('a')), write('b', linesOf('b')))
    put('c', linesOf('c'))
    await later()
    sh("sed -i 's/line 5/line five/' a b c")
    for (const name of ['a', 'b']) await exact(name, { 3: a, 5: user, 12: a })
    await exact('c', { 3: user, 5: user })
  })
  test('a formatter run by the user over everything', async () => {
    const a = await say(write('a.py', "x = 'one of a'\ny = 2 # two of a\nz = 'three of a'\n"))
    await later()
    sh(`sed -i "s/'/\\"/g" a.py`)
    await exact('a.py', { 1: user, 3: user })
    await soft('a.py', { 2: a })
    const b = await say(edit('a.py', 'y = 2 #', 'y = 3 #'))
    await exact('a.py', { 1: user, 2: b, 3: user })
  })
  test('chmod and touch by hand', async () => {
    const a = await made()
    await later()
    sh('chmod +x f; touch f')
    await exact('f', { '1-12': a })
  })
  test('touch -d to the past by hand', async () => {
    const a = await made()
    await later()
    sh('touch -d 2001-01-01 f')
    await exact('f', { '1-12': a })
    sh('mv f g')
    await exact('g', { '1-12': a })
  })
  test('the user retypes a file after a session read it', async () => {
    const a = await made()
    await talk('reader', 'read', [read('f')])
    await later()
    sh('rm f')
    put('f', text.replace('line 5', 'line five'))
    await soft('f', { '1-4': [a, user], 5: user, '6-12': [a, user] })
  })
  test('an agent’s file moved over the user’s file', async () => {
    put('mine', linesOf('mine'))
    await later()
    const a = await made()
    await later()
    sh('mv f mine')
    await exact('mine', { '1-12': a })
  })
  test('the user’s file moved over an agent’s file', async () => {
    put('mine', linesOf('mine'))
    await later()
    await made()
    await later()
    sh('mv mine f')
    await exact('f', { '1-12': user })
  })
  test('the user’s file moved over an agent’s file, by a command seen', async () => {
    put('mine', linesOf('mine'))
    await later()
    await made()
    await later()
    const b = await exec('mv mine f')
    await soft('f', { '1-12': user })
    void b
  })
  test('a command moves the user’s folder', async () => {
    put('src/mine', linesOf('mine'))
    put('src/other', linesOf('other'))
    await later()
    await exec('mv src lib')
    await exact('lib/mine', { 3: user })
    await exact('lib/other', { 3: user })
  })
  test('a command moves the user’s file', async () => {
    put('mine', linesOf('mine'))
    await later()
    await exec('mv mine yours')
    await exact('yours', { 3: user })
  })
  test('a command copies the user’s file', async () => {
    put('mine', linesOf('mine'))
    await later()
    await exec('cp mine yours')
    await exact('mine', { 3: user })
    await soft('yours', { 3: user })
  })
})
