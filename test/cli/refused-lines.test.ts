import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeAll(async () => {
  heddle = newHeddle({ agent: null })
  for (const said of ['one', 'two', 'three']) await heddle.run('append', '--user', said, '--assistant', said)
  await heddle.run('memory', 'add', 'the port is 8443')
  writeFileSync(join(heddle.folder, 'empty.md'), '')
})
afterAll(() => heddle.remove())

test.each([
  // Which of the two was meant, nobody can know.
  [['log', '--limit', '1', '--limit', '2'], '--limit is given twice'],
  [['append', '--user', 'x', '--assistant', 'y', '-s', 'a', '--session', 'b'], '--session is given twice'],
  // A forgotten value takes the next option with it.
  [['deny', '7', '--reason', '--no-wait'], '--reason has no value: --no-wait follows it'],
  [['append', '--user', 'x', '--assistant', '--assistant'], '--assistant has no value: --assistant follows it'],
  // An option of the command above.
  [['sessions', 'rename', 'main', 'other', '--all'], '--all does not go with "rename"'],
  [['tasks', 'skip', 'task:1', '--plan', '1'], '--plan does not go with "skip"'],
  // More words than anybody reads.
  [['chat', 'general', 'hello'], 'heddle chat does not take "hello"'],
  [['help', 'ask', 'nonsense'], 'there is no command "ask nonsense"'],
  [['dev'], 'a command is missing'],
  // Options of which one would not count.
  [['log', '--tips', '--context'], "'--context' cannot be used with option '--tips'"],
  [['log', '--all', '--tips'], "'--tips' cannot be used with option '-a, --all'"],
  [['log', 'main', '--all'], '--all looks at every session, not at main alone'],
  [['log', 'main', '--tips'], '--tips looks at every session, not at main alone'],
  [['event', '--watch', '--limit', '1'], "'-w, --watch' cannot be used with option '--limit <n>'"],
  [['ask', 'hello', '--no-wait', '--timeout', '5'], "'--no-wait' cannot be used with option '--timeout <seconds>'"],
  [
    ['ask', 'hello', '--no-wait', '--on-approval', 'deny'],
    "'--no-wait' cannot be used with option '--on-approval <how>'",
  ],
  [['agents', 'test', 'coder', '--new', '-m', 'x'], "'--new' cannot be used with option '-m, --model <name>'"],
  [['plans', 'plan:1', '--all'], '--all only works for the list'],
  [['memory', '1', '--limit', '3'], '--limit only works for the list'],
  [['help', 'ask', '--all'], '--all lists every command'],
  [
    ['models', 'add', 'http://127.0.0.1:9/v1', '--base-url', 'http://127.0.0.1:8'],
    '--base-url names a different address',
  ],
  [['models', 'add', 'ollama', '--key', '-'], 'Ollama takes no key'],
  [['models', 'add', 'openai', '--key', '-', '--key-env', 'HOME'], "'--key <->' cannot be used with option '--key-env"],
  [['export', '--json'], 'an export is JSON lines'],
  // Values that a program could read as something else.
  [['log', '--limit', ''], '"" is not a number of turns'],
  [['log', '--limit', '0x10'], '"0x10" is not a number of turns'],
  [['log', '--limit', '9007199254740993'], '"9007199254740993" is not a number of turns'],
  [['event', '--limit', '1e2'], '"1e2" is not a number of events'],
  [['append', '--user', 'x', '--assistant', 'y', '--compact-to', ' 1'], '" 1" is not a depth'],
  [['ask', 'hello', '--timeout', '1e999'], '"1e999" is not a number of seconds'],
  [['ask', 'hello', '--timeout', '9007199254740993'], '"9007199254740993" is not a number of seconds'],
  [['models', 'add', 'anthropic', '--window', ''], '"" is not a number of tokens'],
  [['models', 'add', 'anthropic', '--base-url', ''], '--base-url is empty'],
  [['memory', 'add', 'milk is white', '--tag', ''], '--tag is empty'],
  [['personas', 'set', 'atlas', '--name', 'Atlas', '--soul', 'empty.md'], 'empty.md is empty'],
  [['backup', ''], '"" is not a path'],
  [['memory', 'export', 'a\0b'], 'is not a path'],
])('%j is refused with 2 and a remedy', async (args, message) => {
  const { code, out } = await heddle.run('--json', ...args)
  const { error } = JSON.parse(out || '{}')
  expect({ code, message: error?.message, remedy: error?.remedy }).toEqual({
    code: 2,
    message: expect.stringContaining(message),
    remedy: expect.stringMatching(/\S/),
  })
})

test.each([
  [['config', 'show']],
  [['models']],
  [['agents']],
  [['doctor']],
  [['secret', 'list']],
  [['config', 'set', 'agents.maxConcurrent', '4']],
])('--config with a file that is not there is refused by %j, too', async (args) => {
  expect(await heddle.json('--config', 'nosuch.yaml', ...args)).toMatchObject({ error: { code: 'config_missing' } })
  expect(existsSync(join(heddle.folder, 'nosuch.yaml'))).toBe(false)
})

test('a backup to where no file can be is refused with a remedy', async () => {
  for (const file of ['empty.md/x', 'x'.repeat(5000)])
    expect(await heddle.run('backup', file)).toMatchObject({ code: 1, err: expect.stringContaining('\n  → ') })
  expect((await heddle.run('backup', 'empty.md/x')).err).not.toContain('met a bug')
})

test('--limit holds for every turn, for tips and for the context, too', async () => {
  const count = async (...args: string[]) => (await heddle.json<{ turns: unknown[] }>('log', ...args)).turns.length
  expect([await count('--all'), await count('--all', '--limit', '2')]).toEqual([3, 2])
  expect([await count('--context'), await count('--context', '--limit', '1')]).toEqual([3, 1])
  await heddle.run('fork', 'main', '--as', 'other')
  await heddle.run('append', '-s', 'other', '--user', 'x', '--assistant', 'y')
  await heddle.run('append', '--user', 'x', '--assistant', 'y')
  expect([await count('--tips'), await count('--tips', '--limit', '1')]).toEqual([2, 1])
})

test('a value that looks like an option is taken where it is tied to its own', async () => {
  expect(await heddle.json('append', '--user', 'x', '--assistant=--assistant')).toMatchObject({ ok: true })
})

test('help and version are one JSON document, where one is asked for', async () => {
  for (const args of [['help'], ['help', 'ask'], ['ask', '--help'], ['--version']])
    expect(await heddle.json(...args)).toEqual({ text: (await heddle.run(...args)).out })
})

test('behind -- nothing is an option, in the form of an error neither', async () => {
  expect(await heddle.run('show', '--', '--json')).toMatchObject({ out: '', err: expect.stringContaining('→') })
})
