import { expect, test } from 'vitest'
import { mayRestore, transfersIn } from '../../src/tools/exec/copied-files.ts'

const folder = '/work/project'

test.each([
  ['cp a.py b.py', 'a.py', 'b.py'],
  ['cp a.py backup/', 'a.py', 'backup/a.py'],
  ['cp *.py backup/', 'a.py', 'backup/a.py'],
  ['mkdir -p lib && cp -p ./a.py ./lib/core.py', 'a.py', 'lib/core.py'],
  ['cp -r src lib', 'src/deep/a.py', 'lib/deep/a.py'],
  ['cd lib && cp ../a.py .', 'a.py', 'lib/a.py'],
  ['for f in *.py; do cp "$f" "old_$f"; done', 'a.py', 'old_a.py'],
  ['find . -name "*.py" -exec cp {} all/ \\;', 'a.py', 'all/a.py'],
  [`cp ${folder}/a.py ${folder}/b.py`, 'a.py', 'b.py'],
  ['cp $PWD/a.py $PWD/b.py', 'a.py', 'b.py'],
  ['cp "my file.py" "your file.py"', 'my file.py', 'your file.py'],
  ['cp pages/[id].tsx pages/[slug].tsx', 'pages/[id].tsx', 'pages/[slug].tsx'],
  ['mv a.py c.py && git mv c.py b.py', 'c.py', 'b.py'],
  ['cat a.py >> b.py && rm a.py', 'a.py', 'b.py'],
  ["sed -n '1,9p' a.py > b.py", 'a.py', 'b.py'],
  ['git show HEAD:a.py > b.py', 'a.py', 'b.py'],
  ['rsync -a src/ lib/', 'src/a.py', 'lib/a.py'],
  ['cp "my file.py" my\\ copy.py', 'my file.py', 'my copy.py'],
  ['cp a.py{,.bak}', 'a.py', 'a.py.bak'],
  [
    'for p in a b; do mkdir -p packages/$p; cp template/index.ts packages/$p/; done',
    'template/index.ts',
    'packages/b/index.ts',
  ],
  ['from=a.py; to=b.py\ncp "$from" "$to" # a copy', 'a.py', 'b.py'],
  ["bash -c 'cp a.py b.py'", 'a.py', 'b.py'],
  ['tr -d x < a.py > b.py', 'a.py', 'b.py'],
  ['ls *.py | xargs -I {} echo; sudo install -m 644 a.py b.py', 'a.py', 'b.py'],
  ['dd if=a.py of=b.py', 'a.py', 'b.py'],
  ['mv a.py c.py && mv c.py b.py', 'a.py', 'b.py'],
  ['mkdir tmp; mv a.py tmp; mv tmp/a.py lib/b.py', 'a.py', 'lib/b.py'],
  ['find . -name a.py -exec mv {} b.py \\;', 'a.py', 'b.py'],
  [`python -c "import shutil; shutil.copytree('src','lib')"`, 'src/a.py', 'lib/a.py'],
  [`python -c "s=open('a.py').read(); open('b.py','w').write(s[:99])"`, 'a.py', 'b.py'],
  [`python -c "Path('b.py').write_text(Path('a.py').read_text())"`, 'a.py', 'b.py'],
  [`node -e "fs.writeFileSync('b.py', fs.readFileSync('a.py') + 'x')"`, 'a.py', 'b.py'],
  ['{ echo new; cat a.py; } > b.py', 'a.py', 'b.py'],
  ['for f in c.py a.py; do cat "$f"; done > b.py', 'a.py', 'b.py'],
  ['if test -f a.py; then cat a.py; fi > b.py', 'a.py', 'b.py'],
  ['(cat a.py; cat c.py) | sort > b.py', 'a.py', 'b.py'],
  ['grep -v x a.py > t && mv t b.py', 'a.py', 'b.py'],
  ['python gen.py > b.py; cat a.py > b.py', 'a.py', 'b.py'],
])('"%s" copies or moves %s to %s', (command, source, target) => {
  expect(transfersIn(command, folder)(source, target)).toBe(true)
})

test.each([
  'python gen.py > new.ini; diff old.ini new.ini',
  'test -f old.ini && python gen.py > new.ini',
  'python gen.py > new.ini && git add old.ini new.ini && git commit -m "replaces old.ini"',
  "echo 'this replaces old.ini'; python gen.py > new.ini",
  'cp old.ini keep.txt; python gen.py > new.ini',
  'cp old.ini new.ini; python gen.py > new.ini',
  'cp old.ini new.ini; (echo header; python gen.py) > new.ini',
  'python gen.py > old.ini; cp old.ini new.ini',
  '(cat old.ini; python gen.py) | python convert.py > new.ini',
  `python -c "os.remove('old.ini'); open('new.ini','w').write(text)"`,
  `python -c "open('old.ini','w').write(''); open('new.ini','w').write(text)"`,
  'mv old.ini old.bak; python gen.py > new.ini',
  'rm old.ini; python gen.py > new.ini',
  'git rm -q old.ini; python gen.py > new.ini',
  ': > old.ini; python gen.py > new.ini',
  'wc -l old.ini; npm install; npm run build',
  "cat > $DIR/new.ini <<'EOF'\nold.ini\ncp old.ini new.ini\nEOF",
  'python gen.py > new.ini # as cp old.ini new.ini does',
  'echo cp old.ini new.ini; python gen.py > new.ini',
  `awk '{ print "old.ini " $1 }' data > new.ini`,
  'seq 9 | sed -e "s/$/ old/" > new.ini',
  'cp $TEMPLATES/old.ini new.ini',
  'cp "$1" new.ini',
  'tar xzf "$ARCHIVE" -C .',
  'cp old.ini "$BACKUP"; python gen.py > new.ini',
])('"%s" looks at old.ini, and makes new.ini of something else', (command) => {
  expect(transfersIn(command, folder)('old.ini', 'new.ini')).toBe(false)
})

test.each([
  ['cd two && cat > .env <<EOF\na\nEOF', 'one/.env', 'two/.env'],
  ['cp /etc/skel/.env two/', 'one/.env', 'two/.env'],
  ['cp .env two/.env', 'one/.env', 'two/.env'],
  ['cp one/a.ts two/', 'one/b.ts', 'two/b.ts'],
  ['cp one/a.ts two/', 'one/a.ts', 'two/b.ts'],
])('"%s" does not copy %s to %s', (command, source, target) => {
  expect(transfersIn(command, folder)(source, target)).toBe(false)
})

test.each([
  ['git checkout -- a.ini', true],
  ['git -c user.name=x stash pop', true],
  ['tar xf backup.tgz', true],
  ['cp a.ini.bak a.ini', true],
  ['cp backup/a.ini .', true],
  ['cp backup/* "$WORK"', true],
  ["sh -c 'git stash pop'", true],
  ["sed -i 's/1/2/' a.ini && git commit -qam 'set 2'", false],
  ["git checkout -b topic; sed -i 's/1/2/' a.ini", false],
  ["echo npm install; sed -i 's/1/2/' a.ini", false],
  ["cp a.ini /tmp/b; sed -i 's/1/2/' a.ini", false],
])('"%s" may bring back what a.ini had: %s', (command, expected) => {
  expect(mayRestore(command, { folder, path: 'a.ini' })).toBe(expected)
})
