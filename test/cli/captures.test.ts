import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { width } from '../../src/cli/terminal/screen.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'
import { steady } from './steady.ts'

// What people see, kept as files so that a change of a screen is read by someone. Rewrite them with: npx vitest run -u
describe('the main screens', () => {
  let heddle: TestHeddle
  let first: string
  const say = (label: string, user: string, assistant: string, ...more: string[]) =>
    heddle.json<{ turnId: string }>('append', '-s', label, '--user', user, '--assistant', assistant, ...more)

  beforeAll(async () => {
    heddle = newHeddle()
    first = (await say('main', 'which port does the api use?', '8080, see src/server.ts:12')).turnId
    await say('main', 'and in production?', '443, behind the proxy')
    await heddle.run('fork', first, '--as', 'second-try')
    await say('second-try', 'what about ipv6?', 'not yet')
    await say('sockets', 'could it listen on a unix socket instead of a port?', 'yes', '--parent', first)
    await say('main', 'write that down, please: which ports, which proxy, and why TLS ends there and not here', 'done')
    await heddle.run('append', '--assistant', 'ports 8080 and 443', '--compact-to', '2')
    await heddle.run('personas', 'set', 'atlas', '--name', 'Atlas', '--deny', 'exec')
  })
  afterAll(() => heddle.remove())

  test.each([
    ['bare', []],
    ['watch-help', ['watch', '--help']],
    ['log', ['log']],
    ['log-context', ['log', '--context']],
    ['graph', ['log', '--all', '--graph']],
    ['sessions', ['sessions']],
    ['show-turn', ['show', 'TURN']],
    ['show-session', ['show', 'session:main']],
    ['diff', ['diff', 'main', 'second-try']],
    ['personas', ['personas']],
    ['agents', ['agents']],
    ['agents-help', ['agents', '--help']],
    ['doctor', ['doctor']],
    ['help', ['--help']],
  ])('%s fits 80 columns and reads as agreed', async (name, args) => {
    const { out } = await heddle.run(...args.map((arg) => arg.replace('TURN', first)))
    const text = steady(out, heddle)
    const wide = text.split('\n').filter((line) => width(line) > 80 && !line.includes('~'))
    expect(wide).toEqual([])
    await expect(text).toMatchFileSnapshot(join(import.meta.dirname, 'captures', `${name}.txt`))
  })
})
