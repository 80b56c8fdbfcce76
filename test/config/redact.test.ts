// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are written this way
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { configProblems, loadConfig } from '../../src/config/config.ts'
import { editConfig } from '../../src/config/edit.ts'
import { redact } from '../../src/config/redact.ts'
import { configSet } from '../../src/config/set.ts'
import { configGet, configShow } from '../../src/config/show.ts'
import { systemClock } from '../../src/system.ts'

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-redact-')))
afterAll(() => rmSync(place, { recursive: true, force: true }))

const canary = 'sk-canary-4f9a17'

function written(text: string): string {
  const file = join(mkdtempSync(join(place, 'case-')), 'heddle.yaml')
  writeFileSync(file, text)
  return file
}

/** Everything that a program could print of a value. */
function printed(value: unknown): string {
  const error =
    value instanceof Error ? [value.message, value.stack, inspect(value.cause), ...Object.values(value)] : []
  return [
    inspect(value, { depth: 20, showHidden: true }),
    JSON.stringify(value),
    ...error.map((part) => inspect(part)),
  ].join('\n')
}

test.each([
  ['an api key', 'sk-ant-REDACTED'],
  ['a short canary', canary],
  ['a token of a code host', 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'],
  ['a cloud key', 'AKIAIOSFODNN7EXAMPLE'],
  ['a signed token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123'],
  ['a header', 'Bearer abcdef123456'],
  ['hexadecimal digits', '3f4d4c9d945b590d3f4d4c9d945b590d'],
  ['base64', 'q9Zk3fAb7xLmN0pQr5tUvWxYz12B4c=='],
  ['base64 for addresses', 'q9Zk_3f-Ab7xLmN0pQr5t-vWxYz1-2B4c'],
  ['a random name', '6f9619ff-8b86-4011-b42d-00c04fc964ff'],
])('%s is hidden', (_, secret) => {
  expect(redact(secret)).toBe('[redacted]')
  expect(redact(`before ${secret} after`)).toBe('before [redacted] after')
})

test('passwords and keys in addresses are hidden, references in their place are not', () => {
  expect(redact('postgres://ada:hunter2@db:5432/x')).toBe('postgres://ada:[redacted]@db:5432/x')
  expect(redact('postgres://ada:p@ss/w:rd@db/x')).toBe('postgres://ada:[redacted]@db/x')
  expect(redact('postgres://db/x?user=ada&password=hunter2&ssl=on')).toBe(
    'postgres://db/x?user=ada&password=[redacted]&ssl=on',
  )
  expect(redact('postgres://ada:${PW}@db/x?sslkey=${K}')).toBe('postgres://ada:${PW}@db/x?sslkey=${K}')
  expect(redact('postgres://ada:half${PW}@db/x')).toBe('postgres://ada:[redacted]@db/x')
})

test.each([
  'claude-3-5-sonnet-20241022',
  'us.anthropic.claude-sonnet-4-20250514-v1:0',
  'hf:mlx-community/Qwen3-Coder-480B-A35B-Instruct-4bit',
  'accounts/fireworks/models/deepseek-v3p1-terminus',
  'http://127.0.0.1:11434/v1',
  '/home/User1/projects/Some-Long-Directory-Name-2/risk-averse/task-2',
  '@coordinator',
  'inherit-readonly',
])('%s stays readable', (text) => {
  expect(redact(text)).toBe(text)
})

// A canary that no pattern can know stands for passwords of people; one that looks like a key may stand anywhere.
const password = 'correct horse'
const places = [
  `models: { main: { provider: openai, model: m, apiKey: ${canary} } }`,
  `models: { main: { provider: openai, model: m, apiKey: ${password} } }`,
  `models: { main: { provider: openai, model: m, apiKey: [${canary}] } }`,
  `models: { main: { provider: ${canary}, model: m, apiKey: 12345678 } }`,
  `models: { main: { provider: openai, model: m, baseURL: "https://u:${password.replace(' ', '-')}@h/v1?api_key=${canary}" } }`,
  `models: { ${canary}: { provider: openai, model: m } }`,
  `models: { ${canary}: { provider: openai } }`,
  `models: { ${canary}: { provider: openai, model: m, apikey: x } }`,
  `models: { ${canary}: { provider: openai, model: m } }\nagent: { model: ${canary}x }`,
  `name: ${canary}`,
  `name: \${${canary}}`,
  `name: "\${${canary}"`,
  `name: \${CANARY}`,
  `name: \${${canary.replaceAll('-', '_')}}`,
  `models: { main: { provider: openai, model: m, apiKey: \${${canary.replaceAll('-', '_')}} } }`,
  `models: { main: { provider: openai, model: m, apiKey: \${secret:${canary}} } }`,
  `${canary}: 1`,
  `${canary}: 1\n${canary}: 2`,
  `name: "${canary}`,
  `name: ${canary}: x`,
  `? [${canary}]\n: x`,
  `name: *${canary}`,
  `name: !${canary} x`,
  `database: mysql://u:${canary}@h`,
  `database: postgres://u:${canary}@h/db`,
  'database: postgres://u:${PASSWORD}@h/db',
  'database: ${PASSWORD}',
  `durability: ${canary}`,
  'durability: ${CANARY}',
  'agent: { model: "${PASSWORD}", fallbacks: ["${CANARY}"] }',
  'skills: ["/${CANARY}"]',
  'skills: ["${CANARY}"]',
  'workspace: "/w/${PASSWORD}"',
]

test.each(places)('a secret in %j is in no output and no error', async (text) => {
  const env = { CANARY: canary, PASSWORD: password }
  const file = written(text)
  const output: unknown[] = [configProblems(text, env), configProblems(text, {})]
  const keep = (error: unknown) => output.push(error)
  const edit = async (copy: string) => {
    writeFileSync(copy, `${text}\nagnets: 1`)
    return 0
  }
  await loadConfig(file, env).then((config) => {
    output.push(configShow(config), configGet(config, 'models'), config.warnings, config.written)
    output.push(Object.values(config.models).map(({ apiKey }) => apiKey))
  }, keep)
  await loadConfig(file, {}).then((config) => output.push(configShow(config)), keep)
  await configSet(file, 'agents.maxConcurrent', canary, { env, clock: systemClock }).catch(keep)
  await editConfig(file, edit, { env, clock: systemClock }).catch(keep)
  for (const value of output) {
    expect(printed(value)).not.toMatch(/sk.canary.4f9a17/)
    expect(printed(value)).not.toContain(password)
    expect(printed(value)).not.toContain(password.replace(' ', '-'))
    expect(printed(value)).not.toContain('12345678')
  }
  expect(readFileSync(file, 'utf8')).toBe(text)
})

test('a key that was set is stored, and what is shown afterwards does not contain it', async () => {
  const file = written('models: { main: { provider: openai, model: m } }\n')
  await configSet(file, 'models.main.apiKey', canary, { env: {}, clock: systemClock })
  const config = await loadConfig(file, {})
  expect(config.models['main']?.apiKey?.reveal()).toBe(canary)
  expect(configGet(config, 'models.main.apiKey')).toBe('[redacted]')
  expect(printed(configShow(config)) + printed(config)).not.toContain('canary')
})

test('wherever a key stands in a text, it is hidden', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (before, after) => {
      expect(redact(`${before} ${canary} ${after}`)).not.toContain(canary)
    }),
  )
})
