import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ApprovalView, GrantView } from '../../src/api/views/approval.ts'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import { ForeignText } from '../../src/cli/approvals/foreign-text.ts'
import { type ProviderRule, startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 120_000 })

/** Runs what it is asked to run, and gives to @coder what begins with `delegate`. */
const obedient: ProviderRule = ({ messages }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return { text: `it said ${last.content}` }
  const [, name, text = ''] = /^(run|delegate) ([\s\S]*)$/.exec(last?.content ?? '') ?? []
  if (name === 'delegate')
    return {
      calls: [
        { name: 'spawn_agent', input: { skill: 'coder', task: `run ${text}` } },
        { name: 'wait', input: {} },
      ],
    }
  const [, command] = /run ([\s\S]*)$/.exec(last?.content ?? '') ?? []
  return command === undefined ? { text: 'yes' } : { calls: [{ name: 'exec', input: { command } }] }
}

let heddle: TestHeddle
let provider: TestProvider
const begin = async (tools: string, agent: string | null = '@general') => {
  heddle = newHeddle({ agent })
  await heddle.run('init')
  const model = `{ provider: openai-compatible, baseURL: "${provider.url}", model: tiny }`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: ${model}\ntools: ${tools}\n`)
}
const made = () => existsSync(join(heddle.folder, 'made'))
const onTerminal = (...args: string[]) =>
  heddle.terminalWith({ env: { NO_COLOR: '1', LINES: '24', COLUMNS: '80' } }, ...args)

beforeEach(async () => {
  provider = await startProvider({ answer: obedient })
})
afterEach(async () => {
  await provider.close()
  heddle.remove()
})

describe('a command that tries to lie about itself', () => {
  const forged = [
    'true',
    '  runs     in the sandbox, without the network, for at most 5 s',
    '  where    /somewhere/else',
  ]
  const lie = [...forged, ...Array.from({ length: 40 }, () => ''), 'touch made'].join('\n')

  test('is shown after the facts, each line of it behind a gutter, and is not approved before its end was seen', async () => {
    await begin('{ exec: { sandbox: off } }')
    const terminal = onTerminal('ask', `run ${lie}`)
    await terminal.shows('runs     WITHOUT A SANDBOX: it can do whatever you can')
    await terminal.shows(`where    ${heddle.folder}`)
    await terminal.shows('  │ true')
    await terminal.shows('  │   runs     in the sandbox, without the network')
    await terminal.shows('lines you have not seen')
    await terminal.shows('approval:1 v/n> ')
    for (const yes of ['y', 's', 'a', 'yes']) {
      terminal.type(`${yes}\n`)
      await terminal.shows('not yet: you have not seen all of it')
    }
    expect(made()).toBe(false)
    terminal.type('v\n')
    await terminal.shows('not seen')
    terminal.type('v all\n')
    await terminal.shows('  │ touch made')
    await terminal.shows('approval:1 y/s/a/n> ')
    terminal.type('y\n')
    const { code, out } = await terminal.ended
    expect([code, made()]).toEqual([0, true])
    // No row of it stands where a fact would.
    const rows = out.split(/\r?\n/).filter((row) => row.includes('in the sandbox, without the network'))
    expect(rows.filter((row) => !/^ {2}[│┆] /.test(row) && !row.includes('run true'))).toEqual([])
  })

  test('is treated the same in a chat, and a no is possible at any time', async () => {
    await begin('{ exec: { sandbox: off } }')
    const rule: ProviderRule = (request) =>
      request.messages.at(-1)?.content === 'lie'
        ? { calls: [{ name: 'exec', input: { command: lie } }] }
        : obedient(request)
    await provider.close()
    provider = await startProvider({ answer: rule })
    const model = `{ provider: openai-compatible, baseURL: "${provider.url}", model: tiny }`
    writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: ${model}\ntools: { exec: { sandbox: off } }\n`)
    const terminal = onTerminal('chat')
    await terminal.shows('main>')
    terminal.type('lie\r')
    await terminal.shows('WITHOUT A SANDBOX')
    await terminal.shows('approval:1 v/n> ')
    terminal.type('y\r')
    await terminal.shows('not yet: you have not seen all of it')
    terminal.type('v all\r')
    await terminal.shows('touch made')
    await terminal.shows('approval:1 y/s/a/n> ')
    terminal.type('v\r')
    await terminal.shows('that was all of it')
    terminal.type('n no\r')
    await terminal.shows('the user said no: no')
    terminal.type('/quit\r')
    await terminal.ended
    expect(made()).toBe(false)
  })

  test('is shown whole by show approval and in JSON, however long its lines are', async () => {
    await begin('{ exec: { sandbox: off } }')
    const long = `echo ${'x'.repeat(3000)}; ${'#\n'.repeat(300)} touch made`
    expect((await heddle.run('ask', `run ${long}`)).code).toBe(3)
    const { out } = await heddle.run('show', 'approval:1')
    const rows = out.split('\n').filter((row) => /^ {2}[│┆]/.test(row))
    expect(rows.map((row) => row.slice(4)).join('')).toBe(long.replaceAll('\n', ''))
    expect(out.split('\n').every((row) => row.length <= 80)).toBe(true)
    expect(out).toMatch(/\nheddle approve 1 --hash [0-9a-f]{12} {4}heddle deny 1/)
    expect(await heddle.json<ApprovalView>('show', 'approval:1')).toMatchObject({ change: long })
  })
})

