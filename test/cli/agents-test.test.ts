import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type ProviderAnswer, type ProviderRequest, startProvider, type TestProvider } from '../../src/testing.ts'
import { goodWork, replies, taskOf, type Work } from '../agent-tests/good-work.ts'
import { holdDatabase } from '../setup/hold-database.ts'
import { inTurn } from '../setup/long.ts'
import { untilSo } from '../setup/until.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

const agent = (name: string, tools = '[read_file, write_file]') =>
  `---\nname: ${name}\ndescription: Does ${name}.\ntriggers: [x]\ntools: ${tools}\n---\nYou do ${name}.\n`

/** What a model does, call after call; what it says last is its answer. */
type Conduct = ProviderAnswer[] | ((request: ProviderRequest) => ProviderAnswer[])

let heddle: TestHeddle
let provider: TestProvider
let conduct: Conduct
let temporary: string
let reached: PromiseWithResolvers<void>

beforeEach(async () => {
  heddle = newHeddle()
  temporary = join(heddle.folder, '../tmp')
  mkdirSync(temporary)
  conduct = [{ text: 'done' }]
  reached = Promise.withResolvers()
  provider = await startProvider({ answer: (request) => answer(request) })
  write(
    join(heddle.home, 'heddle.yaml'),
    `models:\n  main: { provider: openai-compatible, baseURL: "${provider.url}", model: loom, contextWindow: 32768, price: { input: 1, output: 2 } }\n`,
  )
})
afterEach(async () => {
  await provider.close()
  heddle.remove()
})

function answer(request: ProviderRequest): ProviderAnswer {
  const said = request.messages.filter(({ role }) => role === 'assistant').length
  reached.resolve()
  return (typeof conduct === 'function' ? conduct(request) : conduct)[said] ?? { text: 'there is nothing left to say' }
}

const call = (name: string, input: unknown): ProviderAnswer => ({ calls: [{ name, input }] })

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

const skill = (path: string, text: string) => write(join(heddle.home, 'skills', path), text)
const checks = (...list: unknown[]) => JSON.stringify({ checks: list })
const env = () => ({ TMPDIR: temporary })
const run = (...args: string[]) => heddle.runWith({ env: env() }, 'agents', 'test', ...args)
/** What is in the directory for temporary files, but for what Node itself keeps there of programs it has compiled. */
const left = () => readdirSync(temporary)

/** An agent of the owner's with a test that asks for a summary of notes. */
function clerk(...list: unknown[]): void {
  skill('clerk.md', agent('clerk'))
  skill('clerk.test/task.md', 'Summarise notes.txt in summary.md.\n')
  skill('clerk.test/files/notes.txt', 'one\ntwo\n')
  skill('clerk.test/checks.json', checks(...list))
}

const wholeSummary = [
  { check: 'file_contains', path: 'summary.md', text: 'two notes' },
  { check: 'unchanged', except: ['summary.md'] },
  { check: 'files_list' },
  { check: 'first_paragraph' },
  { check: 'places' },
  { check: 'tools_within' },
  { check: 'model_calls', atMost: 3 },
]

