import { readFileSync, rmSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { noRun, notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

/** No run but these. */
const noOther = (...runIds: string[]) =>
  expect.toSatisfy(({ runId }: { runId?: string }) => runId === undefined || runIds.includes(runId), 'no other run')

/** A shell command that writes twelve lines. */
const lines = (name: string, to: string, count = 12) =>
  `for n in $(seq ${count}); do echo "line $n that ${name} is made of"; done > ${to}`

describe.each(databases)('what commands make, on %s', (database) => {
  const test = testOn(database, 4)
  const { at, say, exec, sh, put, check, begin } = everydayHands(database)

  test('a package.json of npm init, the user’s edit, and npm pkg set of another agent', async () => {
    const first = await exec(
      `node -e "require('fs').writeFileSync('package.json',JSON.stringify({name:'an-app',version:'1.0.0',main:'index.js',license:'ISC'},null,2)+'\\n')"`,
    )
    await later()
    sh('sed -i "s/1.0.0/1.0.1/" package.json')
    await later()
    const second = await exec(
      `node -e "const fs=require('fs');const p=JSON.parse(fs.readFileSync('package.json'));p.type='module';fs.writeFileSync('package.json',JSON.stringify(p,null,2)+'\\n')"`,
    )
    await check('package.json:2', ofOrUnknown(first))
    await check('package.json:3', noRun, 'the user')
    await check('package.json:6', ofOrUnknown(second))
  })
  test('two runs that generate the same in two folders', async () => {
    const first = await exec(`mkdir a; ${lines('init', 'a/conf')}`)
    await later()
    const second = await exec(`mkdir b; ${lines('init', 'b/conf')}`)
    await check('a/conf:5', ofOrUnknown(first))
    await check('b/conf:5', ofOrUnknown(second), 'the second: its generator wrote it')
  })
  test('a scaffold of the user’s template in three packages, one of which the user changes', async () => {
    put('template/index.ts', linesOf('the template'))
    await later()
    const agent = await exec('for p in a b c; do mkdir -p packages/$p; cp template/index.ts packages/$p/; done')
    await later()
    sh("sed -i 's/line 5 that/line five that/' packages/b/index.ts")
    await check('packages/b/index.ts:5', noRun)
    await check('packages/b/index.ts:3', noOther(agent), 'the user, or the agent that copied it')
    await check('template/index.ts:3', noRun)
  })
  test('a generator overwrites files of which some are another run’s', async () => {
    const first = await say(write('gen/a.ts', linesOf('a', 6) + linesOf('hand', 6)))
    await later()
    const second = await exec(`cd gen; ${lines('a', 'a.ts')}; ${lines('a', 'b.ts')}`)
    await check('gen/a.ts:9', ofOrUnknown(second))
    await check('gen/a.ts:3', ofOrUnknown(first, second))
    await check('gen/b.ts:9', ofOrUnknown(second))
    await check('gen/b.ts:3', ofOrUnknown(first, second))
  })
  test('sort -o of a file of two runs and the user', async () => {
    const first = await say(write('words.txt', 'zebra of the first run\nmouse of the first run\n'))
    const second = await exec('printf "apple of the second run\\nviper of the second run\\n" >> words.txt')
    await later()
    sh('echo "lion of the user himself" >> words.txt')
    const sorter = await exec('sort -o words.txt words.txt')
    await check('words.txt:1', ofOrUnknown(second))
    await check('words.txt:2', noRun)
    await check('words.txt:3', ofOrUnknown(first))
    await check('words.txt:1', notOf(sorter))
  })
  test('sort -u of a list to which two runs wrote the same', async () => {
    const first = await say(write('hosts', 'alpha.example.com\nbeta.example.com\n'))
    const second = await exec('printf "beta.example.com\\ngamma.example.com\\n" >> hosts')
    const third = await exec('sort -u hosts > x && mv x hosts')
    await check('hosts:1', ofOrUnknown(first, third))
    await check('hosts:2', ofOrUnknown(first, second, third))
    await check('hosts:3', ofOrUnknown(second, third))
  })
  test('tee appends to two files of two agents', async () => {
    const first = await say(write('a.log', linesOf('a')), write('b.log', linesOf('b')))
    await later()
    const second = await exec('echo "a line for all of them" | tee -a a.log b.log')
    await later()
    sh('echo "a line for all of them" | tee -a a.log b.log c.log')
    for (const name of ['a.log', 'b.log']) {
      await check(`${name}:5`, ofOrUnknown(first))
      await check(`${name}:13`, ofOrUnknown(second))
      await check(`${name}:14`, notOf(first), 'the user')
    }
    await check('c.log:1', noRun, 'the user')
  })
  test('a file is put together again from pieces by a command, and by the user', async () => {
    const agent = await say(write('a.txt', linesOf('a', 30)))
    await exec('split -l 10 a.txt part. && rm a.txt')
    await check('part.ab:3', ofOrUnknown(agent))
    await later()
    sh('cat part.* > a.txt; rm part.*')
    await check('a.txt:13', ofOrUnknown(agent))
    await check('a.txt:3', ofOrUnknown(agent))
  })
  test('a command that goes on in the background after its call', async () => {
    const agent = await exec(`(setsid nohup bash -c 'sleep 1; ${lines('late', 'late.txt')}' > /dev/null 2>&1 &) ; true`)
    sh('for i in $(seq 40); do [ -s late.txt ] && break; sleep 0.05; done; touch late.txt')
    if (readFileSync(at('late.txt'), 'utf8') === '') return
    await check('late.txt:5', ofOrUnknown(agent), 'the agent’s command wrote it')
  })
  test('a command that is killed in the middle of a rewrite', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    await later()
    const second = await exec(
      `{ head -3 a.txt; echo "half of the second"; } > x; cat x > a.txt; kill -9 $$; echo never`,
    )
    await check('a.txt:4', ofOrUnknown(second))
    await check('a.txt:2', ofOrUnknown(first))
    await later()
    sh('cat x > b.txt; rm x a.txt')
    await check('b.txt:4', ofOrUnknown(second))
    await check('b.txt:2', ofOrUnknown(first))
  })
  test('two commands at once that write two files with equal lines', async () => {
    const one = await begin(lines('both', 'one.txt'))
    const two = await exec(`${lines('both', 'two.txt')}; echo "end of two" >> two.txt`)
    one.finish()
    await check('one.txt:5', notOf(two))
    await check('one.txt:5', ofOrUnknown(one.runId))
    await check('two.txt:5', ofOrUnknown(two))
    await check('two.txt:13', ofOrUnknown(two))
  })
  test('the user saves while a command works on another file', async () => {
    const first = await say(write('mine.txt', linesOf('a')))
    const slow = await begin(lines('slow', 'slow.txt'))
    await later()
    put('mine.txt', linesOf('a').replace('line 5', 'line five'))
    await later()
    slow.finish()
    await check('mine.txt:5', notOf(first), 'the user')
    await check('mine.txt:3', ofOrUnknown(first))
    await check('slow.txt:5', ofOrUnknown(slow.runId))
  })
  test('head -n -1 and a temporary file, then the user’s line', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    const second = await exec('head -n -1 a.txt > t && echo "the end by the second" >> t && mv t a.txt')
    await later()
    sh('echo "line 12 that a is made of" >> a.txt')
    await check('a.txt:3', ofOrUnknown(first))
    await check('a.txt:12', ofOrUnknown(second))
    await check('a.txt:13', notOf(second), 'the user, who typed the line that the first had written')
  })
  test('find -exec renames many files of several authors', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    const second = await exec(lines('b', 'b.txt'))
    put('c.txt', linesOf('c'))
    await later()
    const third = await exec(
      'for f in *.txt; do mv $f $(basename $f .txt).md; done; sed -i "s/line 5 that/line five that/" *.md',
    )
    for (const [name, author] of Object.entries({ a: first, b: second }))
      await check(`${name}.md:3`, ofOrUnknown(author))
    await check('c.md:3', noRun)
    for (const name of ['a', 'b', 'c']) await check(`${name}.md:5`, ofOrUnknown(third))
  })
  test('a codegen run replaces a region in files of the user and of an agent', async () => {
    const region = (text: string) => `// begin generated\n${text}// end generated\n`
    const first = await say(write('a.ts', linesOf('a', 5) + region('const old = 1\n') + linesOf('z', 5)))
    put('mine.ts', linesOf('mine', 5) + region('const old = 1\n') + linesOf('z', 5))
    await later()
    const second = await exec(`sed -i 's/const old = 1/const generated = 42\\nexport default generated/' *.ts`)
    for (const name of ['a', 'mine']) await check(`${name}.ts:8`, ofOrUnknown(second))
    await check('a.ts:11', ofOrUnknown(first))
    await check('mine.ts:11', noRun)
    await check('mine.ts:6', noRun)
  })
  test('a command makes the user’s file equal to an agent’s', async () => {
    const text = (color: string) => Array.from({ length: 8 }, (_, at) => `rule-${at} { color: ${color}; }\n`).join('')
    put('mine.css', text('red'))
    await later()
    const first = await say(write('theirs.css', text('blue')))
    await later()
    const second = await exec("sed -i 's/red/blue/' mine.css")
    await check('mine.css:3', ofOrUnknown(second), 'the second')
    await check('mine.css:3', notOf(first))
  })
  test('a command writes to a file what an agent’s file had, while that is changed by the user', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    await later()
    sh("sed -i 's/line 5 that/line five that/' a.txt")
    await later()
    const second = await exec(lines('a', 'b.txt'))
    await check('b.txt:5', ofOrUnknown(second), 'the second: its generator wrote it')
    await check('a.txt:3', ofOrUnknown(first))
  })
  test('a copy by a command of the user’s copy of an agent’s file', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    await later()
    sh('cp a.txt b.txt; sed -i "s/line 5 that/line five that/" b.txt')
    await later()
    const second = await exec('cp b.txt c.txt; rm b.txt; echo end >> c.txt')
    await check('c.txt:3', ofOrUnknown(first, second))
    await check('c.txt:5', notOf(first), 'the user, or the second')
    await check('c.txt:13', ofOrUnknown(second))
  })
  test('a command swaps two files, and the user swaps them back', async () => {
    const first = await say(write('a.txt', linesOf('a')))
    const second = await say(write('b.txt', linesOf('b')))
    await exec('mv a.txt x; mv b.txt a.txt; mv x b.txt')
    await later()
    sh('mv a.txt x; mv b.txt a.txt; mv x b.txt; echo mine >> a.txt')
    await check('a.txt:5', ofOrUnknown(first))
    await check('a.txt:13', noRun)
    await check('b.txt:5', ofOrUnknown(second))
  })
  test('an install that the user repeats after he removed the folder', async () => {
    const install = (to: string) => `mkdir -p ${to}; ${lines('the package', `${to}/index.js`)}`
    const agent = await exec(install('vendor/pkg'))
    await later()
    rmSync(at('vendor'), { recursive: true })
    await exec('true')
    await later()
    sh(install('vendor/pkg'))
    await check('vendor/pkg/index.js:5', noOther(agent), 'the user installed it, as the agent had')
    const second = await say(edit('vendor/pkg/index.js', 'line 5 that', 'line five that'))
    await check('vendor/pkg/index.js:3', noOther(agent))
    await check('vendor/pkg/index.js:5', ofOrUnknown(second))
  })
})
