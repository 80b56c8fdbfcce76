import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { configProblems, loadConfig } from '../../src/config/config.ts'
import { keysAt } from '../../src/config/schema.ts'
import { configShow } from '../../src/config/show.ts'
import { parseYaml } from '../../src/config/yaml.ts'
import { ensureHome, homePaths, resolveHome } from '../../src/home/home.ts'
import { homeTemplates } from '../../src/home/templates.ts'
import { asNobody } from '../setup/as-nobody.ts'

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-home-')))
// Other users take part in a test below and must be able to pass.
chmodSync(place, 0o755)
afterAll(() => rmSync(place, { recursive: true, force: true }))

const root = join(import.meta.dirname, '../..')
const fresh = () => mkdtempSync(join(place, 'case-'))
const folders = ['', 'memory', 'skills', 'run', 'backups']
const files = ['heddle.yaml', 'SOUL.md', 'USER.md', 'TOOLS.md', 'IDENTITY.md', 'AGENTS.md', 'memory/MEMORY.md']
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe('the home is chosen', () => {
  const [userHome, cwd] = ['/home/ada', '/home/ada/work']

  test('by the flag, else by HEDDLE_HOME, else it is ~/.heddle', () => {
    const env = { HEDDLE_HOME: '/srv/heddle' }
    expect(resolveHome({ flag: '/opt/h', env, userHome, cwd })).toBe('/opt/h')
    expect(resolveHome({ env, userHome, cwd })).toBe('/srv/heddle')
    expect(resolveHome({ env: {}, userHome, cwd })).toBe('/home/ada/.heddle')
    expect(resolveHome({ env: { HEDDLE_HOME: '' }, userHome, cwd })).toBe('/home/ada/.heddle')
  })

  test('as a whole path with ~ written out', () => {
    expect(resolveHome({ flag: '~/work/heddle/', env: {}, userHome, cwd })).toBe('/home/ada/work/heddle')
    expect(resolveHome({ flag: 'here/../there', env: {}, userHome, cwd })).toBe('/home/ada/work/there')
  })

  test.each(['', '  ', '/', '~bob/heddle', 'a\0b'])('and %j is refused with what to write instead', (flag) => {
    expect(() => resolveHome({ flag, env: {}, userHome, cwd })).toThrow(
      expect.objectContaining({ code: 'misuse', remedy: expect.stringContaining('--home') }),
    )
  })

  test('and a file is refused', () => {
    const file = join(fresh(), 'file')
    writeFileSync(file, 'x')
    expect(() => resolveHome({ env: { HEDDLE_HOME: file }, userHome, cwd })).toThrow(
      expect.objectContaining({ message: `${file} is a file, and HEDDLE_HOME must be a folder` }),
    )
  })
})

test('the paths of a home are in one place', () => {
  expect(homePaths('/h')).toEqual({
    home: '/h',
    id: '/h/home-id',
    config: '/h/heddle.yaml',
    database: '/h/heddle.db',
    backups: '/h/backups',
    run: '/h/run',
    upLog: '/h/run/up.log',
    guards: '/h/run/guards',
    sandboxProof: '/h/run/sandbox-proof',
    knownDatabases: '/h/known-databases',
    skills: '/h/skills',
    memory: '/h/memory',
    secrets: '/h/secrets',
    previousConfigs: '/h/backups/config',
  })
})

