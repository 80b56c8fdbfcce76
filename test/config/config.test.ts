// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are written this way
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { assertConfigFile, loadConfig } from '../../src/config/config.ts'
import { configGet, configList, configShow } from '../../src/config/show.ts'
import { parseYaml } from '../../src/config/yaml.ts'

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-config-')))
afterAll(() => rmSync(place, { recursive: true, force: true }))

const options = { userHome: '/home/ada' }
const defaults = {
  name: 'my-heddle',
  database: 'sqlite',
  durability: 'full',
  models: {},
  agent: { fallbacks: [], default: '@coordinator', routing: 'model' },
  agents: { maxConcurrent: 3, defaultTimeout: 300, defaults: { subagents: {} } },
  engine: { maxRunning: 16, leaseSeconds: 10 },
  scheduling: 'auto',
  plans: 'ask',
  memory: { recall: true, most: 100_000, files: true, narratives: true },
  budgets: { perRequest: { usd: 5, tokens: 2_000_000, steps: 200 }, perDay: { usd: 20 } },
  workspace: '/home/ada/heddle-workspace',
  skills: [],
  tools: {
    deny: [],
    exec: {
      sandbox: 'on',
      network: false,
      timeoutSeconds: 120,
      maxTimeoutSeconds: 600,
      memoryMB: 4096,
      processes: 512,
      credentials: [],
    },
    fetch: { allow: [] },
    subagents: {
      maxSpawnDepth: 1,
      maxChildrenPerAgent: 5,
      maxPerTurn: 12,
      maxConcurrent: 8,
      archiveAfterMinutes: 60,
      tools: { deny: [] },
      memoryShareMode: 'handoff',
    },
  },
  cron: { maxConcurrent: 4 },
  http: {
    enabled: true,
    bind: '127.0.0.1',
    hosts: [],
    allowPlain: false,
    requestsPerSecond: 200,
    failuresPerMinute: 20,
  },
  webhooks: {},
  retention: { eventDays: 30 },
  notify: {},
  credentials: {},
  warnings: [],
  written: {},
  lines: {},
}

// As CONTRACTS section 3 has it, comments shortened: the reference stands bare inside braces, which YAML alone refuses.
const contract = `name: my-heddle
database: sqlite                     # or postgres://…
durability: full                     # or normal
models:
  main: { provider: anthropic, model: claude-x, apiKey: \${ANTHROPIC_API_KEY} }          # or \${secret:anthropic}
  local: { provider: openai-compatible, baseURL: "http://127.0.0.1:11434/v1", model: qwen3, contextWindow: 32768, price: { input: 0, output: 0 } }
agent: { model: main, fallbacks: [local], default: "@coordinator" }
agents: { maxConcurrent: 3, defaultTimeout: 300 }
engine: { maxRunning: 16, leaseSeconds: 10 }
scheduling: auto
plans: ask
budgets: { perRequest: { usd: 5, tokens: 2000000, steps: 200 }, perDay: { usd: 20 } }
workspace: ~/heddle-workspace
skills: [~/.claude/agents]
tools: { deny: [], ask: [write_file, edit_file, exec], exec: { network: false }, subagents: { maxSpawnDepth: 1, maxChildrenPerAgent: 5, maxConcurrent: 8, memoryShareMode: handoff } }
`

function written(text: string): string {
  const file = join(mkdtempSync(join(place, 'case-')), 'heddle.yaml')
  writeFileSync(file, text)
  return file
}

test('a file that is not there means the defaults', async () => {
  expect(await loadConfig(join(place, 'none.yaml'), {}, options)).toEqual(defaults)
})

test('an empty file, and one with comments only, mean the defaults', async () => {
  expect(await loadConfig(written(''), {}, options)).toEqual(defaults)
  expect(await loadConfig(written('# nothing yet\n'), {}, options)).toEqual(defaults)
})

test('a section whose lines are all commented out means its defaults', async () => {
  const text = 'agents:\n  # maxConcurrent: 9\nmodels:\ntools:\n  exec:\n'
  expect(await loadConfig(written(text), {}, options)).toEqual(defaults)
})

