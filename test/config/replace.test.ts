import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { configProblems, loadConfig } from '../../src/config/config.ts'
import { keptVersions, replaceConfig } from '../../src/config/replace.ts'
import { configSet } from '../../src/config/set.ts'
import { systemClock } from '../../src/system.ts'
import { inTurn } from '../setup/long.ts'

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-replace-')))
afterAll(() => rmSync(place, { recursive: true, force: true }))

const root = join(import.meta.dirname, '../..')
const options = { env: {}, clock: systemClock }

function written(text: string): { folder: string; file: string; read: () => string } {
  const folder = mkdtempSync(join(place, 'case-'))
  const file = join(folder, 'heddle.yaml')
  writeFileSync(file, text)
  return { folder, file, read: () => readFileSync(file, 'utf8') }
}

/** Names in the folder besides the file and its earlier versions: what a change left lying about. */
const leftovers = (folder: string) => readdirSync(folder).filter((name) => name !== 'heddle.yaml' && name !== 'backups')

const setter = join(place, 'setter.mjs')
writeFileSync(
  setter,
  `import { configSet } from ${JSON.stringify(join(root, 'src/config/set.ts'))}
import { systemClock as clock } from ${JSON.stringify(join(root, 'src/system.ts'))}
const [file, path, first, last, diesAt] = process.argv.slice(2)
const crash = (point) => { if (point === diesAt) process.kill(process.pid, 'SIGKILL') }
console.log('ready')
await new Promise((resolve) => process.stdin.once('data', resolve))
for (let value = Number(first); value <= Number(last); value++) {
  await configSet(file, path, String(value), { env: {}, clock, crash })
  console.log(value)
}
process.exit(0)
`,
)

