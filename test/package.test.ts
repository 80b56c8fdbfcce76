import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandsFor } from '../src/cli/commands.ts'
import { installPackage } from './setup/install-package.ts'
import { oldNodes } from './setup/old-nodes.ts'

const root = join(import.meta.dirname, '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const place = mkdtempSync(join(tmpdir(), 'heddle-package-'))
const project = join(place, 'project')
const installed = join(project, 'node_modules/heddle')
/** Modules that are put together in the files which `heddle status` loads; a third of them are Kysely's. */
const maxModules = 1130

afterAll(() => rmSync(place, { recursive: true, force: true }))

describe('the packed package, installed elsewhere', () => {
  beforeAll(() => {
    installPackage(place)
    mkdirSync(join(project, 'node_modules/.bin'))
    symlinkSync('../heddle/bin/heddle', join(project, 'node_modules/.bin/heddle'))
  }, 300_000)

  test('holds the built program and no sources or tests', () => {
    const all = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    const files = all.filter((path) => !path.startsWith('node_modules/'))
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'bin/heddle', 'dist/cli/main.js', 'dist/index.d.ts']))
    expect(files.filter((path) => /^(src|test)\b|(?<!\.d)\.ts$/.test(path))).toEqual([])
  })

  // What a project installs beside it is the project's: its agents may write there.
  test('brings all that it runs along, in few files, so that nothing beside it in node_modules is its own', () => {
    expect(readdirSync(join(project, 'node_modules'))).toEqual(['.bin', 'heddle'])
    const most = { status: 7, ask: 7 }
    for (const [command, files] of [
      ['status', loadedBy('status')],
      ['ask', loadedBy('ask', 'hello')],
    ] as const) {
      expect(files.length, files.join('\n')).toBeLessThanOrEqual(most[command])
      const own = ['bin', 'dist'].map((part) => join(realpathSync(installed), part))
      expect(files.filter((file) => !own.some((part) => file.startsWith(`${part}/`)))).toEqual([])
    }
  })

  test('loads neither the driver of a server nor the routes of a daemon where there is none', () => {
    const sources = loadedBy('status').flatMap(sourcesOf)
    expect(sources.filter((source) => /node_modules\/pg\/|src\/gateway\/routes\/runs\.ts/.test(source))).toEqual([])
    expect(sources.length).toBeLessThanOrEqual(maxModules)
  })

  test('is written in plain letters, of which Node keeps each in one byte', () => {
    const sources = loadedBy('status').filter((file) => file.startsWith(join(realpathSync(installed), 'dist')))
    expect(sources.filter((file) => /[^\0-\x7f]/.test(readFileSync(file, 'utf8')))).toEqual([])
    expect(sources).not.toEqual([])
  })

  test('can load every command', async () => {
    const names = await commandNames()
    const program = `const { main } = await import('${installed}/dist/cli/main.js')
      for (const name of ${JSON.stringify(names)}) {
        const code = await main([name, '--help'], process.env)
        if (code !== 0) console.error(name, code)
      }`
    const { stdout, stderr } = run([process.execPath, '--input-type=module', '--eval', program])
    expect(stderr).toBe('')
    expect(stdout.match(/^Usage: /gm)).toHaveLength(names.length)
  })

  test('holds every file that the sources keep beside their code', () => {
    const beside = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts'))
      .map((entry) => join(entry.parentPath, entry.name).replace(join(root, 'src'), join(installed, 'dist')))
    expect(beside.filter((path) => !existsSync(path))).toEqual([])
  })

  test('brings its agents along and finds them', () => {
    const asked = [join(installed, 'bin/heddle'), '--home', join(place, 'home'), 'agents', '--json']
    const { agents } = JSON.parse(run([process.execPath, ...asked]).stdout) as { agents: Record<string, unknown>[] }
    expect(agents).toHaveLength(6)
    expect(agents).toContainEqual(expect.objectContaining({ name: 'coder', source: 'built-in', status: 'ready' }))
  })

  test('runs on Node 24, also through the link that npm makes', () => {
    const answer = { code: 0, stdout: `${manifest.version}\n`, stderr: '' }
    expect(run([process.execPath, join(installed, 'bin/heddle'), '--version'])).toEqual(answer)
    expect(run([process.execPath, join(project, 'node_modules/.bin/heddle'), '--version'])).toEqual(answer)
  })

  test.each(oldNodes(place))('on $name says in one line which command works, and ends with code 2', ({ command }) => {
    const { code, stdout, stderr } = run([...command, join(installed, 'bin/heddle'), '--version'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^heddle needs Node 24, this is v\S+: run npx -p node@24 -p heddle heddle\n$/)
  })

  test.each(['heddle', 'heddle/testing'])(
    '%s can be imported, and offers nothing that is not a public name',
    (name) => {
      const program = `console.log(JSON.stringify(Object.keys(await import('${name}'))))`
      const { stdout, stderr } = run([process.execPath, '--input-type=module', '--eval', program])
      expect(stderr).toBe('')
      expect(publicNames(name)).toEqual(expect.arrayContaining(JSON.parse(stdout)))
    },
  )

  test('gives its types to a program that is compiled against it', () => {
    const importing = (name: string) => `import type { ${publicNames(name).join(', ')} } from '${name}'`
    const wrong = "// @ts-expect-error: there is no such name\nimport type { noSuchName } from 'heddle'"
    writeFileSync(join(project, 'index.ts'), importing('heddle'))
    writeFileSync(join(project, 'testing.ts'), importing('heddle/testing'))
    writeFileSync(join(project, 'wrong.ts'), wrong)
    const compilerOptions = { module: 'nodenext', strict: true, noEmit: true, skipLibCheck: true, types: [] }
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    const tsc = join(root, 'node_modules/.bin/tsc')
    expect(run([process.execPath, tsc, '-p', project])).toEqual({ code: 0, stdout: '', stderr: '' })
  })
})