test('the example of the contract is read as it stands', async () => {
  const config = await loadConfig(written(contract), { ANTHROPIC_API_KEY: 'k-1' }, options)
  const { models, ...rest } = config
  expect(rest).toEqual({
    ...defaults,
    models: undefined,
    agent: { model: 'main', fallbacks: ['local'], default: '@coordinator', routing: 'model' },
    skills: ['/home/ada/.claude/agents'],
    tools: { ...defaults.tools, ask: ['write_file', 'edit_file', 'exec'] },
    written: { 'models.main.apiKey': '${ANTHROPIC_API_KEY}' },
    lines: expect.objectContaining({ name: 1, 'models.main.model': 5, 'agent.default': 7 }),
  })
  expect(models['main']?.apiKey?.reveal()).toBe('k-1')
  expect(models['local']).toEqual({
    provider: 'openai-compatible',
    baseURL: 'http://127.0.0.1:11434/v1',
    model: 'qwen3',
    contextWindow: 32768,
    price: { input: 0, output: 0 },
  })
})

test('one value of a section leaves the others at their defaults', async () => {
  const config = await loadConfig(written('budgets: { perRequest: { usd: 1 } }'), {}, options)
  expect(config.budgets).toEqual({ perRequest: { usd: 1, tokens: 2_000_000, steps: 200 }, perDay: { usd: 20 } })
})

test('an embedder is who the owner says it is, with a key by the rules of models', async () => {
  const text = 'memory: { embedder: { baseURL: http://127.0.0.1:11434/v1, model: nomic, apiKey: "${EMBEDDER}" } }'
  const { memory, written: as, warnings } = await loadConfig(written(text), { EMBEDDER: 'k-2' }, options)
  expect(memory).toEqual({
    ...defaults.memory,
    embedder: { baseURL: 'http://127.0.0.1:11434/v1', model: 'nomic', apiKey: expect.anything() },
  })
  expect([memory.embedder?.apiKey?.reveal(), as, warnings]).toEqual([
    'k-2',
    { 'memory.embedder.apiKey': '${EMBEDDER}' },
    [],
  ])
  const unset = await loadConfig(written(text), {}, options)
  expect(unset.warnings).toMatchObject([{ path: 'memory.embedder.apiKey', line: 1 }])
  expect(() => unset.memory.embedder?.apiKey?.reveal()).toThrow('the embedder has no key: EMBEDDER is not set')
  const secret = await loadConfig(
    written(text.replace('EMBEDDER', 'secret:vectors')),
    {},
    {
      ...options,
      secrets: (name) => (name === 'vectors' ? 'k-3' : undefined),
    },
  )
  expect(secret.memory.embedder?.apiKey?.reveal()).toBe('k-3')
})

test('without agent.model the model called main is used, else the first', async () => {
  const model = '{ provider: openai, model: gpt }'
  const chosen = async (models: string) => (await loadConfig(written(models), {}, options)).agent.model
  expect(await chosen(`models:\n  fast: ${model}\n  main: ${model}`)).toBe('main')
  expect(await chosen(`models:\n  fast: ${model}\n  slow: ${model}`)).toBe('fast')
})

test('an empty list of allowed tools is kept apart from no list', async () => {
  expect((await loadConfig(written('tools: { allow: [] }'), {}, options)).tools.allow).toEqual([])
  expect((await loadConfig(written('tools: {}'), {}, options)).tools.allow).toBeUndefined()
})

test('variables are replaced inside a text, in lists too, and only once', async () => {
  const text =
    'name: "${A}-${B}"\ndatabase: postgres://heddle:${PW}@db/heddle\nskills: ["${HOME}/skills"]\nworkspace: /w/$${A}/${ODD}\n'
  const env = { A: 'one', B: 'two', PW: 'p', HOME: '/home/bo', ODD: '${A}' }
  const config = await loadConfig(written(text), env, options)
  expect([config.name, config.database, config.skills, config.workspace]).toEqual([
    'one-two',
    'postgres://heddle:p@db/heddle',
    ['/home/bo/skills'],
    '/w/${A}/${ODD}'.replace('${ODD}', env.ODD),
  ])
})

test('a key whose variable is missing or empty leaves the configuration usable and is a warning', async () => {
  for (const env of [{}, { MY_KEY: '' }]) {
    const text = 'models:\n  main:\n    provider: openai\n    model: gpt\n    apiKey: ${MY_KEY}\n'
    const config = await loadConfig(written(text), env, options)
    expect(config.warnings).toEqual([
      {
        line: 5,
        path: 'models.main.apiKey',
        message: '`models.main.apiKey` at line 5 needs the environment variable MY_KEY, which is not set',
        remedy: 'set MY_KEY in the environment that heddle starts in',
      },
    ])
    expect(() => config.models['main']?.apiKey?.reveal()).toThrow(
      expect.objectContaining({ code: 'key_missing', remedy: 'set MY_KEY in the environment that heddle starts in' }),
    )
  }
})