describe('heddle agents test NAME', () => {
  test('a run that does what it should passes every check, and leaves nothing behind', async () => {
    clerk(...wholeSummary)
    conduct = [
      call('read_file', { path: 'notes.txt' }),
      call('write_file', { path: 'summary.md', content: 'There are two notes.\n' }),
      { text: 'Two notes, see notes.txt:2.\n\nFiles:\n- `summary.md`', model: 'loom-1' },
    ]
    const { code, out, err } = await run('clerk')
    expect({ code, err }).toEqual({ code: 0, err: 'testing @clerk on main: 8 checks\n' })
    const lines = out.trimEnd().split('\n')
    expect(lines.slice(0, -1)).toEqual([
      'ok      the agent finished its task',
      'ok      summary.md contains "two notes"',
      'ok      nothing but summary.md was touched',
      'ok      the list after Files: names what was written, and nothing else',
      'ok      the answer begins with a paragraph of at most 400 characters',
      'ok      the answer names a path:line that exists',
      'ok      no tool was called but those of its file',
      'ok      the model was asked at most 3 times',
    ])
    expect(lines.at(-1)).toMatch(/^8 of 8 checks passed · loom-1 · [\d,]+ in, \d+ out · \$0\.\d+ · \d+\.\ds$/)
    expect(left()).toEqual([])
  })

  test('it is asked the task in a folder that has the files of the test and is not the one we stand in', async () => {
    clerk({ check: 'answer_contains', text: 'one' })
    write(join(heddle.folder, 'own.txt'), 'mine')
    conduct = [{ calls: [{ name: 'list_dir', input: { path: '.' } }] }, { text: 'one' }]
    await run('clerk')
    const [first, second] = provider.log.filter(({ kind }) => kind === 'received')
    expect(first).toMatchObject({ lastUserText: 'Summarise notes.txt in summary.md.' })
    const sent = JSON.stringify(second)
    expect(sent).toContain('notes.txt')
    expect(sent).not.toContain('own.txt')
    expect(sent).toContain('You do clerk.')
    expect(readdirSync(heddle.folder)).toEqual(['own.txt'])
    expect(existsSync(join(heddle.home, 'heddle.db'))).toBe(false)
  })

  test('a run that does something else is told what was expected and what was seen, with code 1', async () => {
    clerk(...wholeSummary)
    conduct = [
      call('write_file', { path: 'notes.txt', content: 'three\n' }),
      call('read_file', { path: 'notes.txt' }),
      call('write_file', { path: 'notes.txt', content: 'three\n' }),
      call('list_dir', { path: '.' }),
      { text: `# Summary\n\nsee notes.txt:9\n\nFiles:\nsummary.md` },
    ]
    const { code, out } = await run('clerk')
    expect(code).toBe(1)
    expect(plain(out)).toEqual([
      'ok the agent finished its task',
      'FAILED summary.md contains "two notes" · saw no such file',
      'FAILED nothing but summary.md was touched · saw notes.txt changed',
      'FAILED the list after Files: names what was written, and nothing else · saw notes.txt is not listed, summary.md is listed and was not written',
      'FAILED the answer begins with a paragraph of at most 400 characters · saw a heading: "# Summary"',
      'FAILED the answer names a path:line that exists · saw lines that do not exist: notes.txt:9',
      'FAILED no tool was called but those of its file · saw list_dir',
      'FAILED the model was asked at most 3 times · saw 5 times',
    ])
    expect(out).toContain('1 of 8 checks passed')
    expect(left()).toEqual([])
  })

  test('as data it has the same, with what the agent said', async () => {
    clerk(
      { check: 'file_exists', path: 'summary.md' },
      { check: 'answer_contains', text: 'Done', says: 'it is polite' },
    )
    const [finished, exists] = ['the agent finished its task', 'summary.md exists']
    const { code, out } = await run('clerk', '--json')
    expect({ code, ...JSON.parse(out) }).toEqual({
      code: 1,
      ok: false,
      agent: 'clerk',
      model: { requested: 'main', actual: 'loom' },
      passed: 2,
      of: 3,
      checks: [
        { check: 'finished', says: finished, wants: finished, ok: true, saw: 'completed' },
        { check: 'file_exists', says: exists, wants: exists, ok: false, saw: 'no such file' },
        { check: 'answer_contains', says: 'it is polite', wants: 'the answer says "Done"', ok: true, saw: '"done"' },
      ],
      text: 'done',
      usage: expect.objectContaining({ calls: 1, inputTokens: expect.any(Number), costUsd: expect.any(Number) }),
      seconds: expect.any(Number),
    })
  })

  test('a command is run in the folder as the agent left it, without asking anybody', async () => {
    clerk(
      { check: 'command', command: 'cat summary.md', contains: 'two' },
      { check: 'command', command: 'test -e nothing.md', says: 'nothing is there' },
    )
    conduct = [call('write_file', { path: 'summary.md', content: 'two\n' }), { text: 'done' }]
    const { out } = await run('clerk')
    expect(plain(out).slice(1)).toEqual([
      'ok `cat summary.md` exits with 0 and says "two"',
      'FAILED nothing is there · expected: `test -e nothing.md` exits with 0 · saw 1',
    ])
    expect(left()).toEqual([])
  })

  test('our coder, when its model works well, passes its test with real commands', async () => {
    const work = goodWork['coder'] as Work
    conduct = [
      call('exec', { command: 'node --test' }),
      call('read_file', { path: 'src/duration.mjs' }),
      call('write_file', { path: 'src/duration.mjs', content: work.files?.['src/duration.mjs'] }),
      call('exec', { command: 'node --test' }),
      { text: work.text },
    ]
    const { code, out } = await run('coder')
    expect({ code, failed: plain(out).filter((line) => !line.startsWith('ok')) }).toEqual({ code: 0, failed: [] })
    expect(JSON.stringify(provider.log)).toContain('[exit 1]')
    expect(left()).toEqual([])
  })

  test('an agent whose file wants its commands limited is answered for, since nobody is there', async () => {
    clerk({ check: 'tool_used', tool: 'exec' }, { check: 'tools_within' })
    skill('clerk.md', agent('clerk', '[Read, "Bash(git:*)"]'))
    conduct = [call('exec', { command: 'echo made > made.txt' }), { text: 'done' }]
    expect(await run('clerk')).toMatchObject({ code: 0, out: expect.stringContaining('3 of 3') })
  })

  test('the owner’s database stays closed, and commands are confined whatever the owner has set', async () => {
    clerk({ check: 'tool_used', tool: 'exec' })
    skill('clerk.md', agent('clerk', '[exec]'))
    const secret = write(join(heddle.folder, '../secret.txt'), 'nobody shall know')
    const config = join(heddle.home, 'heddle.yaml')
    const more = 'database: postgres://nobody@127.0.0.1:1/none\ntools: { exec: { sandbox: off } }\n'
    writeFileSync(config, readFileSync(config, 'utf8') + more)
    conduct = [call('exec', { command: `cat ${secret}` }), { text: 'done' }]
    expect(await run('clerk')).toMatchObject({ code: 0 })
    const sent = JSON.stringify(provider.log)
    expect(sent).toContain('[exit 1]')
    expect(sent).not.toContain('nobody shall know')
  })

  test('a run that fails says why, and is cleaned up too', async () => {
    clerk({ check: 'answer_contains', text: 'done' })
    conduct = [{ faults: { status: { code: 401 } } }]
    const { code, out } = await run('clerk')
    expect(code).toBe(1)
    expect(out).toMatch(/FAILED {2}the agent finished its task · saw failed: /)
    expect(left()).toEqual([])
  })

  test('a run that takes too long is stopped', async () => {
    clerk()
    skill('clerk.test/checks.json', JSON.stringify({ timeoutSeconds: 1, checks: [{ check: 'first_paragraph' }] }))
    conduct = [{ text: 'never', faults: { silentAt: 0 } }]
    const { code, out } = await run('clerk')
    expect(code).toBe(1)
    expect(out).toContain('saw cancelled: it was not finished after\n        1 s')
    expect(left()).toEqual([])
  })

  /** A test that goes on until it is stopped. */
  const endless = async () => {
    clerk({ check: 'first_paragraph' })
    conduct = [{ text: 'never', faults: { silentAt: 0 } }]
    const started = heddle.startWith({ env: env() }, 'agents', 'test', 'clerk')
    await reached.promise
    expect(left()).toHaveLength(1)
    return started
  }

  test.each(inTurn(['SIGINT', 'SIGTERM'] as const, 1))(
    '%s stops it with code 130, and nothing is left',
    async (signal) => {
      const started = await endless()
      started.stop(signal)
      await started.says('stopping')
      const { code, err } = await started.ended
      expect(code).toBe(130)
      expect(err).toContain('the test left nothing behind')
      expect(left()).toEqual([])
    },
  )

  test('whoever presses Ctrl-C again while it cannot stop need not wait, and nothing is left', async () => {
    const started = await endless()
    const release = holdDatabase(join(temporary, left()[0] ?? '', 'home'))
    onTestFinished(release)
    let isOver = false
    void started.ended.then(() => {
      isOver = true
    })
    await untilSo(() => {
      started.stop('SIGINT')
      return isOver
    })
    const { code, err } = await started.ended
    expect([code, err.match(/stopping/g)]).toEqual([130, ['stopping']])
    expect(left()).toEqual([])
  })
})

