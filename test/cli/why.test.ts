import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { WhyLink, WhyView } from '../../src/api/views/why.ts'
import { whyPage } from '../../src/cli/pages/why-page.ts'
import { width } from '../../src/cli/terminal/screen.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

describe('the program', () => {
  let heddle: TestHeddle
  beforeEach(async () => {
    heddle = newHeddle({ agent: null })
    await heddle.run('init')
    writeFileSync(join(heddle.home, 'heddle.yaml'), 'tools: { ask: [] }\n')
    for (const part of ['api', 'web']) {
      mkdirSync(join(heddle.folder, 'src', part), { recursive: true })
      writeFileSync(join(heddle.folder, 'src', part, 'one.ts'), `export const ${part} = 1\n// TODO ${part}\n`)
    }
  })
  afterEach(() => heddle.remove())

  test('a line of a report that was written by rehearsal is explained down to what was said', async () => {
    const words = 'survey this folder and write a report with a summary per part'
    const { turns } = await heddle.json<RequestAnswer>('ask', words)
    const lines = readFileSync(join(heddle.folder, 'REPORT.md'), 'utf8').split('\n')
    const number = lines.findIndex((line) => line.includes('src/api: 1 file')) + 1
    expect(number).toBeGreaterThan(0)
    writeFileSync(join(heddle.folder, 'src/api/one.ts'), 'changed\n')
    const { code, out, err } = await heddle.run('why', `REPORT.md:${number}`)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const rows = out.trimEnd().split('\n')
    expect(rows.every((row) => width(row) <= 80)).toBe(true)
    expect(rows.map((row) => row.replace(/:[0-9a-z]{6}\b/g, ':ID').replace(/ {2,}/g, '  '))).toEqual([
      expect.stringMatching(new RegExp(`^REPORT\\.md:${number}  "- src/api: 1 file`)),
      expect.stringMatching(/^ {2}written by {2}write_file in run:ID {2}@writer, rehearsal {2}\d\d:\d\d:\d\d$/),
      expect.stringMatching(/^ {2}from {2}result:\d {2}run:ID, @researcher$/),
      '  files read  1 file in src/api  1 changed since: src/api/one.ts',
      '  for  task 1 of plan 1  planned in run:ID from result:1',
      expect.stringMatching(/^ {2}you said {2}turn:ID {2}"survey this folder and write a rep.*…"$/),
      expect.stringMatching(/^ {2}summarised in {2}narrative:1 {2}"REHEARSAL: In the session/),
    ])
    const { chain } = await heddle.json<WhyView>('why', `file:REPORT.md:${number}`)
    expect(chain.at(-1)).toMatchObject({ kind: 'turn', id: turns[0], title: words })
    expect(
      chain.map(({ kind, id, title, at }) => [kind, id, title, at].every((field) => field !== undefined)),
    ).not.toContain(false)

    const forward = await heddle.run('why', `turn:${turns[0]?.slice(-6)}`, '--forward')
    expect(forward.out).toContain('\nconsequences\n')
    expect(forward.out).toContain('wrote  REPORT.md')
    expect(forward.out.split('\n').every((row) => width(row) <= 80)).toBe(true)
  })

  test('what cannot be explained is an error with a remedy, and help has examples', async () => {
    writeFileSync(join(heddle.folder, 'mine.txt'), 'mine\n')
    expect(await heddle.run('why', 'mine.txt:1')).toMatchObject({
      code: 0,
      out: 'mine.txt:1  "mine"\n  note  heddle never wrote mine.txt: no run has changed it\n',
    })
    expect(await heddle.run('why', 'none.md:3')).toMatchObject({
      code: 1,
      err: expect.stringContaining('→ write its path'),
    })
    expect(await heddle.json('why', 'task:7')).toMatchObject({ ok: false, error: { code: 'not_found' } })
    expect((await heddle.run('why')).code).toBe(2)
    expect((await heddle.run('why', '--help')).out).toContain('heddle why REPORT.md:12')
    expect((await heddle.run('help')).out).toContain('why')
  })
})

describe('the page', () => {
  const screen = { columns: 80, rows: 24, isTerminal: false, color: false }
  const now = Date.parse('2026-07-01T15:00:00Z')
  const id = (end: string) => `1m7hfem5vr1dvd${end}`
  const link = (kind: WhyLink['kind'], end: string, how: WhyLink['how'], more: Partial<WhyLink> = {}): WhyLink => ({
    ...{ kind, id: end.length === 6 ? id(end) : end, how, title: `title of ${end}`, at: '2026-07-01T14:02:11.000Z' },
    ...more,
  })
  const page = (view: Partial<WhyView>) => whyPage(screen, { ref: '', chain: [], notes: [], ...view }, now).split('\n')

  test('what is missing is named, also where its row would be left out', () => {
    const chain = [
      link('result', '2', 'asked about', { agent: 'researcher' }),
      link('run', 'aaaaaa', 'made by', { missing: true }),
      link('task', '1', 'because of', { planId: 1 }),
      link('plan', '1', 'part of'),
      link('run', 'bbbbbb', 'planned in', { missing: true }),
      link('turn', 'cccccc', 'you said', { missing: true, title: 'do it' }),
    ]
    expect(page({ chain })).toEqual([
      'result:2  "title of 2"  @researcher',
      '  produced by  run:aaaaaa        MISSING: no longer stored',
      '  for          task 1 of plan 1  "title of 1"',
      '  planned in   run:bbbbbb        MISSING: no longer stored',
      '  you said     turn:cccccc       MISSING, but it began with "do it"',
    ])
  })

  test('what others wrote can neither break a line nor speak to the terminal', () => {
    const evil = '\u001b[31mred\u202e\nand more'
    const rows = page({
      chain: [link('file', `a${evil}:1`, 'asked about'), link('turn', 'cccccc', 'you said', { title: evil })],
      file: { path: evil, line: 1, text: evil, lines: 1, writers: [], others: 1 },
      notes: [{ topic: 'note', text: `${evil} ${'long '.repeat(40)}`, at: null }],
    })
    for (const row of rows) {
      for (const letter of '\u001b\u202e') expect(row).not.toContain(letter)
      expect(width(row)).toBeLessThanOrEqual(80)
    }
    expect(rows).toHaveLength(2 + 4)
  })

  test('a line that was moved shows the command, the file it was in and who wrote it there', () => {
    const chain = [
      link('file', 'lib/core.py:2', 'asked about'),
      link('run', 'aaaaaa', 'moved by', { tool: 'exec', at: '2026-06-30T14:02:11.000Z' }),
      link('file', 'app.py:2', 'moved from'),
      link('run', 'bbbbbb', 'written by', { tool: 'edit_file', at: '2026-06-30T13:02:11.000Z' }),
      link('turn', 'cccccc', 'you said', { title: 'go' }),
    ]
    const file = { path: 'lib/core.py', line: 2, text: 'x = 1', lines: 9, writers: [], others: 4 }
    expect(page({ chain, file })).toEqual([
      'lib/core.py:2  "x = 1"',
      `  moved by    exec in run:aaaaaa${' '.repeat(32)}2026-06-30 14:02`,
      '  moved from  app.py:2',
      `  written by  edit_file in run:bbbbbb${' '.repeat(27)}2026-06-30 13:02`,
      '  you said    turn:cccccc              "go"',
    ])
    const whole = { path: 'lib/core.py', lines: 9, writers: [], others: 4, unknown: 5 }
    expect(page({ chain: [link('file', 'lib/core.py', 'asked about')], file: whole })).toEqual([
      'lib/core.py  9 lines: 4 not by heddle, 5 unknown',
    ])
  })

  test('who wrote how much of a file is told whole, on several rows if need be', () => {
    const writers = Array.from({ length: 8 }, (_, at) => ({ runId: `run${at}abcdef`, agent: 'coder', lines: 9 - at }))
    const file = { path: 'app.py', lines: 50, writers, others: 4, unknown: 2 }
    const link: WhyLink = { kind: 'file', id: 'app.py', title: 'app.py', at: null, how: 'asked about' }
    const rows = whyPage(
      { color: false, columns: 80, rows: 24, isTerminal: false },
      { ref: 'file:app.py', chain: [link], notes: [], file },
      0,
    ).split('\n')
    expect(rows.every((row) => width(row) <= 80)).toBe(true)
    expect(rows.join(' ').replace(/ +/g, ' ')).toBe(
      'app.py 50 lines: 9 by run:abcdef @coder, 8 by run:abcdef @coder, 7 by run:abcdef @coder, 6 by run:abcdef @coder, ' +
        '5 by run:abcdef @coder, 4 by run:abcdef @coder, 5 by 2 more runs, 4 not by heddle, 2 unknown',
    )
  })

  test('results that woke a run together are named, another day has its date, and the rest is counted', () => {
    const chain = [
      link('turn', 'dddddd', 'asked about'),
      link('run', 'eeeeee', 'answered by', { given: [3, 4, 5], at: '2026-06-30T14:02:11.000Z' }),
      link('result', '3', 'woken by', { runId: id('ffffff'), agent: 'writer' }),
      link('run', 'ffffff', 'made by'),
      link('turn', 'cccccc', 'you said', { title: 'go' }),
    ]
    const came = { kind: 'result' as const, id: '4', title: 'fine', at: null, how: 'came to', came: [], leftOut: 3 }
    expect(page({ chain, forward: { came: [came], leftOut: 1 } })).toEqual([
      'turn:dddddd  "title of dddddd"',
      `  answered by  run:eeeeee${' '.repeat(39)}2026-06-30 14:02`,
      '  woken by     result:3            run:ffffff, @writer',
      '  and by       result:4, result:5',
      '  you said     turn:cccccc         "go"',
      '',
      'consequences',
      '  produced  result:4  "fine"',
      '    … and 3 more, not shown here',
      '  … and 1 more, not shown here',
    ])
    expect(page({ chain, forward: { came: [], leftOut: 0 } }).at(-1)).toBe('no consequences yet')
  })
})
