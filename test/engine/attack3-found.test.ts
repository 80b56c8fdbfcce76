import { describe, test } from 'vitest'
import { linesOf } from './everyday-hands.ts'
import { attackDatabases, attackHands, user } from './attack3-hands.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

const text = linesOf('a')
const here = (body: string) => `<<'EOF'\n${body}EOF`
const overwrites: Record<string, string> = {
  cp: 'cp f g',
  'cp -f': 'cp -f ./f ./g',
  'cp --remove-destination': 'cp --remove-destination f g',
  'cat >': 'cat f > g',
  tee: 'tee g < f > /dev/null',
  install: 'install -m 644 f g',
  dd: 'dd if=f of=g status=none',
  'rm and cp': 'rm g; cp f g',
  'cp to a temporary file and mv': 'cp f g.tmp; mv g.tmp g',
  python: `python3 -c "import shutil; shutil.copyfile('f','g')"`,
}
const movedWithCopy: Record<string, string> = {
  'cp to a backup': "cp f f.bak && mv f g && sed -i 's/line 5 /line five /' g",
  'a backup beside': "mkdir old; cp f old/; mv f g; sed -i 's/line 5 /line five /' g",
  'a copy that is left unchanged': "cp f h; git mv f g 2>/dev/null || mv f g; sed -i 's/line 5 /line five /' g",
  'sed -i.bak after mv': "mv f g; sed -i.bak 's/line 5 /line five /' g",
}
const gitignore = 'node_modules/\ndist/\ncoverage/\n.env.local\n*.log\n.DS_Store\n'
const dockerfile = 'FROM node:24-alpine\nWORKDIR /app\nCOPY package*.json ./\nRUN npm ci --omit=dev\nCOPY . .\nCMD ["node", "server.js"]\n'

