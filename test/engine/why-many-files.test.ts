import { appendFileSync, cpSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { commandHands } from './command-hands.ts'
import { write } from './hands.ts'

const linesOf = (name: string, count = 12) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} that ${name} is made of\n`).join('')

/** Other files are found by their lines, however many there are and wherever they were recorded from. */
describe.each(databases)('a file among many, on %s', (database) => {
  const test = testOn(database)
  const { at, say, exec, author, sayIn } = commandHands(database)
  const by = (runId: string) => ({ by: 'run', runId })
  const unknown = (runId: string) => ({ by: 'unknown', since: null, runIds: [runId] })

  test('a changed copy of one of many files is not denied to the run that wrote it', async () => {
    const first = await say(write('wanted.py', linesOf('wanted')))
    await say(...Array.from({ length: 60 }, (_, each) => write(`other-${each}.py`, linesOf(`other ${each}`))))
    cpSync(at('wanted.py'), at('copy.py'))
    appendFileSync(at('copy.py'), 'by hand\n')
    expect([await author('copy.py:3'), await author('copy.py:13')]).toEqual([unknown(first), { by: 'before' }])
  })

  test('a changed copy of a file that was written often since is not denied to the run that wrote it', async () => {
    const first = await say(write('wanted.py', linesOf('wanted')))
    cpSync(at('wanted.py'), at('copy.py'))
    for (let round = 0; round < 10; round++) await say(write('wanted.py', linesOf(`round ${round}`)))
    appendFileSync(at('copy.py'), 'by hand\n')
    // It may also have been written again: nobody saw it being copied.
    expect(await author('copy.py:3')).toMatchObject({ by: 'unknown', runIds: [first] })
    expect(await author('copy.py:13')).toEqual({ by: 'before' })
  })

  test('a copy of a file that was there before heddle wrote to it does not deny the lines that a run added', async () => {
    writeFileSync(at('wanted.py'), linesOf('the user’s file'))
    const first = await say(write('wanted.py', `${linesOf('the user’s file')}a line of the run\n`))
    await say(...Array.from({ length: 60 }, (_, each) => write(`other-${each}.py`, linesOf(`other ${each}`))))
    cpSync(at('wanted.py'), at('copy.py'))
    appendFileSync(at('copy.py'), 'by hand\n')
    expect([await author('copy.py:3'), await author('copy.py:13')]).toEqual([{ by: 'before' }, unknown(first)])
  })

  test('what a command left among many files is found, too', async () => {
    mkdirSync(at('made'))
    const first = await exec(
      `for i in $(seq 60); do for n in 1 2 3 4 5 6 7 8 9; do echo "line $n of the file $i" >> made/$i.txt; done; done`,
    )
    await say(...Array.from({ length: 60 }, (_, each) => write(`other-${each}.py`, linesOf(`other ${each}`))))
    cpSync(at('made/7.txt'), at('kept.txt'))
    appendFileSync(at('kept.txt'), 'by hand\n')
    expect([await author('kept.txt:3'), await author('kept.txt:10')]).toEqual([unknown(first), { by: 'before' }])
  })

  test('a line that the user writes is the user’s, although many files have such a line', async () => {
    await say(...Array.from({ length: 60 }, (_, each) => write(`other-${each}.py`, `import os\n${linesOf(`${each}`)}`)))
    writeFileSync(at('mine.py'), 'import os\nsomething of my own\nand a second line of it\n')
    expect([await author('mine.py:1'), await author('mine.py:2')]).toEqual([{ by: 'before' }, { by: 'before' }])
  })

  test('a file of a session in a sub-folder that is moved up and changed keeps the authors of its lines', async () => {
    const folder = at('sub')
    mkdirSync(folder)
    const first = await sayIn(folder, write('wanted.py', linesOf('wanted')))
    renameSync(at('sub/wanted.py'), at('moved.py'))
    appendFileSync(at('moved.py'), 'by hand\n')
    expect(await author('moved.py:3')).toEqual(by(first))
  })
})
