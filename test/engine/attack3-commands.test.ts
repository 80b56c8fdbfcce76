import { describe, test } from 'vitest'
import { linesOf } from './everyday-hands.ts'
import { attackDatabases, attackHands, user } from './attack3-hands.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

const text = linesOf('a')
const changed = text.replace('line 5', 'line five')
const here = (body: string, mark = 'EOF') => `<<'${mark}'\n${body}${mark}`
const diff = `--- a/f
+++ b/f
@@ -2,7 +2,7 @@
 line 2 that a is made of
 line 3 that a is made of
 line 4 that a is made of
-line 5 that a is made of
+line five that a is made of
 line 6 that a is made of
 line 7 that a is made of
 line 8 that a is made of
`

const changers: Record<string, string> = {
  'sed -i': "sed -i 's/line 5/line five/' f",
  'sed -i.bak and rm': "sed -i.bak 's/line 5/line five/' f && rm f.bak",
  'sed with w of variables': `w=five; sed -i "s/line 5/line $w/" ./f`,
  'perl -pi': "perl -pi -e 's/line 5 /line five /' f",
  'perl -0': "perl -0pi -e 's/line 5 that/line five that/s' f",
  'awk to a temporary file and mv': `awk '{sub(/line 5 /, "line five "); print}' f > f.tmp && mv f.tmp f`,
  'awk to a temporary file and cat': `awk '{sub(/line 5 /, "line five "); print}' f > /tmp/$$.x; cat /tmp/$$.x > f; rm /tmp/$$.x`,
  ed: "printf '5s/5/five/\\nw\\nq\\n' | ed -s f",
  'vim -es': "vim -es -u NONE -c '5s/5/five/' -c 'wq' f",
  'python in place': `python3 -c "p='f';s=open(p).read();open(p,'w').write(s.replace('line 5','line five'))"`,
  'python with os.replace': `python3 - ${here("import os\ns=open('f').read().replace('line 5','line five')\nopen('f.new','w').write(s)\nos.replace('f.new','f')\n")}`,
  'node -e': `node -e "const fs=require('fs');fs.writeFileSync('f',fs.readFileSync('f','utf8').replace('line 5','line five'))"`,
  'patch with a heredoc': `patch -p1 ${here(diff)}`,
  'git apply': `git init -q . ; git apply ${here(diff)}\nrm -rf .git`,
  'tee and cp': "sed 's/line 5/line five/' f | tee t > /dev/null; cp t f; rm t",
  'a variable': `x=$(sed 's/line 5/line five/' f); echo "$x" > f`,
  'head and tail': '{ head -4 f; echo "line five that a is made of"; tail -n +6 f; } > t; mv t f',
  'mktemp and mv': `t=$(mktemp); sed 's/line 5/line five/' f > "$t"; mv "$t" f`,
  'mktemp and install': `t=$(mktemp); sed 's/line 5/line five/' f > "$t"; install -m 644 "$t" f; rm "$t"`,
  'a whole heredoc': `cat > f ${here(changed)}`,
  'tee with a heredoc': `tee f > /dev/null ${here(changed)}`,
  'rm and a whole heredoc': `rm f; cat > f ${here(changed)}`,
  make: `printf 'all:\\n\\tsed -i "s/line 5/line five/" f\\n' > Makefile; make -s; rm Makefile`,
  'cd and a relative name': "mkdir -p sub; cd sub && sed -i 's/line 5/line five/' ../f",
  'a subshell': "(cd . && (sed -i 's/line 5/line five/' f))",
  xargs: "grep -l 'line 5' * | xargs sed -i 's/line 5/line five/'",
  'find -exec': "find . -name 'f*' -type f -exec sed -i 's/line 5/line five/' {} +",
  'in the background': "sed -i 's/line 5/line five/' f & wait",
  'a script of its own': `printf 'sed -i "s/line 5/line five/" f' > fix.sh; bash fix.sh; rm fix.sh`,
  'a loop over globs': `for x in *; do [ -f "$x" ] && sed -i 's/line 5/line five/' "$x"; done`,
  'dd without truncation': `off=$(grep -bo 'line 5 that a' f | cut -d: -f1); head -c "$off" f > t; printf 'line five that a' >> t; tail -c +$((off + 14)) f >> t; dd if=t of=f status=none; rm t`,
  'tac twice': "tac f | sed 's/line 5/line five/' | tac > t && mv t f",
  'split and put together': "split -l 4 f p.; sed -i 's/line 5/line five/' p.ab; cat p.* > f; rm p.*",
  'csplit and put together': "csplit -s f 5 6; echo 'line five that a is made of' > xx01; cat xx0* > f; rm xx0*",
  'mv away, write, rm': "mv f f.old; sed 's/line 5/line five/' f.old > f; rm f.old",
  'cp away and back after a change': "cp f f.orig; echo broken > f; cp f.orig f; rm f.orig; sed -i 's/line 5/line five/' f",
  'git stash and pop': "git init -q .; git add f; git -c user.name=x -c user.email=x@y commit -qm c; sed -i 's/line 5/line five/' f; git -c user.name=x -c user.email=x@y stash -q; git stash pop -q; rm -rf .git",
  'printf -v and redirection': `mapfile -t l < f; l[4]='line five that a is made of'; printf '%s\\n' "\${l[@]}" > f`,
  'a formatter that replaces the file': `python3 -c "
import tempfile,shutil,os
s=open('f').read().replace('line 5','line five')
t=tempfile.NamedTemporaryFile('w',delete=False,dir='.');t.write(s);t.close();shutil.move(t.name,'f')"`,
}

