// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are written this way
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { configProblems, loadConfig } from '../../src/config/config.ts'

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-problems-')))
afterAll(() => rmSync(place, { recursive: true, force: true }))

const messages = (text: string, env = {}) => configProblems(text, env).map(({ message }) => message)

describe('an unknown key is named with its line and the key that was meant', () => {
  test('at the top', () => {
    const text = `${'# a comment\n'.repeat(11)}agnets: { maxConcurrent: 3 }\n`
    expect(configProblems(text, {})).toEqual([
      {
        line: 12,
        path: 'agnets',
        message: 'unknown key `agnets` at line 12: did you mean `agents`?',
        remedy: 'write `agents`',
      },
    ])
  })

  test('in a section, also in one that is written in braces over several lines', () => {
    expect(messages('agents:\n\n  # how many\n  maxConcurent: 3\n')).toEqual([
      'unknown key `agents.maxConcurent` at line 4: did you mean `agents.maxConcurrent`?',
    ])
    expect(messages('tools: {\n  deny: [],\n  exec: { newtork: true } }\n')).toEqual([
      'unknown key `tools.exec.newtork` at line 3: did you mean `tools.exec.network`?',
    ])
    expect(messages('models:\n  main: { provider: openai, model: m, apikey: x }\n')).toEqual([
      'unknown key `models.main.apikey` at line 2: did you mean `models.main.apiKey`?',
    ])
  })

  test('with the keys that there are when none is near', () => {
    expect(messages('retention:\n  forever: yes\n')).toEqual([
      'unknown key `retention.forever` at line 2: known here: eventDays',
    ])
  })
})

test('every problem is reported at once, in the order of the lines', () => {
  const text = [
    'name: 12',
    'durability: ful',
    'agents:',
    '  maxConcurrent: three',
    '  defaultTimeout: 0.5',
    'workspace: somewhere',
    'nmae: x',
    'database: ${NO_SUCH}',
    'skills: ~/agents',
    'tools:',
    '  allow:',
    '  exec: { network: "yes" }',
    '__proto__: { polluted: true }',
  ].join('\n')
  expect(messages(text)).toEqual([
    '`name` at line 1 must be text, but is 12',
    '`durability` at line 2 must be full or normal, but is "ful"',
    '`agents.maxConcurrent` at line 4 must be a whole number of at least 1, but is "three"',
    '`agents.defaultTimeout` at line 5 must be a whole number of at least 1, but is 0.5',
    '`workspace` at line 6 must be an absolute path that starts with / or ~/, but is "somewhere"',
    'unknown key `nmae` at line 7: did you mean `name`?',
    '`database` at line 8 needs the environment variable NO_SUCH, which is not set',
    '`skills` at line 9 must be a list of folders, such as [~/my-agents], but is "~/agents"',
    '`tools.allow` at line 11 must be a list of tools, such as [one, two], but is empty',
    '`tools.exec.network` at line 12 must be true or false, but is "yes"',
    'the key `__proto__` at line 13 is not allowed',
  ])
})

