import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { type ProviderOptions, type ProviderRule, startProvider, type TestProvider } from '../../src/testing.ts'
import { cachedCode } from '../setup/built-heddle.ts'
import { bin, newHeddle, type TestHeddle } from './heddle.ts'

const canary = 'sk-canary-4f9b2c77d1e05a3866ab'
/** The program, as words for a shell. */
const program = `'${process.execPath}' '${bin}'`

/** Does what a trial asks for. */
const capable: ProviderRule = ({ messages }) => {
  const asked = messages.at(-1)?.content ?? ''
  if (asked.startsWith('Call the tool')) return { calls: [{ name: 'note', input: { word: 'heddle' } }] }
  return { text: asked.length > 2000 ? 'read' : 'one two three four five six seven eight nine ten' }
}

let heddle: TestHeddle
afterEach(() => heddle.remove())

async function provider(options: Partial<ProviderOptions> = {}): Promise<TestProvider> {
  heddle = newHeddle()
  const started = await startProvider({ answer: capable, ...options })
  onTestFinished(() => started.close())
  return started
}

const configText = () => readFileSync(join(heddle.home, 'heddle.yaml'), 'utf8')

/** The command on a terminal; each answer is typed when its question is on the screen. */
async function onTerminal(command: string, answers: [question: string, answer: string][]) {
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: heddle.folder,
    env: {
      ...cachedCode,
      PATH: process.env['PATH'],
      HOME: join(heddle.home, '..'),
      HEDDLE_HOME: heddle.home,
      TERM: 'xterm',
      NO_COLOR: '1',
    },
  })
  let screen = ''
  const open = [...answers]
  child.stdout.setEncoding('utf8').on('data', (text) => {
    screen += text
    const [next] = open
    if (next && screen.includes(next[0])) {
      open.shift()
      child.stdin.write(next[1])
    }
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { screen: screen.replaceAll('\r', ''), code }
}

describe('models add', () => {
  test('asks for a key that nobody sees, tries it, stores it privately, switches, and tells the way back', async () => {
    const { url } = await provider({ key: canary })
    const command = `${program} models add anthropic --base-url ${url}`
    const { screen, code } = await onTerminal(command, [['API key (hidden)', `${canary}\r`]])
    expect(code).toBe(0)
    expect(screen).toContain('API key (hidden):')
    expect(screen).toContain(`heddle.yaml holds only \${secret:anthropic}`)
    expect(screen).toMatch(/text ok · stream ok · tool call ok · [\d.]+s · \$0\.\d{4}/)
    expect(screen).toMatch(/context check: [\d,]+ tokens sent, [\d,]+ counted, ok/)
    expect(screen).toContain('main is now claude-sonnet-5-5 (was rehearsal).')
    expect(screen).toContain('undo: heddle models use rehearsal')
    expect(screen).not.toContain(canary)
    const secret = join(heddle.home, 'secrets/anthropic')
    expect(readFileSync(secret, 'utf8')).toBe(canary)
    expect(statSync(secret).mode & 0o777).toBe(0o600)
    expect(configText()).toContain(`apiKey: "\${secret:anthropic}"`)
    expect(configText()).not.toContain(canary)
    const answer = await heddle.json('ask', 'hello')
    expect(answer).toMatchObject({ ok: true, model: { actual: 'claude-sonnet-5-5' } })
  })

  test('a key that is pasted the moment the question appears is not seen either', async () => {
    await provider()
    // Whatever is written to the terminal takes a while to return, as it does on a busy machine.
    const slowly = `strace -f -qq -o /dev/null -P "$(tty)" -e trace=write -e inject=write:delay_exit=200000`
    const command = `${slowly} ${program} secret set slow`
    const { screen, code } = await onTerminal(command, [['slow (hidden)', `${canary}\r`]])
    expect(code).toBe(0)
    expect(screen).not.toContain(canary)
    expect(readFileSync(join(heddle.home, 'secrets/slow'), 'utf8')).toBe(canary)
  })

  test('a key that is typed and corrected is what remains, and Ctrl-C changes nothing', async () => {
    const { url } = await provider({ key: canary })
    const command = `${program} models add openai --base-url ${url}`
    const typed = await onTerminal(command, [
      ['API key (hidden)', `wrong\u0015x${canary}y\u007f\u0001\r`.replace('x', '')],
    ])
    expect(typed.code).toBe(0)
    expect(readFileSync(join(heddle.home, 'secrets/openai'), 'utf8')).toBe(canary)
    const before = configText()
    const stopped = await onTerminal(`${command} --name other`, [['API key (hidden)', '\u0003']])
    expect(stopped.code).toBe(130)
    expect(configText()).toBe(before)
  })

  test.each([
    ['anthropic', 'ANTHROPIC_API_KEY'],
    ['openai', 'OPENAI_API_KEY'],
    ['google', 'GEMINI_API_KEY'],
  ])('%s finds the key in the environment and refers to it', async (vendor, variable) => {
    const { url, googleUrl } = await provider({ key: canary })
    const address = vendor === 'google' ? googleUrl : url
    const args = ['models', 'add', vendor, '--base-url', address, '--json']
    const { out, code } = await heddle.runWith({ env: { [variable]: canary } }, ...args)
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      ok: true,
      name: 'main',
      provider: vendor,
      default: 'main',
      before: 'rehearsal',
    })
    expect(configText()).toContain(`apiKey: "\${${variable}}"`)
    expect(existsSync(join(heddle.home, 'secrets'))).toBe(false)
  })

  test('a key comes from standard input for programs, and never from an argument', async () => {
    const { url } = await provider({ key: canary })
    const add = ['models', 'add', 'anthropic', '--base-url', url, '--key']
    const refused = await heddle.runWith({}, ...add, canary)
    expect(refused.code).toBe(2)
    expect(refused.err).not.toContain(canary)
    const { code } = await heddle.runWith({ input: `${canary}\n` }, ...add, '-')
    expect(code).toBe(0)
    expect(await heddle.json('secret')).toEqual({ ok: true, secrets: ['anthropic'] })
  })

  test('a key that is refused changes nothing and says what to do', async () => {
    const { url } = await provider({ key: 'another' })
    const add = ['models', 'add', 'anthropic', '--base-url', url, '--key', '-', '--json']
    const { out, code } = await heddle.runWith({ input: canary }, ...add)
    expect(code).toBe(1)
    expect(out).not.toContain(canary)
    expect(JSON.parse(out).error.message).toContain('does not accept the key')
    expect(existsSync(join(heddle.home, 'secrets'))).toBe(false)
    expect(existsSync(join(heddle.home, 'heddle.yaml')) ? configText() : '').not.toContain('anthropic, model')
  })

  test.each([
    ['calls no tool', (): ReturnType<ProviderRule> => ({ text: 'I would call note.' }), 'tool call'],
    [
      'reads only the end of a long prompt',
      (request: Parameters<ProviderRule>[0]) => ({ ...capable(request), usage: { inputTokens: 2_048 } }) as never,
      'window',
    ],
  ])('a model that %s is not taken', async (_, answer, check) => {
    const { url } = await provider({ answer, serves: ['a-model'] })
    const { out, code } = await heddle.runWith({}, 'models', 'add', url, '-y', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(out).error).toMatchObject({ code: 'model_failed', message: expect.stringContaining(check) })
  })

  test('Ollama is found with what its models can do, and the one that can act gets a window to work in', async () => {
    const ollama = [
      { name: 'gemma3:4b', contextLength: 8_192, bytes: 3e9 },
      { name: 'qwen3:14b', capabilities: ['tools', 'vision'], contextLength: 40_960, bytes: 9.1e9 },
    ]
    const { origin, log } = await provider({ ollama })
    const command = `${program} models add ollama --base-url ${origin}`
    const { screen, code } = await onTerminal(command, [['[Y/n', '\r']])
    expect(code).toBe(0)
    expect(screen).toContain('found Ollama 0.31.0 at 127.0.0.1:')
    expect(screen).toMatch(/1 {2}gemma3:4b +tools no +cannot act as an agent/)
    expect(screen).toMatch(/2 {2}qwen3:14b +tools yes +window now 4,096 +supports 40,960/)
    expect(screen).toContain('use 2 with a window of 32,768 (9.1 GB)?')
    expect(screen).toContain('remove it: ollama rm qwen3-14b-32k')
    expect(screen).toMatch(/context check: 9,\d+ tokens sent, 9,\d+ counted, ok/)
    expect(screen).toContain('local is now qwen3-14b-32k (was rehearsal).')
    expect(ollama.map(({ name }) => name)).toEqual(['gemma3:4b', 'qwen3:14b', 'qwen3-14b-32k'])
    expect(configText()).toContain('model: qwen3-14b-32k, contextWindow: 32768, sees: true')
    expect(log.every((line) => line.kind !== 'received' || line.model === 'qwen3-14b-32k')).toBe(true)
  })

  test('comments and layout of the file survive, and what is there already stays the default when Ollama is added', async () => {
    const { url, origin } = await provider({
      ollama: [{ name: 'q', capabilities: ['tools'], numCtx: 40_000, contextLength: 40_000 }],
    })
    await heddle.run('init')
    const own = `# mine\nmodels:   # here\n  main: { provider: openai-compatible, baseURL: "${url}", model: m }\n`
    writeFileSync(join(heddle.home, 'heddle.yaml'), own)
    const { out } = await heddle.runWith({}, 'models', 'add', 'ollama', '--base-url', origin, '-y', '--json')
    expect(JSON.parse(out)).toMatchObject({ name: 'local', default: 'main', model: 'q' })
    expect(configText()).toBe(
      `${own}  local: { provider: openai-compatible, baseURL: "${origin}/v1", model: q, contextWindow: 32768 }\n`,
    )
  })

  test.each([
    ['--name', 'no name'],
    ['--name', 'rehearsal'],
    ['--window', 'wide'],
  ])('%s %j is refused before anybody is asked', async (flag, value) => {
    const { url, log } = await provider()
    const { code } = await heddle.runWith({}, 'models', 'add', url, '--model', 'm', flag, value)
    expect([code, log]).toEqual([2, []])
  })

  test('without a word it says what it found', async () => {
    await provider()
    const { err, code } = await heddle.runWith({ env: { OPENAI_API_KEY: 'k' } }, 'models', 'add')
    expect(code).toBe(2)
    expect(err).toContain('found: openai')
    expect(err).toContain('heddle models add openai')
  })
})

