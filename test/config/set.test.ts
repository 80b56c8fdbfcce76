// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are written this way
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { configProblems, loadConfig } from '../../src/config/config.ts'
import { configSet } from '../../src/config/set.ts'
import { configGet } from '../../src/config/show.ts'
import { homeTemplates } from '../../src/home/templates.ts'
import { systemClock } from '../../src/system.ts'

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-set-')))
afterAll(() => rmSync(place, { recursive: true, force: true }))

const env = { KEY: 'k' }

function written(text?: string): string {
  const file = join(mkdtempSync(join(place, 'case-')), 'heddle.yaml')
  if (text !== undefined) writeFileSync(file, text)
  return file
}

async function after(text: string | undefined, path: string, value: string): Promise<string> {
  const file = written(text)
  await configSet(file, path, value, { env, clock: systemClock })
  return readFileSync(file, 'utf8')
}

const arranged = `# Mine.
name:   loom            # what it is called

agents:
  # not too many
  maxConcurrent:   3    # for now
engine: { maxRunning: 16,   leaseSeconds: 10 }   # both
models:
  main: { provider: openai, model: gpt, apiKey: \${KEY} }   # bare
tools:
  # deny: [exec]
`

test('a value that is there is exchanged, and every other character stays', async () => {
  expect(await after(arranged, 'agents.maxConcurrent', '7')).toBe(
    arranged.replace('maxConcurrent:   3', 'maxConcurrent:   7'),
  )
  expect(await after(arranged, 'engine.maxRunning', '4')).toBe(arranged.replace('16', '4'))
  expect(await after(arranged, 'name', 'other')).toBe(arranged.replace('loom', 'other'))
  expect(await after(arranged, 'models.main.apiKey', 'plain')).toBe(arranged.replace('${KEY}', 'plain'))
  expect(await after(arranged, 'models.main.model', '${KEY}')).toBe(arranged.replace('gpt', '${KEY}'))
})

test('a whole section is exchanged with what was inside it, and nothing outside', async () => {
  expect(await after(arranged, 'agents', '{ maxConcurrent: 1 }')).toBe(
    arranged.replace(/maxConcurrent: {3}3 .*/, '{ maxConcurrent: 1 }'),
  )
})

test('a section that is not there comes last', async () => {
  expect(await after(arranged, 'budgets.perDay.usd', '2.5')).toBe(`${arranged}budgets:\n  perDay:\n    usd: 2.5\n`)
  expect(await after('name: a', 'plans', 'auto')).toBe('name: a\nplans: auto\n')
})

test('a key that a section lacks becomes its last line, and every other character stays', async () => {
  expect(await after(arranged, 'agents.defaultTimeout', '60')).toBe(
    arranged.replace('# for now\n', '# for now\n  defaultTimeout: 60\n'),
  )
  expect(await after('tools:\n  exec:\n    network: true # on\n# end', 'tools.subagents.maxConcurrent', '2')).toBe(
    'tools:\n  exec:\n    network: true # on\n  subagents:\n    maxConcurrent: 2\n# end',
  )
})

test('a key that a section in braces lacks is added with comments and order kept', async () => {
  const text = await after('# top\nengine: { maxRunning: 1 } # one\nname: x # two\n', 'engine.leaseSeconds', '5')
  expect(text).toBe('# top\nengine: { maxRunning: 1, leaseSeconds: 5 } # one\nname: x # two\n')
  expect(await after('models: { m: { provider: openai, model: x } }\n', 'models.m.apiKey', '${KEY}')).toBe(
    'models: { m: { provider: openai, model: x, apiKey: "${KEY}" } }\n',
  )
})