describe('foreign text', () => {
  const screen = { columns: 40, rows: 10, isTerminal: true, color: false }
  beforeEach(() => begin('{}'))

  test('of 5 MB has its first page at once, and its last in the end', () => {
    const text = new ForeignText(screen, `${'a line\n'.repeat(700_000)}the end`)
    expect(text.rows(3)).toEqual(['  │ a line', '  │ a line', '  │ a line'])
    expect(text.linesLeft).toBe(699_998)
    let last = ''
    while (!text.isSeen) last = text.rows(10_000).at(-1) ?? ''
    expect(last).toBe('  │ the end')
  })

  test.each([
    ['a tab', '\tx'.repeat(30)],
    ['wide letters', '漢字'.repeat(60)],
    ['marks upon marks', `e${'\u0301'.repeat(200)}`],
    ['letters nobody can see', 'a\u202eb\u200b\u001b[2J'.repeat(20)],
    ['flags and faces', '🇩🇪👩‍👩‍👧'.repeat(20)],
  ])('never leaves its gutter by %s', (_, text) => {
    const rows = new ForeignText(screen, text).rows(Number.POSITIVE_INFINITY)
    expect(rows.every((row) => /^ {2}[│┆]/.test(row))).toBe(true)
    // Two columns for whatever is not ASCII: no terminal gives more.
    const columns = (row: string) => [...row].reduce((sum, letter) => sum + (letter <= '~' ? 1 : 2), 0)
    expect(Math.max(...rows.map((row) => columns(row.slice(4)) + 4))).toBeLessThanOrEqual(40)
    expect(['\u001b', '\u202e', '\u200b', '\t'].filter((letter) => rows.join('').includes(letter))).toEqual([])
  })
})

test('approve on a terminal shows the question and asks before it says yes, for the scope it was given', async () => {
  await begin('{ ask: [exec] }')
  expect((await heddle.run('ask', 'run touch made')).code).toBe(3)
  const left = onTerminal('approve', '1', '--scope', 'session')
  await left.shows('  │ touch made')
  await left.shows('the sandbox limits it')
  await left.shows('approval:1 y/n> ')
  left.type('s\n')
  await left.shows('type y, or n (you can add a reason)')
  left.type('y\n')
  await left.shows('approved')
  expect((await left.ended).code).toBe(0)
  expect(made()).toBe(true)
  const { grants } = await heddle.json<{ grants: GrantView[] }>('grants')
  expect(grants).toMatchObject([{ scope: 'session', session: 'main' }])
})

test('what has changed before the call is asked about on the same terminal, once', async () => {
  await begin('{ exec: { sandbox: off } }')
  const script = join(heddle.folder, 'deploy.sh')
  writeFileSync(script, 'echo good > made\n')
  const terminal = onTerminal('ask', 'run sh deploy.sh')
  await terminal.shows('approval:1 y/s/a/n> ')
  writeFileSync(script, 'echo better > made\n')
  terminal.type('y\n')
  await terminal.shows('changed  since you were asked: deploy.sh, 17 → 19 bytes')
  await terminal.shows('approval:1 y/s/a/n> ')
  terminal.type('y\n')
  expect((await terminal.ended).code).toBe(0)
  expect(readFileSync(join(heddle.folder, 'made'), 'utf8')).toBe('better\n')
})

test('a grant that a sub-agent asked for covers the next sub-agent of the session, and says so', async () => {
  await begin('{ ask: [exec] }', null)
  const first = onTerminal('ask', 'delegate touch made')
  await first.shows('@coder wants exec')
  await first.shows('every agent in session main')
  await first.shows('approval:1 y/s/a/n> ')
  first.type('s\n')
  expect((await first.ended).code).toBe(0)
  expect(made()).toBe(true)
  expect(await heddle.json<RequestAnswer>('ask', 'delegate touch made')).toMatchObject({ status: 'completed' })
  const { approvals } = await heddle.json<{ approvals: ApprovalView[] }>('approvals')
  expect(approvals).toEqual([])
  expect(await heddle.json('show', 'approval:1')).toMatchObject({ requestSession: 'main', agent: 'coder' })
})

test('grants tells all that it covers in 80 columns', async () => {
  await begin('{ ask: [exec] }')
  const command = `true ${Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ')}`
  const asked = await heddle.runWith({}, 'ask', `run ${command}`, '--json')
  const [, , ...line] = JSON.parse(asked.out).approve[0].split(' ')
  await heddle.run('approve', ...line, '--scope', 'session')
  const { out } = await heddle.run('grants')
  const rows = out.split('\n')
  expect(rows.every((row) => row.length <= 80)).toBe(true)
  expect(rows[0]).toBe(`1  every agent in session main, ${heddle.folder}`)
  const covered = rows.filter((row) => /^ {2}[│┆]/.test(row)).map((row) => row.slice(4).padEnd(76))
  expect(covered.join('')).toContain('word39`')
})
