import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { ProtectedPlaces } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { homePaths } from '../../src/home/home.ts'
import { trustedPlaces } from '../../src/home/trusted-places.ts'
import { systemClock } from '../../src/system.ts'
import { makeCall, prepareCall } from '../../src/tools/call.ts'
import { execTool } from '../../src/tools/exec/sandbox/exec-tool.ts'
import { fileTools } from '../../src/tools/files/file-tools.ts'
import { usual } from './command-folder.ts'
import { changeFreely } from './folder.ts'

const content = 'CANARY-9d02'
/** Finds it, and not itself. */
const sought = 'CANARY-9d0[2]'
const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-protected-')))
afterAll(() => rmSync(place, { recursive: true, force: true }))

// Everything that a heddle trusts, all of it inside the folder that its agents work in.
const folder = join(place, 'folder')
const at = (...names: string[]) => join(folder, ...names)
const home = at('deep', 'home')
const runtime = at('runtime')
const files: Record<string, string> = {
  'the home': join(home, 'secrets', 'key'),
  'the configuration file': at('settings', 'my.yaml'),
  'the code cache': at('cache', 'v24', 'code'),
  'the directory of the socket': join(runtime, 'heddle', 'x', 'heddle.sock'),
  'the package': at('node_modules', 'heddle', 'dist', 'cli', 'main.js'),
  'its Node': at('node_modules', 'node', 'bin', 'node'),
  'a skill directory': at('skills', 'coder.md'),
  'the program for notices': at('bin', 'notify'),
}
const isHidden = (file: string) => /home|settings|cache|runtime/.test(inFolder(file))

let protect: ProtectedPlaces
let exec: Tool
// A new one each time: it remembers for a while which of its own files have several names.
const newExec = async () => {
  const found = await execTool(usual, { clock: systemClock, env: process.env })
  if ('obstacle' in found) throw new Error(found.obstacle.why)
  return found.tool
}

beforeEach(async () => {
  exec = await newExec()
  rmSync(folder, { recursive: true, force: true })
  for (const file of Object.values(files)) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, isHidden(file) ? content : 'code')
  }
  mkdirSync(at('node_modules', '.bin'))
  symlinkSync('../heddle/bin/heddle', at('node_modules', '.bin', 'heddle'))
  mkdirSync(at('node_modules', 'other'))
  protect = trustedPlaces({
    paths: { ...homePaths(home), config: files['the configuration file'] ?? '' },
    config: { skills: [at('skills')], notify: { command: at('bin', 'notify') } },
    env: { XDG_RUNTIME_DIR: runtime },
    program: {
      root: at('node_modules', 'heddle'),
      node: files['its Node'] ?? '',
      launcher: at('node_modules', '.bin', 'heddle'),
      codeCache: at('cache'),
    },
  })
})

async function call(name: string, input: object) {
  const tools = new Map([...fileTools(systemClock), exec].map((tool) => [tool.name, tool]))
  const ready = prepareCall({ id: 'call', name, input }, tools, [...tools.keys()])
  if ('refused' in ready) throw new Error(JSON.stringify(ready.refused))
  const signal = new AbortController().signal
  return makeCall(ready, { runId: 'run', callId: 'call', signal, folder, protect, change: changeFreely })
}

const run = async (command: string) => String((await call('exec', { command })).output)
const inFolder = (path: string) => path.slice(folder.length + 1)

