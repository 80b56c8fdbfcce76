import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { newHeddle, type Started, type TestHeddle } from './heddle.ts'

vi.setConfig({ testTimeout: 120_000 })

let heddle: TestHeddle
let daemon: Started
beforeEach(async () => {
  heddle = newHeddle()
  await heddle.run('append', '--user', 'which port?', '--assistant', '8080')
  await heddle.run('memory', 'add', 'the port is 8080')
  daemon = heddle.start('up')
  await daemon.says('running')
})
afterEach(async () => {
  daemon.stop('SIGKILL')
  await daemon.ended
  heddle.remove()
})

/** Settings with which no engine can be opened: whoever answers is the daemon, which read its own before. */
function withoutDatabase(): string[] {
  const file = join(heddle.home, '..', 'other.yaml')
  writeFileSync(file, 'database: postgres://nobody@127.0.0.1:1/nowhere\n')
  return ['--config', file]
}

test('with a daemon no command opens the database beside it', async () => {
  const config = withoutDatabase()
  const exported = (await heddle.run(...config, 'export')).out
  writeFileSync(join(heddle.folder, 'main.jsonl'), exported)
  expect(exported.split('\n')).toHaveLength(2)
  const commands = [
    ['log'],
    ['log', '--tips'],
    ['log', '--context'],
    ['show', 'session:main'],
    ['why', 'main'],
    ['fork', 'main', '--as', 'side'],
    ['append', '-s', 'side', '--user', 'and now?', '--assistant', 'now'],
    ['diff', 'main', 'side'],
    ['sessions'],
    ['sessions', 'rename', 'side', 'other'],
    ['personas', 'set', 'ada', '--name', 'Ada'],
    ['personas'],
    ['memory'],
    ['memory', 'search', 'port'],
    ['memory', 'edit', '1', 'the port is 8081'],
    ['memory', 'export', 'memories.md'],
    ['memory', 'import', 'memories.md'],
    ['memory', 'forget', '1', '-y'],
    ['memory', 'narratives'],
    ['import', 'main.jsonl'],
    ['event', '--limit', '1'],
    ['gc'],
    ['backup', 'all.backup'],
    ['status'],
    ['ask', '--no-wait', 'hello @general'],
    ['ps', '-a'],
    ['plans'],
    ['tasks'],
    ['results'],
    ['approvals'],
    ['grants'],
    ['usage'],
  ]
  for (const command of commands) {
    const { code, err } = await heddle.run(...config, ...command, '--json')
    expect({ command, code, err }).toEqual({ command, code: 0, err: '' })
  }
  expect((await heddle.run(...config, 'memory', 'forget', '99', '-y')).code).toBe(2)
})

test('a command prints the same with a daemon and without', async () => {
  const commands = [['log'], ['show', 'session:main'], ['why', 'main'], ['sessions', '--all'], ['memory'], ['personas']]
  commands.push(['show', 'turn:zzzzzz'], ['memory', 'forget', '99'], ['fork', 'nothing'], ['export'], ['event'])
  const all = async () => {
    const said = []
    for (const command of commands) {
      const { code, out, err } = await heddle.run(...command)
      said.push({ command, code, out: out.replace(/ *\d+s ago/g, ' just now'), err })
    }
    return said
  }
  const through = await all()
  daemon.stop('SIGTERM')
  await daemon.ended
  expect(await all()).toEqual(through)
})

test('a token goes to the daemon, and without one decides in this process; nobody has this one', async () => {
  const refused = { code: 1, err: expect.stringContaining('no user has this token') }
  expect(await heddle.run('--token', 'hdl_nobody', 'log')).toMatchObject(refused)
  expect(await heddle.runWith({ env: { HEDDLE_TOKEN: 'hdl_nobody' } }, 'ask', 'hello')).toMatchObject(refused)
  daemon.stop('SIGTERM')
  await daemon.ended
  expect(await heddle.run('--token', 'hdl_nobody', 'log')).toMatchObject(refused)
  expect(await heddle.run('--token', 'two words', 'log')).toMatchObject({ code: 2 })
  expect(await heddle.runWith({ env: { HEDDLE_TOKEN: '' } }, 'log')).toMatchObject({ code: 0 })
})

test('dev openapi prints the document that the daemon serves', async () => {
  const { out } = await heddle.run('dev', 'openapi')
  expect(JSON.parse(out)).toEqual(await heddle.json('dev', 'openapi'))
  expect(JSON.parse(out)).toMatchObject({
    openapi: '3.1.0',
    paths: { '/v1/inputs': { post: { operationId: 'submit' } } },
  })
})
