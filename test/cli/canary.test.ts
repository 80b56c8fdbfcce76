import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { startProvider } from '../../src/testing.ts'
import { newHeddle, type Spoken, type TestHeddle } from './heddle.ts'

// Looks like no key, so that only what knows it can hide it; no two stretches of it are words of ours.
const canary = 'quartzvexjumblingfowlkid'

let heddle: TestHeddle
afterEach(() => heddle.remove())

test.each(['anthropic', 'openai-compatible'])(
  'S28: a secret of %s is in no screen, log, row, export, backup, error or prompt, whatever the provider does with it',
  async (provider) => {
    heddle = newHeddle()
    const server = await startProvider({
      key: canary,
      answer: ({ messages }) => {
        const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
        const quoting = { error: { type: 'invalid_request_error', message: `your key ${canary} is odd`, code: 400 } }
        if (asked.includes('refuse')) return { faults: { status: { code: 400, body: { type: 'error', ...quoting } } } }
        if (asked.includes('break'))
          return { text: 'some', faults: { errorEvent: { code: 400, message: `${canary}!` } } }
        return { text: 'fine' }
      },
    })
    onTestFinished(() => server.close())
    const said: Spoken[] = []
    const run = async (...args: string[]) => void said.push(await heddle.run(...args))

    said.push(await heddle.runWith({ input: `${canary}\n` }, 'secret', 'set', 'mine'))
    const lines = (key: string) =>
      `models:\n  main: { provider: ${provider}, model: m, baseURL: "${server.url}", apiKey: "${key}" }\n`
    writeFileSync(join(heddle.home, 'heddle.yaml'), lines(`\${secret:mine}`))
    for (const question of ['hello', 'please refuse', 'please break']) {
      await run('ask', question)
      await run('ask', question, '--json')
    }
    await run('models', 'test', 'main')
    await run('models', 'show', 'main')
    await run('models', '--json')
    await run('secret')
    await run('config', 'show')
    await run('config', 'get', 'models')
    await run('config', 'check')
    await run('doctor')
    await run('ps', '--all', '--json')
    await run('log', 'main', '--json')
    await run('usage', '--json')
    await run('event', '--json')
    await run('export')
    await run('backup', join(heddle.folder, 'all.backup'))
    await run('config', 'set', 'name', canary)
    await run('config', 'show')
    // A key that is wrong by one letter is quoted back by the server.
    said.push(await heddle.runWith({ input: `${canary}x` }, 'secret', 'set', 'mine'))
    await run('ask', 'hello again', '--json')

    expect(said.some(({ out }) => out.includes('fine'))).toBe(true)
    expect(said.some(({ out }) => out.includes('[redacted] is odd'))).toBe(true)
    expect(said.some(({ out }) => out.includes('does not accept the key'))).toBe(true)
    expect(JSON.stringify(said)).not.toContain(canary)
    const prompts = server.log.map((line) => JSON.stringify(line))
    expect(prompts.length).toBeGreaterThan(10)
    expect(prompts.join('\n')).not.toContain(canary)
    const holders = [heddle.home, heddle.folder]
      .flatMap(filesBelow)
      .filter((file) => readFileSync(file).includes(canary))
    // The one place for it, and the line that the test itself wrote into the configuration.
    expect(holders.filter((file) => !file.includes('heddle.yaml'))).toEqual([join(heddle.home, 'secrets/mine')])
  },
  120_000,
)

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