describe('which model, which agent, which test', () => {
  test('rehearsal cannot be tested: it says how to add a model, with code 2', async () => {
    writeFileSync(join(heddle.home, 'heddle.yaml'), '')
    const { code, err } = await run('coder')
    expect({ code, err }).toEqual({
      code: 2,
      err: 'rehearsal cannot be tested: it is a script.\n  → add a model: heddle models add\n',
    })
    expect((await run('coder', '-m', 'rehearsal')).code).toBe(2)
    expect(left()).toEqual([])
  })

  test('a model that does not exist is refused before anything is asked, and nothing is left', async () => {
    clerk({ check: 'first_paragraph' })
    const { code, err } = await run('clerk', '-m', 'mian')
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('did you mean main?') })
    expect(left()).toEqual([])
  })

  test('an agent without a test says how to get one, and --new writes one that can be run', async () => {
    skill('clerk.md', agent('clerk'))
    const missing = await run('clerk')
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('heddle agents test clerk --new') })
    const made = await run('clerk', '--new')
    expect(made).toMatchObject({ code: 0, out: expect.stringContaining('skills/clerk.test') })
    conduct = [
      call('write_file', { path: 'summary.md', content: 'Release on Friday.\n' }),
      { text: 'It is on Friday.\n\nFiles:\nsummary.md' },
    ]
    expect(await run('clerk')).toMatchObject({ code: 0 })
    expect(await run('clerk', '--new')).toMatchObject({ code: 1, err: expect.stringContaining('already') })
  })

  test('a changed copy of one of ours is measured by our test', async () => {
    skill('writer.md', agent('writer'))
    const { out } = await run('writer', '--json')
    expect(JSON.parse(out)).toMatchObject({ agent: 'writer', of: 14, ok: false })
  })

  test('a skill has its test beside its SKILL.md', async () => {
    skill('filing/SKILL.md', agent('filing'))
    skill('filing/SKILL.test/task.md', 'Say done.')
    skill('filing/SKILL.test/checks.json', checks({ check: 'answer_contains', text: 'done' }))
    expect(await run('filing')).toMatchObject({ code: 0 })
  })

  test('a test that cannot be used says everything that is wrong with it before a model is asked', async () => {
    clerk({ check: 'file_exist', path: 'a' }, { check: 'file_exists', path: '../a' })
    rmSync(join(heddle.home, 'skills/clerk.test/task.md'))
    const { code, err } = await run('clerk')
    expect({ code, lines: err.split('\n') }).toEqual({
      code: 1,
      lines: [
        `the test in ${join(heddle.home, 'skills/clerk.test')} cannot be used:`,
        '  task.md is missing or empty: write the task for the agent',
        '  checks.json: check 1: there is no check "file_exist"; did you mean file_exists?',
        '  checks.json: check 2 (file_exists): path: must be a path relative to the folder, such as src/a.js',
        expect.stringMatching(/^ {2}→ fix it/),
        '',
      ],
    })
    expect({ asked: provider.log, left: left() }).toEqual({ asked: [], left: [] })
  })

  test('nothing of a test is taken for an agent', async () => {
    clerk({ check: 'first_paragraph' })
    const { agents } = await heddle.json<{ agents: { name: string }[] }>('agents')
    expect(agents.map(({ name }) => name)).toContain('clerk')
    expect(agents).toHaveLength(7)
  })

  test('an agent that is not trusted is not asked anything', async () => {
    const path = write(join(heddle.folder, '.heddle/agents/guest.md'), agent('guest'))
    write(join(heddle.folder, '.heddle/agents/guest.test/task.md'), 'x')
    expect(await run('guest')).toMatchObject({ code: 1, err: expect.stringContaining(path) })
    expect(provider.log).toEqual([])
  })
})