describe('a home is made', () => {
  test('with all its folders and files, its missing parents too, for the owner only (F26)', async () => {
    for (const umask of [0o000, 0o022, 0o277]) {
      const home = join(fresh(), 'deep', 'er', 'home')
      mkdirSync(join(home, '..'), { recursive: true })
      const before = process.umask(umask)
      const made = await ensureHome(home).finally(() => process.umask(before))
      expect(made).toEqual({ path: home, created: [...folders, ...files].map((name) => join(home, name)), kept: [] })
      for (const name of folders) expect([name, mode(join(home, name))]).toEqual([name, '700'])
      for (const name of files) expect([name, mode(join(home, name))]).toEqual([name, '600'])
      expect(readdirSync(home, { recursive: true }).sort()).toEqual([...folders.slice(1), ...files].sort())
    }
    const deep = join(fresh(), 'no', 'such', 'parent')
    expect((await ensureHome(deep)).created).toContain(deep)
  })

  test('once: the second time everything is kept', async () => {
    const home = join(fresh(), 'home')
    const { created } = await ensureHome(home)
    expect(await ensureHome(home)).toEqual({ path: home, created: [], kept: created })
  })

  test('around what is there, which keeps its content, mode and time (F28)', async () => {
    const home = fresh()
    chmodSync(home, 0o755)
    const mine = join(home, 'SOUL.md')
    writeFileSync(mine, 'mine', { mode: 0o644 })
    utimesSync(mine, 1000, 1000)
    symlinkSync(join(home, 'nowhere'), join(home, 'USER.md'))
    const before = statSync(mine)
    const { created, kept } = await ensureHome(home)
    const after = statSync(mine)
    expect([after.ino, after.mode, after.mtimeMs]).toEqual([before.ino, before.mode, before.mtimeMs])
    expect(readFileSync(mine, 'utf8')).toBe('mine')
    expect(lstatSync(join(home, 'USER.md')).isSymbolicLink()).toBe(true)
    expect(mode(home)).toBe('755')
    expect(kept.map((path) => relative(home, path))).toEqual(['', 'SOUL.md', 'USER.md'])
    expect(created).toHaveLength(folders.length + files.length - 3)
  })

  test('again where a file was lost (F28)', async () => {
    const home = join(fresh(), 'home')
    await ensureHome(home)
    rmSync(join(home, 'AGENTS.md'))
    rmSync(join(home, 'memory'), { recursive: true })
    const { created } = await ensureHome(home)
    expect(created.map((path) => relative(home, path)).sort()).toEqual(['AGENTS.md', 'memory', 'memory/MEMORY.md'])
    expect(readFileSync(join(home, 'AGENTS.md'), 'utf8')).toBe(homeTemplates['AGENTS.md'])
  })

  test('behind a link to a folder', async () => {
    const folder = fresh()
    const home = join(fresh(), 'link')
    symlinkSync(folder, home)
    expect((await ensureHome(home)).kept).toEqual([home])
    expect(readdirSync(folder)).toContain('heddle.yaml')
  })

  test.each([
    ['a file where a folder should be', (home: string) => writeFileSync(join(home, 'skills'), 'x'), 'is not a folder'],
    ['a link to nowhere', (home: string) => symlinkSync('/no/where', join(home, 'run')), 'is a link to a folder that'],
  ])('not over %s, which is named with what to do', async (_, spoil, message) => {
    const home = fresh()
    spoil(home)
    await expect(ensureHome(home)).rejects.toMatchObject({
      code: 'home_unusable',
      message: expect.stringContaining(message),
      remedy: expect.stringContaining('move'),
    })
  })

  test('not below a file', async () => {
    const file = join(fresh(), 'file')
    writeFileSync(file, 'x')
    await expect(ensureHome(join(file, 'home'))).rejects.toMatchObject({
      code: 'home_unusable',
      message: expect.stringContaining('there is a file where a folder should be'),
    })
  })
})

const healer = join(place, 'healer.mjs')
const homeModule = join(root, 'src/home/home.ts')
writeFileSync(
  healer,
  `import { readFileSync } from 'node:fs'
const { ensureHome } = await import(process.argv[3])
console.log('ready')
await new Promise((resolve) => process.stdin.once('data', resolve))
const answer = await ensureHome(process.argv[2]).then(
  ({ created, kept }) => ({ created, texts: [...created, ...kept].map((path) => { try { return readFileSync(path, 'utf8').length } catch { return -1 } }) }),
  ({ code, message, remedy }) => ({ code, message, remedy }),
)
console.log(JSON.stringify(answer))
process.exit(0)
`,
  { mode: 0o644 },
)