test('a section whose lines are commented out is filled, and they stay', async () => {
  const text = await after(arranged, 'tools.exec.network', 'true')
  expect(text.match(/#.*/g)).toEqual(arranged.match(/#.*/g))
  expect(text).toContain('apiKey: ${KEY}')
  expect(configGet(await loadConfig(written(text), env), 'tools.exec')).toMatchObject({ network: true })
})

test('a file that is not there is made', async () => {
  expect(await after(undefined, 'agents.maxConcurrent', '5')).toBe('agents:\n  maxConcurrent: 5\n')
})

test('the file of a new home keeps all its explanations', async () => {
  const template = homeTemplates['heddle.yaml'] ?? ''
  expect(await after(template, 'models.main', '{ provider: anthropic, model: c, apiKey: ${KEY} }')).toBe(
    `${template}models:\n  main: { provider: anthropic, model: c, apiKey: \${KEY} }\n`,
  )
})

test('what is no YAML is meant as text, and lists and braces are read as they stand', async () => {
  expect(await after('', 'agent.default', '@writer')).toBe('agent:\n  default: "@writer"\n')
  expect(await after('', 'skills', '[~/a, "/b c"]')).toBe('skills: [~/a, "/b c"]\n')
  expect(await after('', 'tools.ask', '[]')).toBe('tools:\n  ask: []\n')
  expect(await after('', 'name', "'12'")).toBe("name: '12'\n")
  expect(await after('engine: { maxRunning: 1 }\nname: x\n', 'name', 'a # b')).toBe(
    'engine: { maxRunning: 1 }\nname: a # b\n',
  )
})

test('setting what is set already changes nothing', async () => {
  expect(await after(arranged, 'agents.maxConcurrent', '3')).toBe(arranged)
})

test('a shared value is not changed behind the back of the other place that uses it', async () => {
  const text = 'agents: { maxConcurrent: &many 4 }\nengine: { maxRunning: *many }\n'
  const file = written(text)
  await configSet(file, 'agents.maxConcurrent', '9', { env, clock: systemClock }).catch(({ code }) =>
    expect(code).toBe('config_unwritable'),
  )
  expect((await loadConfig(file, env)).engine.maxRunning).toBe(4)
  await configSet(file, 'engine.maxRunning', '8', { env, clock: systemClock })
  expect((await loadConfig(file, env)).engine.maxRunning).toBe(8)
  expect(readFileSync(file, 'utf8')).toContain('&many')
})

test.each([
  ['agents.maxConcurrent', 'many', 'config_invalid'],
  ['agents.maxConcurrent', '[1', 'config_invalid'],
  ['agents', '3', 'config_invalid'],
  ['agents', '{ maxConcurent: 3 }', 'config_invalid'],
  ['agent.model', 'absent', 'config_invalid'],
  ['name', '${NOT_SET}', 'config_invalid'],
  ['name', '7', 'config_invalid'],
  ['agents', '{ __proto__: 1 }', 'config_invalid'],
  ['agents.maxConcurrent', '', 'misuse'],
  ['agents.maxConcurent', '3', 'config_key_unknown'],
  ['__proto__.polluted', '3', 'config_key_unknown'],
  ['models.constructor.model', '3', 'config_key_unknown'],
])('setting %s to %j is refused and the file stays as it is', async (path, value, code) => {
  const file = written(arranged)
  await expect(configSet(file, path, value, { env, clock: systemClock })).rejects.toMatchObject({ code })
  expect(readFileSync(file, 'utf8')).toBe(arranged)
})

test('a file that is broken already is not made worse', async () => {
  const broken = 'agents: [\n'
  const file = written(broken)
  await expect(configSet(file, 'name', 'x', { env, clock: systemClock })).rejects.toMatchObject({
    code: 'config_invalid',
  })
  expect(readFileSync(file, 'utf8')).toBe(broken)
})

test('any edits leave a valid file with the last good value of each key and all comments', async () => {
  const integer = fc.oneof(fc.integer({ min: -2, max: 50 }).map(String), fc.constantFrom('x', '1.5', '0x10', '[]', '{'))
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom('${KEY}', 'a: b', '"q"', '@x', '#', '- a', '{ a: 1 }', '| x', 'x, y'),
  )
  const edit = fc.oneof(
    fc.tuple(fc.constantFrom('agents.maxConcurrent', 'engine.maxRunning', 'tools.subagents.maxConcurrent'), integer),
    fc.tuple(fc.constantFrom('name', 'models.main.model', 'models."a.b".model', 'models.main.apiKey'), word),
    fc.tuple(
      fc.constant('tools.deny'),
      fc.array(word).map((words) => JSON.stringify(words)),
    ),
    fc.tuple(fc.constantFrom('plans', 'durability', 'budgets'), fc.constantFrom('auto', 'normal', '{}', '[a]')),
    fc.tuple(fc.string(), fc.string()),
  )
  const start = fc.constantFrom(
    arranged,
    '',
    '\ufeffname: x # bom\r\nagents:\r\n  maxConcurrent: 2 # crlf\r\n',
    '{ name: x, agents: { maxConcurrent: 2 } } # all in braces',
    homeTemplates['heddle.yaml'] ?? '',
    'models:\n  main: { provider: openai, model: "a" } # c\n  a.b:\n    provider: openai\n    model: >-\n      folded\n      text\n',
    'tools:\n  subagents: # none yet\n# out here\n  # in there\nagents:\n    maxConcurrent: 2\n    # after\n\nname: x',
  )
  await fc.assert(
    fc.asyncProperty(start, fc.array(edit, { minLength: 1, maxLength: 8 }), async (text, edits) => {
      const file = written(text)
      const comments = text.match(/#.*/g) ?? []
      for (const [path, value] of edits) {
        const before = readFileSync(file, 'utf8')
        const old = await loadConfig(file, env)
        const accepted = await configSet(file, path, value, { env, clock: systemClock }).then(
          () => true,
          (error) => expect(error).toHaveProperty('remedy') ?? false,
        )
        const now = readFileSync(file, 'utf8')
        expect(configProblems(now, env)).toEqual([])
        if (!accepted) expect(now).toBe(before)
        else expect(without(await loadConfig(file, env), path)).toEqual(without(old, path))
        for (const comment of comments) expect(now).toContain(comment.trimEnd())
      }
    }),
    { numRuns: 100 },
  )
}, 120_000)

/** The configuration apart from what a path may change: the agent's model follows the first model. */
function without(config: object, path: string): unknown {
  const copy = JSON.parse(
    JSON.stringify(config, (key, value) => (['written', 'warnings', 'lines'].includes(key) ? undefined : value)),
  )
  const [head = ''] = path.split('.')
  return { ...copy, [head]: undefined, ...(head === 'models' ? { agent: undefined } : {}) }
}