const copiers: Record<string, string> = {
  cp: 'cp f g',
  'cp -p': 'cp -p f g',
  'cp with paths': 'cp ./f ./g',
  'cp with the whole path': 'cp "$PWD/f" "$PWD/g"',
  'cp to a folder and mv': 'mkdir s; cp f s/; mv s/f g; rmdir s',
  'cat >': 'cat f > g',
  'cat < >': 'cat < f > g',
  'cat without blanks': 'cat f>g',
  'tee <': 'tee g < f > /dev/null',
  'dd of': 'dd if=f of=g status=none',
  install: 'install -m 600 f g',
  'tar pipe': 'mkdir s; tar cf - f | tar xf - -C s; mv s/f g; rmdir s',
  'python shutil': `python3 -c "import shutil; shutil.copy('f','g')"`,
  'python read and write': `python3 -c "open('g','w').write(open('f').read())"`,
  'node copyFileSync': `node -e "require('fs').copyFileSync('f','g')"`,
  'head': 'head -100 f > g',
  'sed': "sed '' f > g",
  'awk': 'awk 1 f > g',
  'perl': 'perl -pe 1 f > g',
  'while read': 'while IFS= read -r l; do printf "%s\\n" "$l"; done < f > g',
  'a variable': 'x=$(cat f); echo "$x" > g',
  'echo of cat': 'echo "$(cat f)" > g',
  'echo of <': 'echo "$(<f)" > g',
  'bash -c': "bash -c 'cp f g'",
  'eval': 'eval "cp f g"',
  'names in variables': 'from=f; to=g; cp "$from" "$to"',
  'braces': 'cp {f,g}',
  'xargs': 'echo f | xargs -I{} cp {} g',
  'find -exec': "find . -name f -exec cp {} g ';'",
  'gzip': 'gzip -c f | gunzip -c > g',
  'base64': 'base64 f | base64 -d > g',
  'make': `printf 'g: f\\n\\tcp $< $@\\n' > Makefile; make -s g`,
  'a script': `printf 'cp f g' > c.sh; sh c.sh`,
  'zip': 'mkdir s; zip -q x.zip f; unzip -q x.zip -d s; mv s/f g; rm -r x.zip s',
  'git show': 'git init -q .; git add f; git -c user.name=x -c user.email=x@y commit -qm c; git show HEAD:f > g; rm -rf .git',
  'ln': 'ln f g; cp g h; rm g; mv h g',
  'a folder': 'mkdir s; mv f s/; cp -r s s2; mv s2/f g; mv s/f f; rm -r s s2',
  'exec with fd': 'exec 3< f; cat <&3 > g',
  'split': 'split -l 100 f g; mv gaa g',
  'tac twice': 'tac f | tac > g',
  'cp and a true': 'cp f g # copies f to g',
  'backslash at the end': 'cp \\\n  f \\\n  g',
  'a heredoc script': `bash ${here('cp f g\n')}`,
}