test('processes that heal one home at once make each thing once, and none sees half a file', async () => {
  for (let round = 0; round < 3; round++) {
    const home = join(fresh(), 'home')
    const children = Array.from({ length: 4 }, () =>
      spawn(join(root, 'node_modules/.bin/node'), [healer, home, homeModule], { stdio: ['pipe', 'pipe', 'inherit'] }),
    )
    const outputs = children.map(({ stdout }) => createInterface({ input: stdout })[Symbol.asyncIterator]())
    for (const output of outputs) expect((await output.next()).value).toBe('ready')
    for (const { stdin } of children) stdin.write('go\n')
    const answers = await Promise.all(outputs.map(async (output) => JSON.parse((await output.next()).value ?? '')))
    const all = [...folders, ...files].map((name) => join(home, name)).sort()
    expect(answers.flatMap(({ created }) => created).sort()).toEqual(all)
    for (const { texts } of answers) {
      expect(texts.filter((length: number) => length >= 0)).toHaveLength(files.length)
      expect(texts).not.toContain(0)
    }
    for (const name of files) expect(readFileSync(join(home, name), 'utf8')).toBe(homeTemplates[name])
    expect(readdirSync(home, { recursive: true }).sort()).toEqual([...folders.slice(1), ...files].sort())
  }
})

describe('a home that cannot be written', () => {
  // Root may write everywhere, so the attempt is made by somebody else.
  async function healAsNobody(home: string): Promise<Record<string, unknown>> {
    const child = spawn(...asNobody(healer, home, homeModule), { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/' })
    child.stdin.write('go\n')
    const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
    return JSON.parse(output.split('\n')[1] ?? '')
  }

  test('is an error with its remedy when something is missing', async () => {
    const home = fresh()
    chmodSync(home, 0o555)
    expect(await healAsNobody(home)).toEqual({
      code: 'home_unusable',
      message: `cannot create ${home}: permission is denied`,
      remedy: 'make the folder writable for this user, or choose another home with --home DIR',
    })
    chmodSync(home, 0o755)
  })

  test('is fine when nothing is missing', async () => {
    const home = join(fresh(), 'home')
    await ensureHome(home)
    chmodSync(join(home, '..'), 0o555)
    for (const name of folders) chmodSync(join(home, name), 0o555)
    expect(await healAsNobody(home)).toMatchObject({ created: [] })
    for (const name of folders) chmodSync(join(home, name), 0o755)
  })
})

describe('the example configuration', () => {
  const template = homeTemplates['heddle.yaml'] ?? ''
  const switchedOn = template.replaceAll(/^#(?=[a-z]| {2})/gm, '')
  const env = { ANTHROPIC_API_KEY: 'k' }

  test('is valid as it stands and means the defaults', async () => {
    const home = join(fresh(), 'home')
    await ensureHome(home)
    expect(await loadConfig(homePaths(home).config, {})).toEqual(await loadConfig(join(home, 'none.yaml'), {}))
  })

  test('is valid with every line switched on, and shows the defaults apart from the models', async () => {
    expect(configProblems(switchedOn, env)).toEqual([])
    const file = join(fresh(), 'heddle.yaml')
    writeFileSync(file, switchedOn)
    const shown = configShow(await loadConfig(file, env))
    const defaults = configShow(await loadConfig(join(place, 'none.yaml'), {}))
    expect({ ...shown, models: {}, agent: defaults['agent'] }).toEqual(defaults)
    expect(Object.keys(shown['models'] as object)).toEqual(['main', 'local'])
  })

  test('has every key that there is', () => {
    const value = parseYaml(
      switchedOn.replaceAll(/^( +)#(?=[A-Za-z]+:)/gm, '$1').replaceAll(/^ {2}#(?= {2}[a-z])/gm, '  '),
    ).value as { models: Record<string, object> }
    const has = (path: string[], section: object) => {
      if (path[0] === 'models') return
      expect([path, Object.keys(section).sort()]).toEqual([path, keysAt(path).sort()])
      for (const [key, inner] of Object.entries(section))
        if (keysAt([...path, key]).length > 0) has([...path, key], inner)
    }
    has([], value)
    const ofModels = Object.values(value.models).flatMap((model) => Object.keys(model))
    expect(new Set(ofModels)).toEqual(new Set(keysAt(['models', 'main'])))
  })

  test('fits a screen of 80 columns, as all texts of the home do', () => {
    for (const text of Object.values(homeTemplates)) {
      for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    }
  })
})
