import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { linesIn, matchLines } from '../../src/engine/files/match-lines.ts'
import { undo } from '../../src/engine/files/undo.ts'
import { why } from '../../src/engine/why/why.ts'
import { recordFileChange } from '../../src/store/rows/file-changes.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { testTool } from './engine.ts'
import { edit, type Hands, newHands, planned, write } from './hands.ts'

const budget = { usd: 5, tokens: 1000 }

describe.each(databases)('who wrote a line, on %s', (database) => {
  const test = testOn(database)
  let pool: Hands
  const open = async (plans: Parameters<typeof planned>[0]) => {
    pool = await newHands(database, planned(plans))
    await pool.work()
    return pool
  }
  afterEach(async () => {
    expect(pool.troubles).toEqual([])
    await pool.remove()
  })
  const ask = (reference: string, folder = pool.folder) =>
    why({ store: pool.engine.store, protect: nothingProtected, budget }, folder, reference)
  const code = (reference: string) => ask(reference).catch(({ code }) => code)
  /** For each line the run that wrote it, else what is said instead. */
  const authors = async (path: string) => {
    const { file } = await ask(path)
    const views = await Promise.all(Array.from({ length: file?.lines ?? 0 }, (_, at) => ask(`file:${path}:${at + 1}`)))
    return views.map(({ chain, notes }) => chain.find(({ how }) => how === 'written by')?.id ?? notes[0]?.text)
  }
  const at = (name: string) => join(pool.folder, name)
  const outside = (line: number) => `line ${line} was changed outside heddle: by hand or by another program`

  test('of two writers each line names its own, with the call, back to what was said', async () => {
    const { ask: say } = await open({
      one: [[write('a.md', '# Title\n\nfirst\nsecond\n')]],
      two: [[edit('a.md', 'first\n', 'FIRST\nand more\n')]],
    })
    const [first, second] = [await say('one'), await say('two', 'other')]
    expect(await authors('a.md')).toEqual([first, first, second, second, first])
    const { ref, chain, file, notes } = await ask('a.md:4')
    expect({ ref, notes }).toEqual({ ref: 'file:a.md:4', notes: [] })
    expect(chain.map(({ kind, id, how, tool, title }) => ({ kind, id, how, tool, title }))).toEqual([
      { kind: 'file', id: 'a.md:4', how: 'asked about', title: 'and more', tool: undefined },
      { kind: 'run', id: second, how: 'written by', title: 'two', tool: 'edit_file' },
      { kind: 'turn', id: expect.any(String), how: 'you said', title: 'two', tool: undefined },
    ])
    expect(file).toEqual({
      path: 'a.md',
      line: 4,
      text: 'and more',
      author: { by: 'run', runId: second },
      lines: 5,
      writers: [
        { runId: first, agent: 'general', lines: 3 },
        { runId: second, agent: 'general', lines: 2 },
      ],
      others: 0,
    })
  })

  test('what was there before, and exactly the lines that somebody changed outside, are told as such', async () => {
    const { put, ask: say } = await open({ go: [[edit('a.txt', 'two', 'TWO')]] })
    put('a.txt', 'one\ntwo\nthree\n')
    const run = await say('go')
    put('a.txt', 'one\nTWO\nthree!\nfour\n')
    const before = 'line 1 was there before heddle wrote to a.txt'
    expect(await authors('a.txt')).toEqual([before, run, outside(3), outside(4)])
    const whole = await ask('a.txt')
    expect(whole.notes.map(({ text }) => text)).toEqual([
      `it was changed outside heddle since run:${run.slice(-6)}: lines 3-4`,
    ])
    expect(whole.file).toMatchObject({ lines: 4, others: 3, writers: [{ runId: run, lines: 1 }] })
  })

  test('a line keeps its writer when others rewrite around it outside and later runs go on from there', async () => {
    const { put, ask: say } = await open({ one: [[write('a', 'alpha\nbeta\n')]], two: [[edit('a', 'omega', 'OMEGA')]] })
    const first = await say('one')
    put('a', 'mine\nbeta\nomega\n')
    const second = await say('two', 'other')
    expect(await authors('a')).toEqual([outside(1), first, second])
  })

  test('what was undone does not count, and what the user puts back is unknown, with the run that wrote it', async () => {
    const {
      put,
      ask: say,
      engine,
    } = await open({
      one: [[write('a', 'one\ntwo\n')]],
      two: [[edit('a', 'two', '2'), write('b', 'b\n')]],
      three: [[edit('a', 'one', '1')]],
    })
    const first = await say('one')
    const second = await say('two')
    expect(await authors('a')).toEqual([first, second])
    await undo(engine, second)
    expect(await authors('a')).toEqual([first, first])
    expect(await code('b')).toMatchObject({ notes: [{ text: 'every change that heddle made to b was undone' }] })
    const third = await say('three')
    expect(await authors('a')).toEqual([third, first])
    put('a', 'one\ntwo\n')
    // The user put an earlier version back, or typed the same.
    const putBack = (runId: string) =>
      expect.stringMatching(new RegExp(`^unknown since .* earlier.* \\(run:${runId.slice(-6)}\\)$`))
    expect(await authors('a')).toEqual([putBack(first), first])
    await undo(engine, third)
    expect(await authors('a')).toEqual([putBack(first), first])
    put('a', '1\ntwo\n')
    expect(await authors('a')).toEqual([putBack(third), first])
  })

  test('a change whose process died before the file was touched wrote nothing', async () => {
    const { ask: say, engine } = await open({ one: [[write('a', 'one\n')]], two: [[edit('a', 'one', 'one\ntwo')]] })
    const first = await say('one')
    const [{ after = null } = {}] = await pool.changes(first)
    const lost = {
      runId: first,
      callId: 'lost',
      folder: pool.folder,
      path: 'a',
      before: after,
      after: 'f'.repeat(64),
      lineMap: null,
      lineHashes: '',
    }
    await engine.store.write('step', (tx) => recordFileChange(tx, { ...lost, mode: 0o644, at: 1 }, undefined))
    expect(await authors('a')).toEqual([first])
    expect((await ask('a')).notes).toEqual([])
    const second = await say('two', 'other')
    expect(await authors('a')).toEqual([first, second])
  })

  test('of a line that a command may have changed unseen, the author is unknown since the last version', async () => {
    const sed = testTool('sed', 'unsafe', () => 'done')
    const touched = () => ({ folder: pool.folder, created: [], changed: ['a'], removed: [], more: 0 })
    const run = async () => {
      pool.put('a', 'one\nby sed\n')
      return { status: 'ok', output: 'done', touched: touched() }
    }
    const plans = { go: [[write('a', 'one\ntwo\n')], [{ name: 'sed', input: { command: 'sed -i' } }]] }
    pool = await newHands(database, planned(plans), [{ ...sed, run } as Tool])
    await pool.work()
    const runId = await pool.ask('go')
    expect((await ask('a:1')).notes).toEqual([])
    expect((await ask('a:2')).notes.map(({ text }) => text)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^unknown since \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d who wrote line 2: a command may .* unseen \\(run:${runId.slice(-6)}\\)$`,
        ),
      ),
    ])
  })

  test('the same file is found from the folder above, and through a link', async () => {
    const { ask: say } = await open({ go: [[write('sub/a', 'x\n')]] })
    const run = await say('go')
    symlinkSync('sub/a', at('link'))
    const writer = async (path: string, folder: string) => (await ask(path, folder)).chain[1]?.id
    expect(await writer('a:1', at('sub'))).toBe(run)
    expect(await writer('link:1', pool.folder)).toBe(run)
    expect(await writer(`${at('sub/a')}:1`, '/')).toBe(run)
  })

  test('what cannot be answered says why: never written, not there, not a file, binary, too large, no such line', async () => {
    const { put, ask: say } = await open({ go: [[write('a', 'x\n'), write('big', 'x\n'), write('bin', 'x\n')]] })
    await say('go')
    put('mine', 'x\n')
    mkdirSync(at('dir'))
    symlinkSync('/etc/hostname', at('out'))
    expect(await ask('mine:1')).toMatchObject({
      chain: [{ kind: 'file', id: 'mine:1', title: 'x' }],
      notes: [{ text: 'heddle never wrote mine: no run has changed it' }],
    })
    expect(await code('none')).toBe('not_found')
    expect(await code('dir')).toBe('not_a_file')
    expect(await code('out')).toBe('not_a_file')
    expect(await code('a:2')).toBe('not_found')
    put('bin', '\0\0\0')
    expect(await code('bin:1')).toBe('binary')
    expect((await ask('bin')).notes[0]?.text).toContain('it is binary')
    writeFileSync(at('big'), 'x\n'.repeat(3 * 1024 * 1024))
    expect(await code('big:1')).toBe('too_large')
    expect((await ask('big')).notes[0]?.text).toContain('to trace lines; showing its last change')
    rmSync(at('a'))
    expect(await code('a:1')).toBe('not_found')
    expect(await ask('a')).toMatchObject({
      chain: [{ id: 'a' }, { how: 'written by' }, { how: 'you said' }],
      notes: [{ text: 'it no longer exists: removed outside heddle' }],
    })
  })

  test('a file that was never a text, and one that is empty, have an answer for the whole', async () => {
    const { put, ask: say } = await open({ go: [[write('e', '')]] })
    const run = await say('go')
    expect(await ask('e')).toMatchObject({ file: { lines: 0 }, chain: [{}, { id: run }, {}] })
    expect(await code('e:1')).toBe('not_found')
    put('raw', '\0')
    expect(await code('raw:1')).toBe('binary')
  })
})

describe('lines from one version to the next', () => {
  /** `a` for each line that stays, `b` for each new one. */
  const authorsOf = (old: string[], fresh: string[]) => matchLines(old, fresh).map((from) => (from === -1 ? 'b' : 'a'))

  test('a text of which nearly everything is new keeps the writers of the few lines that stay', () => {
    const old = Array.from({ length: 4000 }, (_, at) => `old ${at}`)
    const fresh = old.map((line, at) => (at % 1000 === 500 ? line : `new ${at}`))
    const authors = authorsOf(old, fresh)
    expect(authors.flatMap((author, at) => (author === 'a' ? at : []))).toEqual([500, 1500, 2500, 3500])
  })

  test('of two long blocks that change places, one stays whose it was', () => {
    const [one, two] = ['x', 'y'].map((name) => Array.from({ length: 1500 }, (_, at) => `${name} ${at}`))
    const authors = authorsOf([...(one ?? []), ...(two ?? [])], [...(two ?? []), ...(one ?? [])])
    expect(authors.filter((author) => author === 'a')).toHaveLength(1500)
  })

  test('lines that are there many times stay with the neighbours that they had', () => {
    const authors = authorsOf(['{', 'a', '}', '{', 'b', '}'], ['{', 'new', '}', '{', 'b', '}'])
    expect(authors).toEqual(['a', 'b', 'a', 'a', 'a', 'a'])
  })

  test('as many lines stay as can: a line that is once in both texts does not outweigh two others', () => {
    const authors = authorsOf(['a', 'import os', '}', 'b', '}'], ['}', 'c', '}', 'd', 'import os'])
    expect(authors).toEqual(['a', 'b', 'a', 'b', 'b'])
  })

  test('a block that moves is somebody’s work, the rest is not', () => {
    const authors = authorsOf(['x', 'y', 'z', 'q'], ['q', 'x', 'y', 'z'])
    expect(authors).toEqual(['b', 'a', 'a', 'a'])
  })

  test('lines count as in an editor: their ends do not matter, nor whether the last one has any', () => {
    expect([linesIn('a\r\nb\n'), linesIn('a\nb'), linesIn(''), linesIn('\n')]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
      [],
      [''],
    ])
    expect(authorsOf(linesIn('a\r\nb'), linesIn('a\nb\nc\n'))).toEqual(['a', 'a', 'b'])
  })
})