test('a key may name a secret, which stays a reference', async () => {
  const config = await loadConfig(
    written('models: { main: { provider: anthropic, model: c, apiKey: ${secret:anthropic} } }'),
    {},
    options,
  )
  expect(String(config.models['main']?.apiKey)).toBe('${secret:anthropic}')
  expect(config.warnings).toHaveLength(1)
  expect(() => config.models['main']?.apiKey?.reveal()).toThrow(expect.objectContaining({ code: 'key_missing' }))
})

test('a named file that is not there, a lost link, a folder and bytes that are no text are refused', async () => {
  const lost = join(place, 'lost.yaml')
  symlinkSync(join(place, 'gone.yaml'), lost)
  const binary = join(place, 'binary.yaml')
  writeFileSync(binary, Buffer.from([0x6e, 0xff, 0xfe]))
  const failure = (file: string) => loadConfig(file, {}, options).catch(({ code, message }) => [code, message])
  await expect(assertConfigFile(join(place, 'none.yaml'))).rejects.toMatchObject({
    code: 'config_missing',
    message: `there is no file ${join(place, 'none.yaml')}`,
  })
  expect(await failure(lost)).toEqual([
    'config_unreadable',
    `cannot read ${lost}: it is a link to a file that does not exist`,
  ])
  expect(await failure(place)).toEqual(['config_unreadable', `cannot read ${place}: it is not a file`])
  expect(await failure(binary)).toEqual(['config_unreadable', `cannot read ${binary}: it is not UTF-8 text`])
})

test('the effective configuration is shown with its defaults and with references as they were written', async () => {
  const text =
    'database: postgres://heddle:${PW}@db/heddle\nmodels: { main: { provider: openai, model: gpt, apiKey: ${KEY} } }'
  const config = await loadConfig(written(text), { PW: 'hunter2', KEY: 'hunter3' }, options)
  const { warnings, written: _, credentials: __, lines: ___, ...shownDefaults } = defaults
  expect(warnings).toEqual([])
  expect(configShow(config)).toEqual({
    ...shownDefaults,
    database: 'postgres://heddle:${PW}@db/heddle',
    models: { main: { provider: 'openai', model: 'gpt', apiKey: '${KEY}' } },
    agent: { model: 'main', fallbacks: [], default: '@coordinator', routing: 'model' },
  })
})

test('one value can be asked for by its path, also under a name with a dot', async () => {
  const text = 'models: { gpt-4.1: { provider: openai, model: gpt-4.1 } }'
  const config = await loadConfig(written(text), {}, options)
  expect(configGet(config, 'agents.maxConcurrent')).toBe(3)
  expect(configGet(config, 'budgets')).toEqual(defaults.budgets)
  expect(configGet(config, 'models."gpt-4.1".model')).toBe('gpt-4.1')
  expect(configGet(config, 'models.other')).toBeUndefined()
  expect(configGet(config, 'tools.allow')).toBeUndefined()
})

test('every setting is listed with its value and the line that sets it', async () => {
  const text =
    'name: shop\nagents:\n  maxConcurrent: 5\nbudgets:\ntools: { ask: [] }\nmodels: { m: { provider: openai, model: x, apiKey: "${KEY}" } }'
  const listed = configList(await loadConfig(written(text), { KEY: 'k-3' }, options))
  const byKey = new Map(listed.map(({ key, ...rest }) => [key, rest]))
  expect(byKey.get('name')).toEqual({ value: 'shop', line: 1 })
  expect(byKey.get('agents.maxConcurrent')).toEqual({ value: 5, line: 3 })
  expect(byKey.get('agents.defaultTimeout')).toEqual({ value: 300, line: null })
  expect(byKey.get('budgets.perDay.usd')).toEqual({ value: 20, line: null })
  expect(byKey.get('tools.ask')).toEqual({ value: [], line: 5 })
  expect(byKey.get('tools.allow')).toEqual({ value: null, line: null })
  expect(byKey.get('models.m.apiKey')).toEqual({ value: '${KEY}', line: 6 })
  expect(JSON.stringify(listed)).not.toContain('k-3')
})

test('models.allow is a list beside the models, and is shown there', async () => {
  const text = 'models: { main: { provider: openai, model: m }, allow: [main] }'
  const config = await loadConfig(written(text), {}, options)
  expect(Object.keys(config.models)).toEqual(['main'])
  expect(config).toMatchObject({ allowedModels: ['main'], agent: { model: 'main' } })
  expect(configGet(config, 'models.allow')).toEqual(['main'])
  expect(configShow(config)['models']).toEqual({ allow: ['main'], main: { provider: 'openai', model: 'm' } })
  expect(configShow(config)).not.toHaveProperty('allowedModels')
})

