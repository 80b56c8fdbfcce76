import { spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { TurnView } from '../../src/api/views/turn.ts'
import type { Part } from '../../src/domain/message.ts'
import { answerPlainly, startProvider, type TestProvider } from '../../src/testing.ts'
import { cachedCode } from '../setup/built-heddle.ts'
import { bin, newHeddle, type Started, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

let heddle: TestHeddle
let provider: TestProvider
let daemon: Started | undefined
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')
const textPart = (path: string, text: string): Part => ({
  type: 'file',
  path,
  mediaType: 'text/plain',
  data: base64(text),
})

beforeEach(async () => {
  heddle = newHeddle()
  provider = await startProvider({ answer: answerPlainly })
  await heddle.run('init')
  const model = (name: string, more: string) =>
    `  ${name}: { provider: openai-compatible, baseURL: "${provider.url}", model: ${name}-1${more} }\n`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n${model('main', ', sees: true')}${model('blind', '')}`)
  mkdirSync(join(heddle.folder, 'src'))
  writeFileSync(join(heddle.folder, 'src/cart.ts'), 'export const cart = 1\n')
  writeFileSync(join(heddle.folder, 'notes.md'), '# Notes\n')
  writeFileSync(join(heddle.folder, 'two words.txt'), 'blank\n')
  // What it is, its bytes say.
  writeFileSync(join(heddle.folder, 'shot.dat'), png)
})
afterEach(async () => {
  daemon?.stop('SIGKILL')
  await daemon?.ended
  daemon = undefined
  await provider.close()
  heddle.remove()
})

async function turnOf(answer: RequestAnswer): Promise<TurnView> {
  expect(answer).toMatchObject({ ok: true })
  return heddle.json<TurnView>('show', `turn:${answer.turnId}`)
}
const partsOf = async (answer: RequestAnswer) => (await turnOf(answer)).query[0]?.parts
const ask = (...args: string[]) => heddle.json<RequestAnswer>('ask', ...args)
const asked = async (input: string | Buffer, ...args: string[]) =>
  JSON.parse((await heddle.runWith({ input: input as string }, 'ask', ...args, '--json')).out) as RequestAnswer

test('--file goes with the question, as often as it is given, is sent, shown and exported', async () => {
  const answer = await ask('compare', '--file', 'notes.md', '--file', 'shot.dat')
  const parts = [
    textPart('notes.md', '# Notes\n'),
    { type: 'image', path: 'shot.dat', mediaType: 'image/png', data: base64(png) },
  ]
  expect(await partsOf(answer)).toEqual(parts)
  const body = JSON.stringify(provider.log.find(({ kind }) => kind === 'received'))
  expect(body).toContain('[file notes.md]\\n# Notes')
  expect(body).toContain(`data:image/png;base64,${base64(png)}`)
  const { out } = await heddle.run('show', `turn:${answer.turnId}`)
  expect(out).toContain('[notes.md, text/plain, 8 B]\n[shot.dat, image/png, 16 B]')
  const exported = JSON.parse((await heddle.run('export', 'main')).out.split('\n')[0] ?? '')
  expect(JSON.stringify(exported)).toContain(JSON.stringify(parts))
  const other = newHeddle()
  writeFileSync(join(other.folder, 'all.jsonl'), (await heddle.run('export', 'main')).out)
  expect(await other.json('import', 'all.jsonl')).toMatchObject({ ok: true, imported: 1 })
  other.remove()
})

test('@path in the words is a file where the folder has it, and else a word', async () => {
  const words = 'is @src/cart.ts, like @"two words.txt" (see @notes.md.) for ada@notes.md or @nobody or @src/cart.ts?'
  const answer = await ask(words)
  expect((await turnOf(answer)).query).toMatchObject([{ content: words }])
  expect((await partsOf(answer))?.map(({ path }) => path)).toEqual(['src/cart.ts', 'two words.txt', 'notes.md'])
})

test('a leading @x is an agent if there is one, else a file; @./x is always a file', async () => {
  writeFileSync(join(heddle.folder, 'atlas'), 'a map\n')
  expect(await partsOf(await ask('@atlas what is it?'))).toEqual([textPart('atlas', 'a map\n')])
  await heddle.run('personas', 'set', 'atlas', '--name', 'Atlas')
  expect(await partsOf(await ask('@atlas what is it?'))).toBeUndefined()
  expect(await partsOf(await ask('@./atlas what is it?'))).toEqual([textPart('./atlas', 'a map\n')])
  expect(await ask('@./altas what is it?')).toMatchObject({
    ok: false,
    error: { code: 'no_file', remedy: 'did you mean ./atlas?' },
  })
})

test('nothing outside the folder goes along because a word names it', async () => {
  writeFileSync(join(heddle.folder, '../secret.txt'), 'secret')
  symlinkSync(join(heddle.folder, '../secret.txt'), join(heddle.folder, 'link'))
  expect(await partsOf(await ask('look at @link'))).toBeUndefined()
  for (const path of ['../secret.txt', '/etc/hosts', './../secret.txt', './link'])
    expect(await ask(`look at @${path}`)).toMatchObject({ ok: false, error: { code: 'outside' } })
  expect(JSON.stringify(provider.log)).not.toContain(base64('secret'))
})

test('a secret of heddle goes to no model, whatever its name', async () => {
  await heddle.runWith({ input: 'sk-canary-1' }, 'secret', 'set', 'anthropic')
  symlinkSync(join(heddle.home, 'secrets/anthropic'), join(heddle.folder, 'key'))
  for (const path of [join(heddle.home, 'secrets/anthropic'), 'key'])
    expect(await ask('what is this', '--file', path)).toMatchObject({ ok: false, error: { code: 'secret_file' } })
  expect(provider.log).toEqual([])
})

test('what is piped in goes with the words; without words, or with -, it is the question', async () => {
  expect(await partsOf(await asked('a\nb\n', 'what is this'))).toEqual([textPart('stdin', 'a\nb\n')])
  expect(await partsOf(await asked('', 'nothing piped'))).toBeUndefined()
  for (const args of [[], ['-']]) {
    const answer = await asked('which\nport?\n', ...args)
    expect((await turnOf(answer)).query).toMatchObject([{ content: 'which\nport?' }])
  }
  expect(await asked('', '-')).toMatchObject({ ok: false, error: { code: 'missing_argument' } })
})

/** The program as somebody else starts it. */
async function started(program: string, args: string[]): Promise<{ code: number | null; out: string }> {
  const env = { ...cachedCode, PATH: process.env['PATH'], HOME: heddle.home, HEDDLE_HOME: heddle.home }
  const child = spawn(program, args, { cwd: heddle.folder, env })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out })))
}

test('a shell’s pipe is read to its end, however late it comes, pictures too', async () => {
  const line = `(sleep 1; cat shot.dat) | '${process.execPath}' '${bin}' ask 'what is this' --json`
  const { out } = await started('sh', ['-c', line])
  expect(await partsOf(JSON.parse(out))).toMatchObject([{ type: 'image', path: 'stdin', mediaType: 'image/png' }])
})

test('a program that starts it and neither writes nor hangs up is not waited for', async () => {
  expect(await started(process.execPath, [bin, 'ask', 'which port?'])).toMatchObject({ code: 0 })
})

test.each<[string, string[], string, string]>([
  ['a missing file', ['--file', 'ntoes.md'], 'no_file', 'did you mean notes.md?'],
  ['a missing file in a directory', ['--file', 'src/crat.ts'], 'no_file', 'did you mean src/cart.ts?'],
  ['a directory', ['--file', 'src'], 'is_directory', 'name a file in it'],
  ['a binary file', ['--file', 'blob'], 'binary_file', 'iconv'],
  ['a file that is too large', ['--file', 'large'], 'too_large', 'agents read files of the folder piece by piece'],
  ['a device without an end', ['--file', '/dev/zero'], 'too_large', 'the part that matters'],
  ['files that are too much together', Array(5).fill(['--file', 'nearly']).flat(), 'too_large', 'several messages'],
  ['a picture for a model that sees none', ['--file', 'shot.dat', '-m', 'blind'], 'part_refused', 'heddle models'],
])('%s is refused with what to do, before anything is taken in', async (_, args, code, remedy) => {
  writeFileSync(join(heddle.folder, 'blob'), Buffer.from([0, 1, 2, 255]))
  writeFileSync(join(heddle.folder, 'large'), 'x'.repeat(5 * 1024 * 1024 + 1))
  writeFileSync(join(heddle.folder, 'nearly'), 'x'.repeat(5 * 1024 * 1024))
  expect(await ask('what is this', ...args)).toMatchObject({
    ok: false,
    error: { code, remedy: expect.stringContaining(remedy) },
  })
  expect(await heddle.json('sessions')).toEqual({ sessions: [] })
})

test('through the daemon files go along all the same, large ones too', async () => {
  daemon = heddle.start('up')
  await daemon.says('running:')
  writeFileSync(join(heddle.folder, 'large.txt'), 'x'.repeat(4 * 1024 * 1024))
  const answer = await ask('look at @notes.md', '--file', 'large.txt', '--file', 'shot.dat', '--no-wait')
  expect(answer).toMatchObject({ ok: true, status: 'accepted' })
  expect(await ask('what is @shot.dat?', '-m', 'blind')).toMatchObject({ ok: false, error: { code: 'part_refused' } })
  const second = await ask('and @src/cart.ts?', '-s', 'other')
  expect(await partsOf(second)).toEqual([textPart('src/cart.ts', 'export const cart = 1\n')])
})