describe('models', () => {
  const twoModels = (url: string) =>
    `models:\n  main: { provider: anthropic, model: claude-haiku-4-5, baseURL: "${url}", apiKey: "\${NOT_SET}" }\n` +
    `  local: { provider: openai-compatible, baseURL: "${url}", model: m, contextWindow: 16000 }\nagent: { fallbacks: [local] }\n`

  async function withTwo(options: Partial<ProviderOptions> = {}) {
    const started = await provider(options)
    await heddle.run('init')
    writeFileSync(join(heddle.home, 'heddle.yaml'), twoModels(started.url))
  }

  test('lists, with what is missing and who is asked when', async () => {
    await withTwo()
    expect(await heddle.json('models')).toEqual({
      models: [
        { name: 'main', provider: 'anthropic', model: 'claude-haiku-4-5', window: 200_000, status: 'key_missing' },
        { name: 'local', provider: 'openai-compatible', model: 'm', window: 16_000, status: 'ready' },
      ],
      default: 'main',
    })
    const { out } = await heddle.run('models')
    expect(out).toMatch(/\* main +claude-haiku-4-5 +anthropic +200,000 +NO KEY, default/)
    expect(out).toMatch(/ {2}local +m +openai-compatible +16,000 +fallback 1/)
    expect(out.split('\n').every((line) => line.length <= 80)).toBe(true)
  })

  test('switches, tells the way back, and keeps the rest of the file', async () => {
    await withTwo()
    const { out } = await heddle.run('models', 'use', 'local')
    expect(out).toContain('now using local (was main)    undo: heddle models use main')
    expect((await heddle.json('models'))['default']).toBe('local')
    expect((await heddle.run('models', 'use', 'locl')).err).toContain('did you mean local?')
  })

  test('tests, and exits 1 when something failed', async () => {
    await withTwo()
    const { out, code } = await heddle.run('models', 'test', 'local')
    expect([code, out]).toEqual([0, expect.stringContaining('tool call ok')])
    const refused = await heddle.run('models', 'test', 'main')
    expect(refused.code).toBe(1)
    expect(refused.err).toContain('NOT_SET is not set')
  })

  test('shows where each figure comes from, and no key', async () => {
    await withTwo()
    const { out } = await heddle.run('models', 'show', 'main')
    expect(out).toMatch(/price +\$1 in, \$5 out per million tokens {2}published, as of 2026-/)
    expect(out).toContain(`\${NOT_SET}`)
  })

  test('doctor finds a server that cuts prompts, and asks nothing that costs money', async () => {
    const sent: number[] = []
    await withTwo({
      answer: (request) => {
        sent.push(JSON.stringify(request.messages).length)
        return { ...capable(request), usage: { inputTokens: 2_048 } } as never
      },
    })
    const quick = await heddle.run('doctor')
    expect(quick.out).toMatch(/ok {4}model local +it answers/)
    expect(sent).toHaveLength(1)
    expect(sent[0]).toBeLessThan(400)
    const { out, code } = await heddle.run('doctor', '--deep')
    expect(code).toBe(1)
    expect(out).toMatch(/fail {2}model local .*read only 2048 of about/)
    expect(out).toMatch(/warn {2}model main +its key is missing/)
    writeFileSync(join(heddle.home, 'heddle.yaml'), 'models: { far: { provider: openai, model: gpt-5, apiKey: k } }\n')
    expect((await heddle.run('doctor')).out).toContain('not asked, because it costs money')
  })
})