describe.each(attackDatabases)('attack: found, on %s', (database) => {
  const { say, exec, sh, put, exact, soft, takeBack } = attackHands(database)
  const made = () => say(write('f', text))

  test.each(Object.entries(overwrites))('an agent’s file over another agent’s by %s', async (_, command) => {
    const a = await made()
    await say(write('g', linesOf('b')))
    await later()
    await exec(command)
    await soft('g', { 3: a, 12: a })
  })
  test.each(Object.entries(overwrites))('an agent’s file over the user’s by %s', async (_, command) => {
    put('g', linesOf('mine'))
    await later()
    const a = await made()
    await later()
    await exec(command)
    await soft('g', { 3: a, 12: a })
  })
  test.each(Object.entries(overwrites))('the user’s file over an agent’s by %s', async (_, command) => {
    put('f', linesOf('mine'))
    await later()
    await say(write('g', linesOf('b')))
    await later()
    const c = await exec(command)
    await soft('g', { 3: [user, c], 12: [user, c] })
  })
  test.each(Object.entries(overwrites))('an agent’s file over an empty one by %s', async (_, command) => {
    const a = await made()
    await exec('touch g')
    await later()
    await exec(command)
    await soft('g', { 3: a, 12: a })
  })
  test.each(Object.entries(overwrites))('a new version of a file over its copy by %s', async (_, command) => {
    const a = await made()
    await exec('cp f g')
    const b = await say(edit('f', 'line 5', 'line five'))
    await later()
    const c = await exec(command)
    await soft('g', { 3: [a, c], 5: [b], 12: [a, c] })
  })
  test.each(Object.entries(movedWithCopy))('a move and a change beside %s', async (_, command) => {
    const a = await made()
    await later()
    const b = await exec(command)
    await soft('g', { 3: a, 5: b, 12: a })
  })
  test('a .gitignore in a second package by a heredoc to a variable', async () => {
    await say(write('one/.gitignore', gitignore))
    await later()
    const b = await exec(`P=two; mkdir -p $P; cat > $P/.gitignore ${here(gitignore)}`)
    await soft('two/.gitignore', { '1-6': b })
  })
  test('a .gitignore in a second package by a heredoc', async () => {
    await say(write('one/.gitignore', gitignore))
    await later()
    const b = await exec(`mkdir -p two; cat > two/.gitignore ${here(gitignore)}`)
    await soft('two/.gitignore', { '1-6': b })
  })
  test('a .gitignore in a second package by a heredoc after cd', async () => {
    await say(write('one/.gitignore', gitignore))
    await later()
    const b = await exec(`mkdir -p two; cd two; cat > .gitignore ${here(gitignore)}`)
    await soft('two/.gitignore', { '1-6': b })
  })
  test('a .gitignore in a second package by tee', async () => {
    await say(write('.gitignore', gitignore))
    await later()
    const b = await exec(`mkdir -p two; tee two/.gitignore > /dev/null ${here(gitignore)}`)
    await soft('two/.gitignore', { '1-6': b })
  })
  test('Dockerfiles of a loop, as another agent has written one', async () => {
    await say(write('worker/Dockerfile', dockerfile))
    await later()
    const b = await exec(`for s in api web; do mkdir -p $s; cat > $s/Dockerfile ${here(dockerfile)}\ndone`)
    await soft('api/Dockerfile', { '1-6': b })
    await soft('web/Dockerfile', { '1-6': b })
  })
  test('a Dockerfile by printf and sed of a template text', async () => {
    await say(write('worker/Dockerfile', dockerfile))
    await later()
    const b = await exec(`mkdir -p api; sed "s/PORT/$PORT/" > api/Dockerfile ${here(dockerfile)}`)
    await soft('api/Dockerfile', { '1-6': b })
  })
  test('a list that awk takes from the user’s data, as another agent wrote one', async () => {
    put('data.csv', 'anna,one\nberta,two\nclara,three\ndoris,four\nemily,five\n')
    await later()
    await say(write('list.txt', 'anna\nberta\nclara\ndoris\nemily\n'))
    await later()
    const b = await exec("awk -F, '{print $1}' data.csv > names.txt")
    await soft('names.txt', { '1-5': [b, user] })
  })
  test('an output of grep with $, as another agent wrote it', async () => {
    put('data.csv', 'anna is one of them\nnobody here\nberta is two of them\nclara is three of them\n')
    await later()
    await say(write('list.txt', 'anna is one of them\nberta is two of them\nclara is three of them\n'))
    await later()
    const b = await exec("grep 'them$' data.csv > found.txt")
    await soft('found.txt', { '1-3': [b, user] })
  })
  test('git apply of a patch that makes a file as another agent has', async () => {
    await say(write('one/.gitignore', gitignore))
    await later()
    const lines = gitignore.trimEnd().split('\n')
    const patch = `diff --git a/two/.gitignore b/two/.gitignore\nnew file mode 100644\n--- /dev/null\n+++ b/two/.gitignore\n@@ -0,0 +1,${lines.length} @@\n${lines.map((each) => `+${each}\n`).join('')}`
    const b = await exec(`git apply ${here(patch)}`)
    await soft('two/.gitignore', { '1-6': b })
  })
  test('a script that a run wrote generates what another run had written', async () => {
    await say(write('one/.gitignore', gitignore))
    const b = await say(write('gen.sh', `mkdir -p "$1"\ncat > "$1/.gitignore" ${here(gitignore)}`))
    const c = await exec('sh gen.sh two')
    await soft('two/.gitignore', { '1-6': [b, c] })
  })
  test('a commit message that tells of a copy', async () => {
    await say(write('one/.gitignore', gitignore))
    await later()
    const b = await exec(`mkdir two; python3 -c "open('two/.gitignore','w').write('''${gitignore}''')"; git init -q . && git add two && git -c user.name=x -c user.email=x@y commit -qm "cp one/.gitignore two/.gitignore"`)
    await soft('two/.gitignore', { '1-6': b })
  })
  test('a test in python that names shutil.copy in its text', async () => {
    await say(write('one/.gitignore', gitignore))
    await later()
    const b = await exec(`mkdir two; python3 - ${here(`# not shutil.copy('one/.gitignore', 'two/.gitignore')\nopen('two/.gitignore','w').write('''${gitignore}''')\n`)}`)
    await soft('two/.gitignore', { '1-6': b })
  })
  test('an unpacked archive with the same file, where the archive’s name is in a variable', async () => {
    sh(`mkdir v; cd v; cat > .gitignore ${here(gitignore)}\ntar czf ../v.tgz .gitignore; cd ..; rm -r v`)
    await say(write('.gitignore', gitignore))
    await later()
    const b = await exec('A=v.tgz; mkdir w; tar xzf "$A" -C w')
    await soft('w/.gitignore', { '1-6': [b, user] })
  })
  test('a copy from outside by a variable, as another agent has written it', async () => {
    sh(`mkdir -p ../tpl-$PPID; cat > ../tpl-$PPID/x ${here(gitignore)}`)
    const outside = sh('cd ../tpl-$PPID; pwd').trim()
    await say(write('.gitignore', gitignore))
    await later()
    const b = await exec(`T=${outside}; mkdir w; cp $T/x w/.gitignore`)
    const c = await exec(`mkdir w2; cp -r ${outside}/. w2/; mv w2/x w2/.gitignore`)
    const d = await exec(`mkdir w3; cp ${outside}/* w3/.gitignore`)
    sh(`rm -r ${outside}`)
    await soft('w/.gitignore', { '1-6': b })
    await soft('w2/.gitignore', { '1-6': c })
    await soft('w3/.gitignore', { '1-6': d })
  })
  test('a copy of the user’s template by a variable, as another agent has written it', async () => {
    put('tpl/gitignore', gitignore)
    await later()
    await say(write('.gitignore', gitignore))
    await later()
    const b = await exec('mkdir w; for t in tpl/*; do cp "$t" "w/.$(basename $t)"; done')
    await soft('w/.gitignore', { '1-6': [b, user] })
  })
  test('a copy of a third agent’s file by a variable, as another agent has written it', async () => {
    const a = await say(write('tpl/gitignore', gitignore))
    await later()
    const z = await say(write('.gitignore', gitignore))
    await later()
    const b = await exec('mkdir w; cp tpl/gitignore w/.gitignore')
    await soft('w/.gitignore', { '1-6': [a, b] })
    void z
  })
  test('a folder with an agent’s and the user’s file is renamed by a command', async () => {
    const a = await say(write('src/a', linesOf('a')))
    await later()
    put('src/c', linesOf('c'))
    await later()
    const d = await exec('mv src lib')
    await exact('lib/a', { 3: a })
    await exact('lib/c', { 3: user })
    void d
  })
  test('a folder with a command’s and the user’s file is renamed by a command', async () => {
    const b = await exec('mkdir src; for n in $(seq 12); do echo "line $n that b is made of"; done > src/b')
    await later()
    put('src/c', linesOf('c'))
    await later()
    await exec('mv src lib')
    await exact('lib/b', { 3: b })
    await exact('lib/c', { 3: user })
  })
  test('a file that the user wrote after a command is moved by a command', async () => {
    await exec('true')
    await later()
    put('c', linesOf('c'))
    await later()
    await exec('mv c d')
    await exact('d', { 3: user })
  })
  test('a file that the user wrote after a command in its folder is moved by a command', async () => {
    await exec('mkdir src')
    await later()
    put('src/c', linesOf('c'))
    await later()
    await exec('mv src/c src/d')
    await exact('src/d', { 3: user })
  })
  test('a move twice by a command, without a change', async () => {
    const a = await made()
    await exec('mv f h; mv h g')
    await exact('g', { 3: a })
  })
  test('a move to a folder and on, with a change', async () => {
    const a = await made()
    const b = await exec("mkdir s; mv f s; mv s/f g; sed -i 's/line 5 /line five /' g")
    await exact('g', { 3: a, 5: b })
  })
  test('undo of a run whose copy by a command remains', async () => {
    const a = await made()
    const b = await say(edit('f', 'line 5', 'line five'))
    await exec('cp f g')
    await takeBack(b)
    await soft('g', { 3: a, 5: b })
    await soft('f', { 3: a, 5: a })
    await later()
    sh('mv g f')
    await soft('f', { 3: a, 5: b })
  })
})