const movers: Record<string, string> = {
  mv: 'mv f g',
  'mv with change': 'mv f g',
  'cp and rm': 'cp f g && rm f',
  'cat and rm': 'cat f > g; rm f',
  'python rename': `python3 -c "import os; os.rename('f','g')"`,
  'node rename': `node -e "require('fs').renameSync('f','g')"`,
  'perl rename': `perl -e 'rename "f","g"'`,
  'over a folder': 'mkdir s; mv f s; mv s/f g; rmdir s',
  'find -exec mv': "find . -name f -exec mv {} g ';'",
  'ln and rm': 'ln f g; rm f',
  'git mv': 'git init -q .; git add f; git mv f g; rm -rf .git',
  'tar and rm': 'mkdir s; tar cf - f | tar xf - -C s; mv s/f g; rm -r s f',
  'a loop': 'for x in f; do mv "$x" g; done',
  'twice': 'mv f h; mv h g',
}

const generators: Record<string, string> = {
  'awk with $': `seq 12 | awk '{print "line " $1 " that a is made of"}' > g`,
  'a loop with cat': 'for n in $(seq 12); do echo "line $n that a is made of" | cat >> g; done',
  'a heredoc to a name in a variable': `out=g; cat > "$out" ${here(text)}`,
  'a heredoc': `cat > g ${here(text)}`,
  'a heredoc in a subfolder with the same name': `mkdir s; cat > s/f ${here(text)}\nmv s/f g`,
  'tee with a heredoc': `tee g > /dev/null ${here(text)}`,
  'tee with a name in a variable': `tee "$PWD/g" > /dev/null ${here(text)}`,
  'sed over seq': `seq 12 | sed 's/.*/line & that a is made of/' > g`,
  'sed over seq with an end of line': `seq 12 | sed -e 's/^/line /' -e 's/$/ that a is made of/' > g`,
  'python': `python3 -c "open('g','w').writelines(f'line {n} that a is made of\\n' for n in range(1,13))"`,
  'python with copy in its text': `python3 - ${here("# writes a copy (of f) to g\nopen('g','w').writelines('line %d that a is made of\\n' % n for n in range(1,13))\n")}`,
  'after which f is removed': 'for n in $(seq 12); do echo "line $n that a is made of"; done > g; rm f',
  'before which f is removed': `rm -f f; cat > g ${here(text)}`,
  'which is compared': `for n in $(seq 12); do echo "line $n that a is made of"; done > g; cmp f g || cp f f.bak`,
  'beside a copy of f': `for n in $(seq 12); do echo "line $n that a is made of"; done > g; cp f f.bak`,
  'beside a copy of all': `for n in $(seq 12); do echo "line $n that a is made of"; done > g; mkdir b; cp f b/`,
  'a node script': `node -e "const l=[];for(let n=1;n<13;n++)l.push('line '+n+' that a is made of');require('fs').writeFileSync('g',l.join('\\n')+'\\n')"`,
  'grep of a pipe': `seq 12 | sed 's/.*/line & that a is made of/' | grep -v '^$' > g`,
  'sort of a pipe': `for n in $(seq 12); do echo "line $n that a is made of"; done | sort -k2n > g`,
  'a comment that names f': `for n in $(seq 12); do echo "line $n that a is made of"; done | cat > g # the same as f`,
  'a README that tells of cp f g': `cat > README ${here('To begin:\ncp f g\n')}\nfor n in $(seq 12); do echo "line $n that a is made of"; done > g`,
  'an echo that tells of it': `echo cp f g; for n in $(seq 12); do echo "line $n that a is made of"; done > g`,
  'a grep of f before, in one step': `grep -q nothing f || for n in $(seq 12); do echo "line $n that a is made of"; done | tee g > /dev/null`,
  'an if with f': `if cat f > /dev/null; then for n in $(seq 12); do echo "line $n that a is made of"; done > g; fi`,
}