test.each([
  ['- a\n- b', 'the file at line 1 must be a section with keys of its own, but is a list'],
  ['just text', 'the file at line 1 must be a section with keys of its own, but is "just text"'],
  ['agents: 3', '`agents` at line 1 must be a section with keys of its own, but is 3'],
  ['name: [a]', '`name` at line 1 must be text, but is a list'],
  ['name: ""', '`name` at line 1 must be text, but is ""'],
  ['plans: true', '`plans` at line 1 must be ask, auto or always, but is true'],
  [
    'engine: { leaseSeconds: .inf }',
    '`engine.leaseSeconds` at line 1 must be a whole number of at least 1, but is Infinity',
  ],
  ['budgets: { perDay: { usd: -1 } }', '`budgets.perDay.usd` at line 1 must be a number of at least 0, but is -1'],
  [
    'database: mysql://x',
    '`database` at line 1 must be sqlite or an address that starts with postgres://, but is "mysql://x"',
  ],
  ['tools:\n  deny:\n  - exec\n  - 3', '`tools.deny.1` at line 4 must be text, but is 3'],
  ...['10.0.0.0/8', 'http://a/b', 'http://a?b', 'http://u:p@a', 'ftp://a', 'localhost:80', 'http://', 'http://a b'].map(
    (value): [string, string] => [
      `tools: { fetch: { allow: ["${value}"] } }`,
      `\`tools.fetch.allow.0\` at line 1 must be an address without a path, such as http://127.0.0.1:8080, but is "${value.replace(':p@', ':[redacted]@')}"`,
    ],
  ),
  [
    'tools: { fetch: { allow: http://a } }',
    '`tools.fetch.allow` at line 1 must be a list of addresses, such as [http://127.0.0.1:8080], but is "http://a"',
  ],
  [
    'agent: { default: "writer" }',
    '`agent.default` at line 1 must be an agent, such as "@coordinator", but is "writer"',
  ],
  ['models:\n  main:', '`models.main` at line 2 must be a section with keys of its own, but is empty'],
  ['models:\n  main: { provider: openai }', '`models.main.model` at line 2 is missing: it must be text'],
  [
    'models:\n  "a b": { provider: openai, model: m }',
    '`models.a b` at line 2 is not a name: use letters, digits, . _ : and -',
  ],
  [
    'models:\n  local: { provider: openai-compatible, model: m }',
    '`models.local.baseURL` at line 2 is missing: this provider has no address of its own',
  ],
  [
    'models:\n  main: { provider: openai, model: m }\nagent:\n  model: man',
    '`agent.model` at line 4 names the model "man": did you mean `main`?',
  ],
  [
    'models:\n  main: { provider: openai, model: m }\n  allow: [main, min]',
    '`models.allow.1` at line 3 names the model "min": did you mean `main`?',
  ],
  ['models: { allow: [] }', '`models.allow` at line 1 must name at least one model, but is a list'],
  [
    'models: { allow: { provider: openai, model: m } }',
    '`models.allow` at line 1 must be a list of names of models, such as [one, two], but is a section',
  ],
  [
    'memory: { embedder: { model: m } }',
    '`memory.embedder.baseURL` at line 1 is missing: it must be an address that starts with http:// or https://',
  ],
  [
    'memory: { embedder: { baseURL: "http://h/v1", model: m, key: x } }',
    'unknown key `memory.embedder.key` at line 1: known here: baseURL, model, apiKey',
  ],
  [
    'agent:\n  fallbacks:\n    - local',
    '`agent.fallbacks.0` at line 3 names the model "local": no model of that name is in `models`',
  ],
])('%j is explained in a plain sentence', (text, message) => {
  expect(messages(text)).toEqual([message])
})

test.each([
  ['name: ${A B}', '`name` at line 1 refers to "${A B}", which is not the name of a variable'],
  ['name: ${}', '`name` at line 1 refers to "${}", which is not the name of a variable'],
  ['name: "a ${B"', '`name` at line 1 opens a reference with `${` and does not close it'],
  ['name: ${toString}', '`name` at line 1 needs the environment variable toString, which is not set'],
  ['name: ${secret:x}', '`name` at line 1 refers to a secret, which only an apiKey may do'],
  [
    'models: { m: { provider: openai, model: m, apiKey: "${secret:../x}" } }',
    '`models.m.apiKey` at line 1 refers to "${secret:../x}", which is not the name of a secret',
  ],
])('the reference in %j is refused', (text, message) => {
  expect(messages(text)).toEqual([message])
})

test('a missing variable is an error that names the variable, the line and the remedy', () => {
  expect(configProblems('name: x\nworkspace: ${WORK}/here\n', {})).toEqual([
    {
      line: 2,
      path: 'workspace',
      message: '`workspace` at line 2 needs the environment variable WORK, which is not set',
      remedy: 'set WORK in the environment that heddle starts in',
    },
  ])
})

test('loading a wrong file throws all of it under one code', async () => {
  const file = join(place, 'heddle.yaml')
  writeFileSync(file, 'agnets: 1\nplans: never\n')
  await expect(loadConfig(file, {})).rejects.toMatchObject({
    code: 'config_invalid',
    message:
      `${file} has 2 problems:\n` +
      '  unknown key `agnets` at line 1: did you mean `agents`?\n' +
      '  `plans` at line 2 must be ask, auto or always, but is "never"',
    remedy: 'fix them with: heddle config edit',
    problems: [{ line: 1 }, { line: 2 }],
  })
})
