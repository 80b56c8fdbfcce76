import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands, linesOf } from './everyday-hands.ts'
import { notOf, ofOrUnknown } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

describe.each(databases)('what commands copy, and what they only write again, on %s', (database) => {
  const test = testOn(database, 4)
  const { say, exec, put, check } = everydayHands(database)

  // Copies onto a file that is there.
  test.each([
    'cp f g',
    'cp -f ./f ./g',
    'cat f > g',
    'cat f | tee g > /dev/null',
    'install -m 644 f g',
    'dd if=f of=g status=none',
    'rm g; cp f g',
    'cp "$PWD/f" "$PWD/g"',
  ])('%s keeps the author of each line, whatever was there', async (command) => {
    const first = await say(write('f', linesOf('f')))
    await say(write('g', `one line of g\n${linesOf('g')}`))
    await exec(command)
    await check('g:5', { by: 'run', runId: first })
    const third = await say(edit('f', 'line 7 that', 'line seven that'))
    await exec(command)
    await check('g:5', { by: 'run', runId: first })
    await check('g:7', { by: 'run', runId: third })
  })
  test.each(['cp f g.tmp; mv g.tmp g', `python3 -c "open('g','w').write(open('f').read())"`])(
    '%s may be a copy',
    async (command) => {
      const first = await say(write('f', linesOf('f')))
      put('g', linesOf('g'))
      const copier = await exec(command)
      await check('g:5', ofOrUnknown(first))
      await check('g:5', notOf(copier))
    },
  )

  // Moves that leave the old content somewhere.
  test.each([
    `mv f g; sed -i.bak 's/line 5 /line five /' g`,
    `cp f f.bak && mv f g && sed -i 's/line 5 /line five /' g`,
    `mkdir old; cp f old/; mv f g; sed -i 's/line 5 /line five /' g`,
  ])('%s keeps the authors of the other lines', async (command) => {
    const first = await say(write('f', linesOf('f')))
    const second = await exec(command)
    await check('g:3', { by: 'run', runId: first })
    await check('g:5', { by: 'run', runId: second })
  })

  // Copies that are changed at once.
  test.each([
    "cp f g && sed -i 's/line 5 /line five /' g",
    "mkdir lib; cp f lib/f; echo more >> lib/f; sed 's/line 5 /line five /' lib/f > g; rm -r lib",
    "sed 's/line 5 /line five /' f > g",
    "for n in g; do cat f > $n; sed -i 's/line 5 /line five /' $n; done",
  ])('%s keeps the authors of the other lines', async (command) => {
    const first = await say(write('f', linesOf('f')))
    const second = await exec(command)
    await check('g:3', ofOrUnknown(first))
    await check('g:3', notOf(second))
    await check('g:5', ofOrUnknown(second))
  })
  test('a changed copy of the user’s template keeps the user’s lines', async () => {
    put('template.ts', linesOf('the template'))
    await later()
    const agent = await exec("cp template.ts new.ts && sed -i 's/line 5 /line five /' new.ts")
    await check('new.ts:3', { by: 'before' })
    await check('new.ts:5', { by: 'run', runId: agent })
  })
  test('a file like another one is of the command that has its lines in its text', async () => {
    await say(write('one/.env', linesOf('the file')))
    const second = await exec(`mkdir two; cat > two/.env <<'EOF'\n${linesOf('the file')}one more of it\nEOF`)
    await check('two/.env:5', { by: 'run', runId: second })
  })

  // The same content again, by a command of its own.
  const same = 'for n in $(seq 12); do echo "line $n that the file is made of"; done'
  test.each([
    `${same} | cat > two/.env`,
    `mkdir -p two; cd two; cat > .env <<'EOF'\n${linesOf('the file')}EOF`,
    `D=two; cat > $D/.env <<EOF\n${linesOf('the file')}EOF`,
    `${same} > two/.env # the same as one/.env`,
    `echo cp one/.env two/.env; ${same} > two/.env`,
    `seq 12 | sed -e 's/$/ that the file is made of/' -e 's/^/line /' > two/.env`,
  ])('%s is no copy', async (command) => {
    const first = await say(write('one/.env', linesOf('the file')))
    const second = await exec(`mkdir -p two; ${command}`)
    await check('two/.env:5', ofOrUnknown(second))
    await check('two/.env:5', notOf(first))
  })

  test('a file of the user is theirs in a folder that a command made and another one renamed', async () => {
    const first = await exec(`mkdir src; ${same} > src/b`)
    await later()
    put('src/c', linesOf('c'))
    await later()
    await exec('mv src lib')
    await check('lib/b:3', { by: 'run', runId: first })
    await check('lib/c:3', { by: 'before' })
  })
})