test.each([
  ['agents.maxConcurent', 'did you mean agents.maxConcurrent?'],
  ['agnets', 'did you mean agents?'],
  ['agents.maxConcurrent.deep', 'see what there is with: heddle config show'],
  ['zzz', expect.stringContaining('keys there: name, database')],
  ['constructor', expect.stringContaining('keys there: name, database')],
  ['models.__proto__.model', 'see what there is with: heddle config show'],
])('asking for %s is a misuse that names what there is', async (path, remedy) => {
  const config = await loadConfig(written(''), {}, options)
  expect(() => configGet(config, path)).toThrow(expect.objectContaining({ code: 'config_key_unknown', remedy }))
})

test('a path with an empty part is a misuse', async () => {
  const config = await loadConfig(written(''), {}, options)
  for (const path of ['', '.', 'agents.', '.agents', 'agents..x', 'models."a'])
    expect(() => configGet(config, path)).toThrow(expect.objectContaining({ code: 'misuse' }))
})

test('credentials of commands are secrets or variables by name, a secret first, and are shown by name only', async () => {
  const env = { DEPLOY: 'from-the-environment', OTHER: 'other-value-12345' }
  const secrets = (name: string) => (name === 'DEPLOY' ? 'from-the-secrets' : undefined)
  const file = written('tools: { exec: { credentials: [DEPLOY, OTHER, MISSING] } }\n')
  const config = await loadConfig(file, env, { ...options, secrets })
  expect(Object.entries(config.credentials).map(([name, key]) => [name, key.reveal()])).toEqual([
    ['DEPLOY', 'from-the-secrets'],
    ['OTHER', 'other-value-12345'],
  ])
  expect(configGet(config, 'tools.exec.credentials')).toEqual(['DEPLOY', 'OTHER', 'MISSING'])
  expect(JSON.stringify(configShow(config))).not.toMatch(/from-the|other-value/)
  for (const name of ['PATH', 'LD_PRELOAD', 'BASH_ENV', 'a-b', ''])
    await expect(loadConfig(written(`tools: { exec: { credentials: ["${name}"] } }\n`), env, options)).rejects.toThrow()
})

test('the guide documents every key with its default, and its examples are valid', async () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/config.md'), 'utf8')
  const rows = new Map(
    Array.from(guide.matchAll(/^\| `([\w.*]+)` \| (?:`([^`]*)`|[^|]*) \|/gm), ([, key, value]) => [key, value]),
  )
  const { warnings: _, written: __, credentials: ___, lines: ____, ...settings } = defaults
  const keys = leaves(settings).filter(([path]) => path !== 'models')
  for (const [path, value] of keys) {
    const documented = parseYaml(rows.get(path) ?? '').value
    expect([path, documented]).toEqual([path, path === 'workspace' ? '~/heddle-workspace' : value])
  }
  const prices = ['price.input', 'price.output', 'price.cacheRead', 'price.cacheWrite']
  const model = [
    'provider',
    'model',
    'apiKey',
    'baseURL',
    'contextWindow',
    ...prices,
    'thinking',
    'sees',
    'timeout.idle',
    'timeout.total',
  ]
  const optional = [
    'agent.model',
    'cron.timezone',
    'http.port',
    'http.tls.cert',
    'http.tls.key',
    'webhooks.*.url',
    'webhooks.*.secret',
    ...['allowAgents', 'model'].map((key) => `agents.defaults.subagents.${key}`),
    ...['allowAgents', 'model', 'thinking', 'tools.allow'].map((key) => `tools.subagents.${key}`),
    'memory.narrator',
    'models.allow',
    'notify.command',
    'tools.allow',
    'tools.ask',
    ...['baseURL', 'model', 'apiKey'].map((key) => `memory.embedder.${key}`),
    ...model.map((key) => `models.*.${key}`),
  ]
  expect([...rows.keys()].sort()).toEqual([...keys.map(([path]) => path), ...optional].sort())
  for (const [, example] of guide.matchAll(/```yaml\n(.*?)```/gs)) {
    await loadConfig(written(example ?? ''), { ANTHROPIC_API_KEY: 'k', PGPASSWORD: 'p' }, options)
  }
})

function leaves(value: object, path: string[] = []): [string, unknown][] {
  return Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    const isSection = inner !== null && typeof inner === 'object' && !Array.isArray(inner) && key !== 'models'
    return isSection ? leaves(inner, [...path, key]) : [[[...path, key].join('.'), inner]]
  })
}
