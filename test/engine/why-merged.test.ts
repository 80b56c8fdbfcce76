import { appendFileSync, linkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { commandHands } from './command-hands.ts'
import { edit, write } from './hands.ts'

const linesOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} that ${name} is made of\n`).join('')

describe.each(databases)('files that a command moves and changes at once, on %s', (database) => {
  const test = testOn(database)
  const { at, elsewhere, say, exec, author, way } = commandHands(database)
  const by = (runId: string) => ({ by: 'run', runId })
  const unknown = (...runIds: string[]) => ({
    by: 'unknown',
    since: expect.anything(),
    runIds: expect.toSatisfy((found: string[]) => runIds.every((each) => found.includes(each))),
  })
  const authors = async (path: string, lines: number) => {
    const found: unknown[] = []
    for (let line = 1; line <= lines; line++) found.push(await author(`${path}:${line}`))
    return found
  }
  const some = (count: number, runId: string) => new Array(count).fill(by(runId))

  test('one that is moved onto a file that shares lines with it keeps the authors of both, and denies none a line', async () => {
    const first = await say(write('a.py', linesOf('a', 6)))
    await exec('cp a.py b.py')
    const second = await say(edit('a.py', 'line 6 that a is made of', linesOf('second', 3).trimEnd()))
    const third = await say(edit('b.py', 'line 1 that a is made of', linesOf('third', 3).trimEnd()))
    const mover = await exec("mv a.py b.py && printf 'added by the command\\n' >> b.py")
    expect(third).not.toBe(mover)
    expect(await authors('b.py', 9)).toEqual([...some(5, first), ...some(3, second), by(mover)])
  })

  test('a blank line that the command may have written between its own ones is not told as that of a file with a blank line elsewhere', async () => {
    const first = await say(write('a.py', `the first line of a\n\n${linesOf('a', 5)}`))
    await exec('cp a.py b.py')
    await say(edit('b.py', 'line 5 that a is made of', 'a line that the second run wrote'))
    const more = 'the command wrote this\\n\\nand this, too\\n'
    const mover = await exec(`{ grep . a.py; printf '${more}'; } > new && mv new b.py && rm a.py`)
    expect(await authors('b.py', 9)).toEqual([...some(6, first), by(mover), unknown(first, mover), by(mover)])
  })

  test('a file that is appended to one of a blank line does not make that line the command’s', async () => {
    const first = await say(write('b.py', '\n'))
    const second = await say(write('a.py', `${linesOf('a', 4)}\n${linesOf('the rest of a', 2)}`))
    const mover = await exec('cat a.py >> b.py && rm a.py')
    expect(await authors('b.py', 8)).toEqual([unknown(first, mover), ...some(7, second)])
  })

  test('files that a command joins keep their authors, also where both have the same lines', async () => {
    const first = await say(write('a.py', `import os\n${linesOf('a', 6)}\n`))
    await exec('cp a.py b.py')
    const second = await say(edit('b.py', 'line 3 that a is made of', 'a line that the second run wrote'))
    await exec('cat a.py b.py > c.py && rm a.py b.py')
    expect(await authors('c.py', 16)).toEqual([...some(11, first), by(second), ...some(4, first)])
  })

  test('one that is appended to another, and removed, keeps its authors, as the other does', async () => {
    const first = await say(write('a.py', linesOf('a', 4)))
    const second = await say(write('b.py', 'one line of b that stays\n'))
    const third = await say(edit('a.py', 'line 2 that a is made of', 'a line that the third run wrote'))
    const mover = await exec("cat a.py >> b.py && rm a.py && printf 'added by the command\\n' >> b.py")
    expect(await authors('b.py', 6)).toEqual([by(second), by(first), by(third), ...some(2, first), by(mover)])
    expect(await way('b.py:3')).toEqual([
      'asked about b.py:3',
      `moved by ${mover}`,
      'moved from a.py:2',
      `written by ${third}`,
      expect.stringMatching(/^you said/),
    ])
  })

  test('several that are put together, and removed, keep their authors', async () => {
    const runs = [await say(write('a.py', linesOf('a', 3))), await say(write('b.py', linesOf('b', 4)))]
    runs.push(await say(write('c.py', linesOf('c', 2))))
    const mover = await exec("cat a.py b.py c.py > all.py && printf 'the end\\n' >> all.py && rm a.py b.py c.py")
    const [a = '', b = '', c = ''] = runs
    expect(await authors('all.py', 10)).toEqual([...some(3, a), ...some(4, b), ...some(2, c), by(mover)])
  })

  test('a short line that several of them had is that of the one whose lines stand around it', async () => {
    const first = await say(write('a.py', `${linesOf('a', 3)}}\n\n${linesOf('more', 3)}`))
    const second = await say(write('b.py', `${linesOf('b', 3)}\n}\n${linesOf('others', 3)}`))
    await exec('cat a.py b.py > all.py && rm a.py b.py')
    expect(await authors('all.py', 16)).toEqual([...some(8, first), ...some(8, second)])
  })

  test('a line that another file had as well is not told as the command’s when it is appended to that one', async () => {
    const first = await say(write('a.py', 'a line that both files have\n'))
    const second = await say(write('b.py', `a line that both files have\n${linesOf('b', 4)}`))
    const mover = await exec('cat a.py >> b.py && rm a.py')
    expect(await authors('b.py', 6)).toEqual([...some(5, second), unknown(first, second, mover)])
  })

  test('one that much is added to, or that is taken apart, keeps its authors', async () => {
    const first = await say(write('a.py', linesOf('a', 4)))
    const mover = await exec("mv a.py b.py && for n in 1 2 3 4 5 6; do printf 'added %s\\n' $n >> b.py; done")
    expect(await authors('b.py', 10)).toEqual([...some(4, first), ...some(6, mover)])
    const second = await say(write('c.py', linesOf('c', 8)))
    await exec('head -n 4 c.py > c1.py && tail -n 4 c.py > c2.py && rm c.py')
    expect([...(await authors('c1.py', 4)), ...(await authors('c2.py', 4))]).toEqual(some(8, second))
  })

  test('a small part of one that is taken apart is unknown, and names both who wrote it and the command', async () => {
    const first = await say(write('a.py', linesOf('a', 12)))
    const parter = await exec('head -n 10 a.py > a1.py && tail -n 2 a.py > a2.py && rm a.py')
    expect(await authors('a1.py', 10)).toEqual(some(10, first))
    expect(await authors('a2.py', 2)).toEqual([unknown(first, parter), unknown(first, parter)])
  })

  test('lines that a command only puts in another order keep their authors', async () => {
    const first = await say(write('a.py', linesOf('a', 4)))
    appendFileSync(at('a.py'), 'a line that was added by hand\n')
    const second = await say(edit('a.py', 'line 3 that a is made of', 'line 3 that the second run wrote'))
    const sorter = await exec("sort -r a.py -o a.py && printf 'added by the command\\n' >> a.py")
    expect(await authors('a.py', 6)).toEqual([
      ...[by(first), by(second), by(first), by(first), { by: 'outside' }, by(sorter)],
    ])
    expect(await way('a.py:2')).toEqual([
      'asked about a.py:2',
      `written by ${second}`,
      expect.stringMatching(/^you said/),
    ])
  })

  test('lines that a command puts in the opposite order keep their authors', async () => {
    const first = await say(write('a.py', linesOf('a', 12)))
    const second = await say(edit('a.py', 'line 3 that a is made of', 'line 3 that the second run wrote'))
    const turner = await exec('tac a.py > t && mv t a.py')
    expect(await authors('a.py', 12)).toEqual([...some(9, first), by(second), ...some(2, first)])
    await exec("tac a.py > t && { cat t; printf 'added by the command\\n'; } > a.py; rm t")
    expect(await authors('a.py', 12)).toEqual([...some(2, first), by(second), ...some(9, first)])
    expect(await author('a.py:13')).not.toEqual(by(turner))
  })

  test('lines of several files that a command sorts into one keep their authors', async () => {
    const first = await say(write('a.py', linesOf('a', 3)))
    const second = await say(write('b.py', linesOf('b', 3)))
    await exec("awk '{ print }' a.py b.py | sort > c.py; rm a.py b.py")
    expect(await authors('c.py', 6)).toEqual([first, second, first, second, first, second].map(by))
  })

  test('one that is put aside and changed, while its name gets another content, keeps its authors', async () => {
    const first = await say(write('a.py', linesOf('a', 5)))
    const mover = await exec(
      "mv a.py a.old && printf 'put aside\\n' >> a.old && printf 'a new one\\nof two lines\\n' > a.py",
    )
    expect(await authors('a.old', 6)).toEqual([...some(5, first), by(mover)])
    expect(await authors('a.py', 2)).toEqual(some(2, mover))
  })

  test('a short one is unknown, and names both who wrote it and the command', async () => {
    const first = await say(write('VERSION', '1.2\n'))
    const mover = await exec("mkdir lib && mv VERSION lib/VERSION && printf 'stable\\n' >> lib/VERSION")
    expect(await authors('lib/VERSION', 2)).toEqual([unknown(first, mover), by(mover)])
  })

  test('short ones that a command swaps are unknown, and one that it puts aside is not', async () => {
    const first = await say(write('a.txt', 'one\n'))
    const second = await say(write('b.txt', 'two\n'))
    const swapper = await exec('mv a.txt t && mv b.txt a.txt && mv t b.txt')
    expect([...(await authors('a.txt', 1)), ...(await authors('b.txt', 1))]).toEqual([
      unknown(second, swapper),
      unknown(first, swapper),
    ])
    const third = await say(write('c.txt', 'three\n'))
    const last = await exec("mv c.txt c.old && printf 'four\\n' > c.txt")
    expect([...(await authors('c.old', 1)), ...(await authors('c.txt', 1))]).toEqual([by(third), by(last)])
  })

  test('a line that both of two short files had is unknown once a command swapped them', async () => {
    const first = await say(write('a.txt', 'import os\none\n'))
    const second = await say(write('b.txt', 'import os\n'))
    await exec('mv a.txt t && mv b.txt a.txt && mv t b.txt')
    expect(await authors('a.txt', 1)).toEqual([unknown(first, second)])
  })

  test('the one long line that is left of a file which a command moved is unknown, not the command’s', async () => {
    const first = await say(write('a.py', `a line that nobody else has\n${linesOf('a', 9)}`))
    const mover = await exec("mv a.py b.py && sed -i '2,$s/line/LINE/' b.py")
    expect((await authors('b.py', 2)).slice(0, 2)).toEqual([unknown(first, mover), by(mover)])
  })

  test('a line that stays in its file is no matter of another one that is removed', async () => {
    const first = await say(write('a.py', `import os\n${linesOf('a', 5)}`))
    await say(write('b.py', `import os\n${linesOf('b', 5)}`))
    const other = await exec("rm b.py && sed -i 's/line 3/LINE 3/' a.py && printf 'import os\\nnew\\n' > c.py")
    expect(await authors('a.py', 6)).toEqual([...some(3, first), by(other), ...some(2, first)])
    // The command has it in its own text: it need not be all that is left of the other one.
    expect(await authors('c.py', 2)).toEqual([by(other), by(other)])
  })

  test('what a hand had changed before is told as such behind the move', async () => {
    const first = await say(write('a.py', linesOf('a', 4)))
    await say(write('b.py', linesOf('b', 4)))
    appendFileSync(at('a.py'), 'a line that was added by hand\n')
    const mover = await exec("mv a.py b.py && printf 'added by the command\\n' >> b.py")
    expect(await authors('b.py', 6)).toEqual([...some(4, first), { by: 'outside' }, by(mover)])
  })

  test('one that was not read before the command is found by its identity, also if a hand changed it', async () => {
    const first = await say(write('old.py', linesOf('old', 4)))
    const second = await say(write('other.py', linesOf('other', 4)))
    appendFileSync(at('other.py'), 'added by hand\n')
    // More than is read before a command, all of it changed later.
    for (let each = 0; each < 9; each++) writeFileSync(at(`large-${each}`), 'x'.repeat(1_000_000))
    await exec('mv old.py new.py && mv other.py another.py')
    expect(await authors('new.py', 4)).toEqual(some(4, first))
    expect(await authors('another.py', 4)).toEqual(some(4, second))
    expect(await author('another.py:5')).not.toHaveProperty('runId')
  })

  test('a temporary file of a write that comes by makes no line of a command unknown', async () => {
    // With a second link it is not read, as one that is gone at once.
    writeFileSync(at('.heddle-1-1.tmp'), linesOf('a write', 3))
    linkSync(at('.heddle-1-1.tmp'), join(elsewhere(), 'linked'))
    const run = await exec("rm .heddle-1-1.tmp; printf 'by the command\\n' > new.py")
    expect(await author('new.py:1')).toEqual(by(run))
  })

  test('lines that a command puts in another order, and another one puts back, are whose they were, also short ones', async () => {
    const text = `${linesOf('z', 3)}}\n${linesOf('y', 3)}}\n${linesOf('x', 3)}`
    const first = await say(write('a.py', text))
    const second = await say(edit('a.py', 'line 2 that y is made of', 'line 2 that the second run wrote'))
    await exec(`cp a.py ${elsewhere()}/kept && LC_ALL=C sort -o a.py a.py`)
    expect(await author('a.py:10')).toEqual(by(first))
    await exec(`cat ${elsewhere()}/kept > a.py`)
    expect(await authors('a.py', 11)).toEqual([...some(5, first), by(second), ...some(5, first)])
  })

  test('a short line is unknown where a command puts lines in another order and has written some, too', async () => {
    const first = await say(write('a.py', `${linesOf('z', 4)}${linesOf('y', 4)}}\n`))
    const run = await exec("{ echo '}'; grep -v '}' a.py | LC_ALL=C sort; echo by the command; } > new; mv new a.py")
    expect(await authors('a.py', 10)).toEqual([unknown(first, run), ...some(8, first), by(run)])
  })
})