function start(...args: string[]): ChildProcess {
  return spawn(join(root, 'node_modules/.bin/node'), [setter, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
}

async function* linesOf(child: ChildProcess): AsyncGenerator<string> {
  if (child.stdout) yield* createInterface({ input: child.stdout })
}

describe('a change replaces exactly the text that it was made for', () => {
  test('and keeps the earlier one', async () => {
    const { folder, file, read } = written('name: one\n')
    await replaceConfig(file, 'name: two\n', 'name: one\n', options)
    expect(read()).toBe('name: two\n')
    expect(readFileSync(join(folder, 'backups/config/heddle.yaml.1'), 'utf8')).toBe('name: one\n')
    expect(leftovers(folder)).toEqual([])
  })

  test('and is refused when somebody else was faster (F31)', async () => {
    const { file, read } = written('name: theirs\n')
    await expect(replaceConfig(file, 'name: mine\n', 'name: old\n', options)).rejects.toMatchObject({
      code: 'config_changed',
      retry: 'later',
    })
    expect(read()).toBe('name: theirs\n')
  })

  test('and is refused when the file came or went meanwhile', async () => {
    const { folder, file, read } = written('name: theirs\n')
    await expect(replaceConfig(file, 'name: mine\n', undefined, options)).rejects.toMatchObject({
      code: 'config_changed',
    })
    expect(read()).toBe('name: theirs\n')
    const gone = join(folder, 'gone.yaml')
    await expect(replaceConfig(gone, 'name: mine\n', 'name: old\n', options)).rejects.toMatchObject({
      code: 'config_changed',
    })
    expect(readdirSync(folder)).toEqual(['heddle.yaml'])
  })

  test('and is refused when it is not valid (F31)', async () => {
    const { folder, file, read } = written('name: one\n')
    await expect(replaceConfig(file, 'nmae: two\n', 'name: one\n', options)).rejects.toMatchObject({
      code: 'config_invalid',
    })
    expect(read()).toBe('name: one\n')
    expect(readdirSync(folder)).toEqual(['heddle.yaml'])
  })
})

test('new files are for the owner only, whatever the umask', async () => {
  const { folder, file } = written('name: one\n')
  const umask = process.umask(0o000)
  try {
    await replaceConfig(file, 'name: two\n', 'name: one\n', options)
  } finally {
    process.umask(umask)
  }
  const mode = (path: string) => (statSync(join(folder, path)).mode & 0o777).toString(8)
  expect([mode('heddle.yaml'), mode('backups/config')]).toEqual(['600', '700'])
  expect([mode('backups/config/heddle.yaml.1'), mode('backups/config/.heddle.yaml.lock')]).toEqual(['600', '600'])
})

test('a configuration that is a link stays one, and the file behind it changes', async () => {
  const { folder, file } = written('name: one\n')
  const link = join(mkdtempSync(join(place, 'home-')), 'heddle.yaml')
  symlinkSync(file, link)
  const previousConfigs = join(folder, 'elsewhere')
  await replaceConfig(link, 'name: two\n', 'name: one\n', { ...options, previousConfigs })
  expect(lstatSync(link).isSymbolicLink()).toBe(true)
  expect(readFileSync(file, 'utf8')).toBe('name: two\n')
  expect(readdirSync(previousConfigs)).toEqual(['.heddle.yaml.lock', 'heddle.yaml.1'])
})

test('the last twenty versions are kept', async () => {
  const { folder, file } = written('agents: { maxConcurrent: 1 }\n')
  for (let value = 2; value <= 26; value++) await configSet(file, 'agents.maxConcurrent', String(value), options)
  const versions = join(folder, 'backups/config')
  const numbered = readdirSync(versions).filter((name) => name.startsWith('heddle.yaml.'))
  const names = numbered.sort((a, b) => Number(a.split('.')[2]) - Number(b.split('.')[2]))
  expect(names).toHaveLength(keptVersions)
  expect([names[0], names.at(-1)]).toEqual(['heddle.yaml.6', 'heddle.yaml.25'])
  expect(readFileSync(join(versions, 'heddle.yaml.25'), 'utf8')).toBe('agents: { maxConcurrent: 25 }\n')
})

test('a folder that cannot be written is an error with its remedy, and the file stays', async () => {
  const { file, folder, read } = written('name: one\n')
  mkdirSync(join(folder, 'backups'))
  writeFileSync(join(folder, 'backups/config'), 'a file in the way')
  await expect(replaceConfig(file, 'name: two\n', 'name: one\n', options)).rejects.toMatchObject({
    code: 'config_unwritable',
    remedy: expect.stringMatching(/./),
  })
  expect(read()).toBe('name: one\n')
})

test('lines that many callers add at once are all there in the end, each of them once', async () => {
  const { folder, file, read } = written('# mine\n')
  async function add(line: string): Promise<void> {
    const oldText = read()
    await replaceConfig(file, `${oldText}${line}\n`, oldText, options).catch((error) => {
      if (error.code !== 'config_changed') throw error
      return add(line)
    })
  }
  const lines = Array.from({ length: 8 }, (_, caller) => Array.from({ length: 10 }, (_, n) => `# ${caller}-${n}`))
  await Promise.all(
    lines.map(async (own) => {
      for (const line of own) await add(line)
    }),
  )
  expect(read().trim().split('\n').sort()).toEqual(['# mine', ...lines.flat()].sort())
  expect(leftovers(folder)).toEqual([])
})

test('changes of many callers at once are all there in the end', async () => {
  const { folder, file } = written('# mine\n')
  const keys = ['agents.maxConcurrent', 'engine.maxRunning', 'tools.subagents.maxConcurrent', 'retention.eventDays']
  await Promise.all(keys.map((key) => configSet(file, key, '7', options)))
  const { agents, engine, tools, retention } = await loadConfig(file, {})
  expect([agents.maxConcurrent, engine.maxRunning, tools.subagents.maxConcurrent, retention.eventDays]).toEqual([
    7, 7, 7, 7,
  ])
  expect(leftovers(folder)).toEqual([])
})

test('changes of four processes at once are all there in the end, each one on top of the others', async () => {
  const { folder, file, read } = written('# mine\n')
  const keys = ['agents.maxConcurrent', 'engine.maxRunning', 'tools.subagents.maxConcurrent', 'retention.eventDays']
  const children = keys.map((key) => start(file, key, '1', '15'))
  const outputs = children.map(linesOf)
  for (const output of outputs) expect((await output.next()).value).toBe('ready')
  for (const child of children) child.stdin?.write('go\n')
  const ends = children.map(async (child) => (await once(child, 'exit'))[0])
  // A reader never sees anything but a whole and valid file.
  for await (const _ of outputs[0] ?? []) expect(configProblems(read(), {})).toEqual([])
  expect(await Promise.all(ends)).toEqual([0, 0, 0, 0])
  const { agents, engine, tools, retention } = await loadConfig(file, {})
  expect([agents.maxConcurrent, engine.maxRunning, tools.subagents.maxConcurrent, retention.eventDays]).toEqual([
    15, 15, 15, 15,
  ])
  expect(leftovers(folder)).toEqual([])
})

describe('a lock that another process holds', () => {
  function held(folder: string): DatabaseSync {
    mkdirSync(join(folder, 'backups/config'), { recursive: true })
    const holder = new DatabaseSync(join(folder, 'backups/config/.heddle.yaml.lock'))
    holder.exec('BEGIN EXCLUSIVE')
    return holder
  }

  test('is waited for', async () => {
    const { folder, file, read } = written('name: one\n')
    const holder = held(folder)
    const pauses: string[] = []
    const sleep = async () => {
      pauses.push(read())
      if (pauses.length === 3) holder.close()
    }
    await replaceConfig(file, 'name: two\n', 'name: one\n', { ...options, clock: { ...systemClock, sleep } })
    expect(pauses).toEqual(['name: one\n', 'name: one\n', 'name: one\n'])
    expect(read()).toBe('name: two\n')
  })

  test('is given up after ten seconds, with a word on how to find the holder, and the file stays', async () => {
    const { folder, file, read } = written('name: one\n')
    const holder = held(folder)
    let time = 0
    const sleep = async (duration: number) => {
      time += duration
    }
    const clock = { ...systemClock, monotonic: () => time, sleep }
    await expect(replaceConfig(file, 'name: two\n', 'name: one\n', { ...options, clock })).rejects.toMatchObject({
      code: 'config_busy',
      retry: 'later',
      remedy: expect.stringContaining(`lsof ${join(folder, 'backups/config/.heddle.yaml.lock')}`),
    })
    expect([time, read()]).toEqual([10_000, 'name: one\n'])
    holder.close()
    await replaceConfig(file, 'name: two\n', 'name: one\n', options)
    expect(read()).toBe('name: two\n')
  })
})

test('a lock file that is none is an error with its remedy, and the file stays', async () => {
  const { folder, file, read } = written('name: one\n')
  mkdirSync(join(folder, 'backups/config'), { recursive: true })
  writeFileSync(join(folder, 'backups/config/.heddle.yaml.lock'), 'not a lock'.repeat(100))
  await expect(replaceConfig(file, 'name: two\n', 'name: one\n', options)).rejects.toMatchObject({
    code: 'config_unwritable',
    remedy: expect.stringContaining('move that file away'),
  })
  expect(read()).toBe('name: one\n')
})

test('what killed processes left beside the file is cleared away, and nothing else', async () => {
  const { folder, file, read } = written('name: one\n')
  const left = ['.heddle.yaml.next', '.heddle.yaml.0123456789abcdef.next', '..heddle.yaml.next.12-0.tmp']
  const others = ['.other.yaml.next', 'heddle.yaml.next', 'heddle.edit-1.yaml']
  for (const name of [...left, ...others]) writeFileSync(join(folder, name), 'name: left\n')
  await replaceConfig(file, 'name: two\n', 'name: one\n', options)
  expect(read()).toBe('name: two\n')
  expect(leftovers(folder).sort()).toEqual(others.sort())
})

describe('a process that is killed', () => {
  async function killedAt(point: string, file: string): Promise<void> {
    const child = start(file, 'agents.maxConcurrent', '9', '9', point)
    child.stdin?.write('go\n')
    const [, signal] = await once(child, 'exit')
    expect(signal).toBe('SIGKILL')
  }

  test('before the rename leaves the old file, and the next change goes through', async () => {
    const { folder, file, read } = written('name: one\n')
    await killedAt('config.before_rename', file)
    expect(read()).toBe('name: one\n')
    await configSet(file, 'name', 'two', options)
    expect(read()).toBe('name: two\n')
    expect(leftovers(folder)).toEqual([])
  })

  test('after the rename leaves the new file', async () => {
    const { file, read } = written('name: one\n')
    await killedAt('config.after_rename', file)
    expect(read()).toBe('name: one\nagents:\n  maxConcurrent: 9\n')
  })

  test('before the rename cannot undo what the owner wrote by hand since', async () => {
    const { folder, file, read } = written('name: one\n')
    await killedAt('config.before_rename', file)
    writeFileSync(file, 'name: by-hand\n')
    await configSet(file, 'plans', 'auto', options)
    expect(read()).toBe('name: by-hand\nplans: auto\n')
    writeFileSync(file, 'name: one\n')
    await configSet(file, 'plans', 'always', options)
    expect(read()).toBe('name: one\nplans: always\n')
    expect(leftovers(folder)).toEqual([])
  })

  test('at any moment leaves a whole file that is not older than what was acknowledged', async () => {
    for (const kill of inTurn([1, 2, 3, 4, 5, 6, 7, 8], 2)) {
      const { file, read } = written('# mine\nagents: { maxConcurrent: 1 } # stays\n')
      const child = start(file, 'agents.maxConcurrent', '2', '1000')
      const exit = once(child, 'exit')
      child.stdin?.write('go\n')
      let acknowledged = 1
      for await (const line of linesOf(child)) {
        if (line === 'ready') continue
        acknowledged = Number(line)
        if (acknowledged > kill) child.kill('SIGKILL')
      }
      await exit
      const config = await loadConfig(file, {})
      expect(read()).toBe(`# mine\nagents: { maxConcurrent: ${config.agents.maxConcurrent} } # stays\n`)
      expect(config.agents.maxConcurrent).toBeGreaterThanOrEqual(acknowledged)
      await configSet(file, 'agents.maxConcurrent', '5000', options)
      expect(read()).toBe('# mine\nagents: { maxConcurrent: 5000 } # stays\n')
    }
  })
})