describe.each(attackDatabases)('attack: commands, on %s', (database) => {
  const { say, exec, sh, put, exact, soft, at } = attackHands(database)
  const made = () => say(write('f', text))

  test.each(Object.entries(changers))('a change by %s', async (_, command) => {
    const a = await made()
    await later()
    const b = await exec(command)
    await exact('f', { '1-4': a, 5: b, '6-12': a })
  })
  test.each(Object.entries(changers))('a change by %s of the user', async (_, command) => {
    const a = await made()
    await later()
    sh(command)
    await soft('f', { '1-4': a, 5: user, '6-12': a })
  })
  test.each(Object.entries(copiers))('a copy by %s', async (_, command) => {
    const a = await made()
    await later()
    await exec(command)
    await exact('f', { 3: a })
    await soft('g', { 3: a, 12: a })
  })
  test.each(Object.entries(copiers))('a copy by %s, changed at once', async (_, command) => {
    const a = await made()
    await later()
    const b = await exec(`${command}\nsed -i 's/line 5/line five/' g`)
    await soft('g', { 3: [a, b], 5: b, 12: [a, b] })
  })
  test.each(Object.entries(movers))('a move by %s', async (_, command) => {
    const a = await made()
    await later()
    const b = await exec(`${command}; sed -i 's/line 5/line five/' g`)
    await exact('g', { 3: a, 5: b, 12: a })
    await later()
    sh("sed -i 's/line 8/line eight/' g")
    await exact('g', { 3: a, 5: b, 8: user, 12: a })
  })
  test.each(Object.entries(movers))('a move by %s of the user, and an agent’s edit', async (_, command) => {
    const a = await made()
    await later()
    sh(command)
    await later()
    const b = await say(edit('g', 'line 5', 'line five'))
    await soft('g', { 3: [a, b], 5: b, 12: [a, b] })
    await exact('g', { 5: b })
  })
  test.each(Object.entries(generators))('the same as another’s file by %s', async (_, command) => {
    const a = await made()
    await later()
    const b = await exec(command)
    await soft('g', { 3: b, 12: b })
    void a
  })
  test('a LICENSE that a command copies from outside, as another run has written one', async () => {
    const outside = at('../outside-license')
    sh(`cp /dev/stdin ${outside} ${here(linesOf('the licence'))}`)
    await say(write('LICENSE', linesOf('the licence')))
    await later()
    const b = await exec(`mkdir -p pkg; cp ${outside} pkg/LICENSE`)
    const c = await exec(`T=${outside}; mkdir -p pkg2; cp "$T" pkg2/LICENSE`)
    sh(`rm ${outside}`)
    await soft('pkg/LICENSE', { 3: b })
    await soft('pkg2/LICENSE', { 3: c })
  })
  test('a LICENSE that a command copies from the user’s one, as another run has written one', async () => {
    put('template/LICENSE', linesOf('the licence'))
    await later()
    await say(write('LICENSE', linesOf('the licence')))
    await later()
    const b = await exec('mkdir -p pkg; cp template/LICENSE pkg/LICENSE')
    await soft('pkg/LICENSE', { 3: [b, user] })
    await soft('template/LICENSE', { 3: user })
  })
  test('an archive of the user with a LICENSE as a run has written one', async () => {
    sh('mkdir v; cd v; for n in $(seq 12); do echo "line $n that the licence is made of"; done > LICENSE; tar czf ../v.tgz LICENSE; cd ..; rm -r v')
    await say(write('LICENSE', linesOf('the licence')))
    await later()
    const b = await exec('mkdir vendor; tar xzf v.tgz -C vendor')
    const c = await exec('D=vendor2; mkdir $D; tar xzf v.tgz -C $D')
    await soft('vendor/LICENSE', { 3: [b, user] })
    await soft('vendor2/LICENSE', { 3: [c, user] })
  })
  test('cat a b > c with both agents', async () => {
    const a = await say(write('a', linesOf('a', 5)))
    const b = await say(write('b', linesOf('b', 5)))
    const c = await exec('cat a b > c')
    await soft('c', { '1-5': [a, c], '6-10': [b, c] })
  })
  test('cat a b > c && rm a b', async () => {
    const a = await say(write('a', linesOf('a', 5)))
    const b = await say(write('b', linesOf('b', 5)))
    const c = await exec('{ echo "# the head of all"; cat a; echo "# in between of all"; cat b; } > c && rm a b')
    await exact('c', { 1: c, '2-6': a, 7: c, '8-12': b })
  })
  test('cat b >> a; rm b', async () => {
    const a = await say(write('a', linesOf('a', 5)))
    const b = await say(write('b', linesOf('b', 5)))
    await exec('cat b >> a; rm b')
    await exact('a', { '1-5': a, '6-10': b })
  })
  test('a split of one file into three with headers', async () => {
    const a = await say(write('a', linesOf('a', 15)))
    const b = await exec('for i in 0 1 2; do { echo "// part $i of it all"; tail -n +$((i*5+1)) a | head -5; } > p$i; done; rm a')
    for (const i of [0, 1, 2]) await exact(`p${i}`, { 1: b, '2-6': a })
  })
  test('a function moved from one module to another by python', async () => {
    const a = await say(write('a.py', linesOf('a', 6) + linesOf('move', 5) + linesOf('z', 4)))
    const b = await say(write('b.py', linesOf('b', 6)))
    const c = await exec(`python3 - ${here("s=open('a.py').read().splitlines(True)\nm=s[6:11];del s[6:11]\nopen('a.py','w').writelines(s)\nopen('b.py','a').writelines(['# moved from a.py\\n']+m)\n")}`)
    await exact('a.py', { '1-10': a })
    await exact('b.py', { '1-6': b, 7: c, '8-12': a })
  })
  test('rm of an agent’s module and a new one with half of its lines', async () => {
    await say(write('old.ts', linesOf('common', 6) + linesOf('old', 4)))
    await later()
    const b = await exec(`rm old.ts; cat > new.ts ${here(linesOf('common', 6) + linesOf('new', 4))}`)
    await soft('new.ts', { '1-10': b })
  })
  test('a generator that makes its folder anew with other names', async () => {
    const gen = (v: string) => `rm -rf gen; mkdir gen; for m in user order item; do { echo "// generated, do not edit"; echo "import { base } from './base'"; echo "export class $m extends base {"; echo "  save() { return this.client.put('$m') }"; echo "}"; } > gen/${v}$m.ts; done`
    await exec(gen(''))
    await later()
    const b = await exec(gen('v2-'))
    await soft('gen/v2-user.ts', { '1-5': b })
    await soft('gen/v2-item.ts', { '1-5': b })
  })
  test('a build that writes dist anew with changed lines', async () => {
    const gen = (v: string) => `rm -rf dist; mkdir dist; for n in $(seq 12); do echo "line $n of the bundle"; done > dist/bundle.${v}.js; echo "// version ${v}" >> dist/bundle.${v}.js`
    await exec(gen('aaa'))
    await later()
    const b = await exec(gen('bbb'))
    await soft('dist/bundle.bbb.js', { 3: b, 13: b })
  })
  test('git merge of two branches of two agents by a third', async () => {
    const g = 'git -c user.name=x -c user.email=x@y'
    const a = await say(write('f', text))
    sh(`git init -qb main .; git add f; ${g} commit -qm a; git checkout -qb topic`)
    const b = await say(edit('f', 'line 2', 'line two'))
    sh(`${g} commit -qam b; git checkout -q main`)
    await later()
    const c = await say(edit('f', 'line 11', 'line eleven'))
    sh(`${g} commit -qam c`)
    const d = await exec(`${g} merge -q topic -m m`)
    await soft('f', { 1: a, 2: [b, d], '3-10': a, 11: c, 12: a })
  })
  test('git rebase by an agent', async () => {
    const g = 'git -c user.name=x -c user.email=x@y'
    const a = await say(write('f', text))
    sh(`git init -qb main .; git add f; ${g} commit -qm a; git checkout -qb topic`)
    const b = await say(edit('f', 'line 2', 'line two'))
    sh(`${g} commit -qam b; git checkout -q main`)
    const c = await say(edit('f', 'line 11', 'line eleven'))
    sh(`${g} commit -qam c; git checkout -q topic`)
    const d = await exec(`${g} rebase -q main`)
    await soft('f', { 1: a, 2: [b, d], '3-10': a, 11: [c, d], 12: a })
  })
  test('git stash by one agent, and pop by the user', async () => {
    const g = 'git -c user.name=x -c user.email=x@y'
    const a = await say(write('f', text))
    sh(`git init -qb main .; git add f; ${g} commit -qm a`)
    const b = await say(edit('f', 'line 2', 'line two'))
    await exec(`${g} stash -q`)
    await exact('f', { 1: a })
    await later()
    sh('git stash pop -q')
    await soft('f', { 1: a, 2: b, '3-12': a })
  })
  test('git checkout of a file by an agent that another had changed', async () => {
    const g = 'git -c user.name=x -c user.email=x@y'
    const a = await say(write('f', text))
    sh(`git init -qb main .; git add f; ${g} commit -qm a`)
    await say(edit('f', 'line 2', 'line two'))
    const c = await exec('git checkout -q f')
    await soft('f', { 1: a, 2: [a, c], '3-12': a })
  })
  test('git worktree add by an agent, and an edit there', async () => {
    const g = 'git -c user.name=x -c user.email=x@y'
    const a = await say(write('f', text))
    sh(`git init -qb main .; git add f; ${g} commit -qm a`)
    const b = await exec('git worktree add -q wt')
    const c = await say(edit('wt/f', 'line 5', 'line five'))
    await soft('wt/f', { 3: [a, b], 5: c })
  })
  test('a command that writes through a symbolic link', async () => {
    const a = await say(write('real/f', text))
    const b = await exec("ln -s real/f link; sed -i --follow-symlinks 's/line 5/line five/' link")
    await exact('real/f', { 3: a, 5: b })
    await exact('link', { 3: a, 5: b })
  })
  test('a command that replaces a link by a file', async () => {
    const a = await say(write('real/f', text))
    await exec('ln -s real/f link')
    const b = await exec("sed -i 's/line 5/line five/' link")
    await exact('real/f', { 3: a, 5: a })
    await soft('link', { 3: [a, b], 5: b })
  })
  test('a rename of a folder with three files of three authors', async () => {
    const a = await say(write('src/a', linesOf('a')))
    const b = await exec('for n in $(seq 12); do echo "line $n that b is made of"; done > src/b')
    await later()
    put('src/c', linesOf('c'))
    await later()
    await exec('mv src lib')
    await exact('lib/a', { 3: a })
    await exact('lib/b', { 3: b })
    await exact('lib/c', { 3: user })
  })
  test('a folder that is copied and of which one file is changed', async () => {
    const a = await say(write('src/a', linesOf('a')), write('src/b', linesOf('b')))
    await later()
    const b = await exec("cp -r src lib; sed -i 's/line 5/line five/' lib/a")
    await soft('lib/a', { 3: [a, b], 5: b })
    await exact('lib/b', { 3: a })
  })
  test('prettier-like formatter over files of two agents and the user', async () => {
    const a = await say(write('a.js', "const a = 'one of a'\nconst b = 2\nlet c = 'three of a'\n"))
    put('u.js', "const u = 'one of u'\nconst v = 2\nlet w = 'three of u'\n")
    await later()
    const b = await exec(`sed -i "s/'/\\"/g" *.js`)
    await exact('a.js', { 1: b, 2: a, 3: b })
    await exact('u.js', { 1: b, 2: user, 3: b })
  })
  test('a formatter that runs twice, the second time without effect', async () => {
    const a = await say(write('a.js', 'one();\n  two();\nthree();\n'))
    const b = await exec("sed -i 's/^ *//' a.js")
    await exec("sed -i 's/^ *//' a.js")
    await exact('a.js', { 1: a, 2: b, 3: a })
  })
  test('a formatter that joins and splits lines', async () => {
    const a = await say(write('a.js', 'call(one,\n  two)\nother(three, four)\nlast()\n'))
    const b = await exec(`printf 'call(one, two)\\nother(\\n  three,\\n  four,\\n)\\nlast()\\n' > a.js`)
    await exact('a.js', { '1-4': b, 6: a })
  })
  test('three appends to a log by three runs', async () => {
    const runs = []
    for (const n of [1, 2, 3]) runs.push(await exec(`echo "entry of run ${n}" >> log; echo "---" >> log`))
    await exact('log', { '1-2': runs[0] ?? '', 3: runs[1] ?? '', 5: runs[2] ?? '' })
  })
  test('three equal entries in a log by three runs', async () => {
    const runs: string[] = []
    for (const _ of [1, 2, 3]) runs.push(await exec('echo "build ok, no warnings" >> log'))
    await soft('log', { 1: runs, 2: runs, 3: runs })
  })
})