describe('several at once', () => {
  test('each is told, and at the end how they did', async () => {
    clerk({ check: 'answer_contains', text: 'done' })
    skill('other.md', agent('other'))
    skill('other.test/task.md', 'Say more.')
    skill('other.test/checks.json', checks({ check: 'answer_contains', text: 'more' }))
    const { code, out } = await run('clerk', 'other')
    expect(code).toBe(1)
    expect(out).toMatch(/^@clerk\nok .*\n.*\n2 of 2 checks passed.*\n\n@other\nok .*\nFAILED .*\n1 of 2/)
    expect(out).toMatch(/agent +checks +tokens +cost +took\nclerk +2 of 2 .*\nother +1 of 2 .*\n1 of 2 agents passed/)
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([])
    const { ok, tests } = JSON.parse((await run('clerk', 'other', '--json')).out)
    expect({ ok, each: tests.map((row: { ok: boolean }) => row.ok) }).toEqual({ ok: false, each: [true, false] })
    expect(left()).toEqual([])
  })

  test('without names all of ours are measured, and with good work all of them pass', async () => {
    conduct = ({ messages }) => {
      const task = messages.find(({ role }) => role === 'user')?.content ?? ''
      const name = Object.keys(goodWork).find((each) => task.includes(taskOf(each))) ?? ''
      return replies(goodWork[name] as Work)
    }
    const { code, out, err } = await run()
    expect({ code, failed: out.split('\n').filter((line) => line.startsWith('FAILED')) }).toEqual({
      code: 0,
      failed: [],
    })
    const order = ['researcher', 'project-planner', 'coder', 'code-review', 'writer', 'tester']
    expect([...err.matchAll(/^testing @(\S+) on/gm)].map(([, name]) => name)).toEqual(order)
    expect(out).toContain('6 of 6 agents passed every check')
    expect(left()).toEqual([])
  })
})

/** The lines of the checks, each on one line again, without the last one. */
function plain(out: string): string[] {
  const lines = out
    .trimEnd()
    .replace(/\n {8}/g, ' ')
    .split('\n')
    .slice(0, -1)
  return lines.map((line) => line.replace(/ +/g, ' '))
}