describe.each(Object.entries(files))('%s, inside the folder that agents work in', (name, file) => {
  const before = isHidden(file) ? content : 'code'
  const path = inFolder(file)
  /** Other ways to the same file, made by the owner before the agent came. */
  const ways = () => {
    symlinkSync(path, at('link'))
    symlinkSync(inFolder(dirname(file)), at('linked'))
    linkSync(file, at('hard'))
    return [path, `linked/../${path}`, `./x/../${path}`, 'link', `linked/${path.split('/').at(-1)}`, 'hard', file]
  }

  test('is changed by no file tool, by whatever way', async () => {
    for (const way of ways()) {
      for (const [tool, input] of [
        ['write_file', { path: way, content: 'evil' }],
        ['edit_file', { path: way, old_text: before, new_text: 'evil' }],
      ] as const)
        await call(tool, input)
      expect(readFileSync(file, 'utf8'), way).toBe(before)
      if (way === 'hard') {
        rmSync(at('hard'))
        linkSync(file, at('hard'))
      }
    }
    await call('write_file', { path: `${inFolder(dirname(file))}/new`, content: 'evil' })
    expect(existsSync(join(dirname(file), 'new'))).toBe(
      name === 'its Node' || name === 'the configuration file' || name === 'the program for notices',
    )
  })

  if (isHidden(file))
    test('is read by no tool', async () => {
      for (const way of ways())
        for (const [tool, input] of [
          ['read_file', { path: way }],
          ['search_files', { path: way, pattern: sought }],
          ['search_files', { pattern: sought }],
          ['exec', { command: `cat '${way}'; grep -r ${sought} .` }],
        ] as const) {
          expect(JSON.stringify(await call(tool, input)), `${tool} ${way}`).not.toContain(content)
        }
    })

  test('is changed by no command: write, rename, removal, replacement, new names, links', async () => {
    ways()
    const parent = inFolder(dirname(file))
    const [top = ''] = path.split('/')
    await run(
      [...[path, 'link', 'hard', `linked/${path.split('/').at(-1)}`, file, `/proc/self/root${file}`]]
        .flatMap((way) => [`echo evil >> '${way}'`, `printf evil > '${way}'`])
        .join('\n'),
    )
    await run(`mv ${path} moved; mv ${parent} moved2; mv ${top} moved3; rm -rf ${path} ${parent} ${top}`)
    await run(`mkdir -p ${parent}; echo evil > ${path}; ln -f ${path} h2; echo evil >> h2; echo evil > ${parent}/new`)
    await run(`mkdir other; cp -a ${top} other/ ; mv -T other/${top} ${top}; ln -sfn other/${top} ${top}`)
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect(realpathSync(file)).toBe(file)
  })
})

test('only the package itself is read-only in node_modules, and a link that started it leads there again', async () => {
  expect(await run('echo x > node_modules/other/index.js; mkdir node_modules/new && echo made')).toContain('made')
  const said = await run('ln -sfn ../other/evil node_modules/.bin/heddle')
  expect(said).toContain('[heddle: node_modules/.bin/heddle was restored to its old target]')
  expect(readlinkSync(at('node_modules', '.bin', 'heddle'))).toBe('../heddle/bin/heddle')
})

test('a home that is reached by a link in the folder: the link leads there after each command', async () => {
  const elsewhere = join(place, 'elsewhere')
  mkdirSync(elsewhere, { recursive: true })
  symlinkSync(elsewhere, at('linked-home'))
  protect = { hidden: [at('linked-home')], readOnly: [at('not-there-yet')], noCommands: [] }
  await run('rm linked-home; mkdir linked-home; echo evil > linked-home/heddle.yaml; mkdir not-there-yet')
  expect(readlinkSync(at('linked-home'))).toBe(elsewhere)
  expect(existsSync(at('not-there-yet'))).toBe(false)
  expect(lstatSync(at('linked-home.untrusted')).isDirectory()).toBe(true)
})

test('in a checkout of heddle no command runs, its code is read-only, and a report beside it can be written', async () => {
  const root = at('checkout')
  for (const part of ['src', 'bin', 'node_modules']) mkdirSync(join(root, part), { recursive: true })
  protect = trustedPlaces({
    paths: homePaths(join(place, 'home')),
    config: { skills: [] },
    env: {},
    program: { root, node: process.execPath, launcher: undefined, codeCache: undefined },
  })
  const inCheckout = { protect, folder: root, runId: 'run', callId: 'call', signal: new AbortController().signal }
  const tools = new Map([...fileTools(systemClock), exec].map((tool) => [tool.name, tool]))
  const make = async (name: string, input: object) => {
    const ready = prepareCall({ id: 'call', name, input }, tools, [...tools.keys()])
    if ('refused' in ready) throw new Error(JSON.stringify(ready.refused))
    return makeCall(ready, { ...inCheckout, change: changeFreely })
  }
  expect(await make('exec', { command: 'true' })).toMatchObject({
    status: 'forbidden',
    output: {
      error: expect.stringContaining('heddle itself runs from there'),
      remedy: expect.stringContaining('clone it'),
    },
  })
  expect(await make('write_file', { path: 'src/x.ts', content: 'evil' })).toMatchObject({ status: 'forbidden' })
  expect(await make('write_file', { path: 'REPORT.md', content: 'fine' })).toMatchObject({ status: 'ok' })
  expect(await run('echo evil > checkout/src/x; echo evil > checkout/package.json')).toContain('package.json.untrusted')
  expect(existsSync(join(root, 'src', 'x'))).toBe(false)
})