async function commandNames(): Promise<string[]> {
  const program = new Command('heddle')
  for (const register of await commandsFor([])) register(program, () => async () => undefined)
  return program.commands.map((command) => command.name())
}

/** The modules that a file was put together from. */
function sourcesOf(file: string): string[] {
  const map = `${file}.map`
  return existsSync(map) ? (JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] }).sources : []
}

/** The files of a command that works without a daemon. */
function loadedBy(...words: string[]): string[] {
  const hooks = `import { registerHooks } from 'node:module'
    import { writeFileSync } from 'node:fs'
    const seen = new Set()
    registerHooks({ load: (url, context, next) => (seen.add(url), next(url, context)) })
    process.on('exit', () => writeFileSync(process.env.LOADED, JSON.stringify([...seen])))`
  writeFileSync(join(place, 'hooks.mjs'), hooks)
  const list = join(place, 'loaded.json')
  const started = [process.execPath, '--import', join(place, 'hooks.mjs'), join(installed, 'bin/heddle'), ...words]
  const { code, stderr } = run(started, { LOADED: list })
  expect(code, stderr).toBe(0)
  const urls = (JSON.parse(readFileSync(list, 'utf8')) as string[]).filter((url) => url.startsWith('file:'))
  return urls.map((url) => fileURLToPath(url))
}

function publicNames(module: string): string[] {
  const door = module === 'heddle' ? 'index: ' : 'testing: '
  const lines = readFileSync(join(root, 'test/public-names.txt'), 'utf8').split('\n')
  return lines.filter((line) => line.startsWith(door)).map((line) => line.slice(door.length))
}

function run([program = '', ...args]: string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: existsSync(project) ? project : place,
    encoding: 'utf8',
    timeout: 100_000,
    env: { PATH: process.env['PATH'], HOME: place, HEDDLE_HOME: join(place, 'home'), ...env },
  })
  return { code: status, stdout, stderr }
}
