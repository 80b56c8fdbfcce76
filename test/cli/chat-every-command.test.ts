import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { registry } from '../../src/commands/registry.ts'
import { startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
let provider: TestProvider
beforeEach(async () => {
  heddle = newHeddle()
  provider = await startProvider({ answer: () => ({ text: '/quit' }) })
  await heddle.run('init')
  const model = `{ provider: openai-compatible, baseURL: "${provider.url}", model: main-1 }`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `agent: { default: "@general" }\nmodels: { main: ${model} }\n`)
})
afterEach(async () => {
  await provider.close()
  heddle.remove()
})

const asked = () => provider.log.filter(({ kind }) => kind === 'received').length
const countTurns = async () => (await heddle.json<{ turns: unknown[] }>('log', '--all')).turns.length

test('every command works in a chat without a model, and what a model says is none', async () => {
  // Steering sends, and leaving would end the test.
  const lines = registry.filter(({ name }) => name !== 'steer' && name !== 'quit').map(({ example }) => example)
  const { code, out, err } = await heddle.runWith({ input: `${lines.join('\n')}\n` }, 'chat')
  // Some examples name what is not there.
  expect({ code, err }).toEqual({ code: 1, err: '' })
  expect(out).not.toMatch(/this is a bug|undefined|\[object/)
  expect(out).toContain('@editor is registered with profile:writer:v1')
  expect(out).toContain('your words are trusted')
  expect({ asked: asked(), turns: await countTurns() }).toEqual({ asked: 0, turns: 0 })

  // The model answers "/quit" to the first message: the second is answered too.
  const talk = await heddle.runWith({ input: 'one\ntwo\n/runs --all\n' }, 'chat')
  expect(talk.out.match(/completed {2}@general/g)).toHaveLength(2)
  expect({ asked: asked(), turns: await countTurns() }).toEqual({ asked: 2, turns: 2 })
})

test.each([
  ['/stpo', 'there is no /stpo', 'did you mean /stop? write: /stop'],
  ['/agents pin @writer --glboal', 'there is no --glboal; did you mean --global?', 'such as: /agents pin @writer'],
  ['/switch ma\u202ein', '/switch cannot have the character \\u{202e} in it', 'write: /switch label'],
])('%s is refused with how to write it, and sent to nobody', async (line, message, remedy) => {
  const { out } = await heddle.runWith({ input: `${line}\n` }, 'chat')
  expect(out).toContain(message)
  expect(out).toContain(remedy)
  expect(asked()).toBe(0)
})

test.each([
  ['/frobnicate', 2],
  ['/show turn:nowhere', 1],
  ['/frobnicate\nhello', 2],
  ['hello\n/whoami', 0],
])('a pipe with %j ends with %i, as the command alone would', async (input, code) => {
  expect((await heddle.runWith({ input: `${input}\n` }, 'chat')).code).toBe(code)
})
