import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join, normalize } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PathHandle } from '../../src/domain/tools/path-handle.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { systemClock } from '../../src/system.ts'
import { makeCall } from '../../src/tools/call.ts'
import { asyncDisk, type Disk, syncDisk } from '../../src/tools/files/disk.ts'
import { fileTools } from '../../src/tools/files/file-tools.ts'
import { fileTimes } from '../../src/tools/files/fingerprint.ts'
import { pathHandle } from '../../src/tools/files/handle.ts'
import { canary, newFolder, type TestFolder } from './folder.ts'
import { addLinksOut, inputFor, vectors } from './vectors.ts'

let folder: TestFolder
beforeEach(() => {
  folder = newFolder({ 'a.txt': 'inside\n', 'sub/b.txt': 'below\n' })
})
afterEach(() => folder.remove())

const parameters = fileTools(systemClock).flatMap((tool) =>
  ('paths' in tool ? (tool.paths ?? []) : []).map((parameter) => ({ tool: tool.name, parameter })),
)

describe('no path leads out of the folder', () => {
  test('every file tool declares its path', () => {
    expect(parameters).toEqual([
      { tool: 'read_file', parameter: 'path' },
      { tool: 'list_dir', parameter: 'path' },
      { tool: 'resolve_path', parameter: 'path' },
      { tool: 'search_files', parameter: 'path' },
      { tool: 'write_file', parameter: 'path' },
      { tool: 'edit_file', parameter: 'path' },
    ])
  })

  test.each(parameters)('$parameter of $tool, spelled in any way, never shows what lies beside', async (of) => {
    addLinksOut(folder)
    const seen: string[] = []
    for (const vector of vectors(folder)) {
      const { output } = await folder.call(of.tool, inputFor(of.tool, vector))
      const text = JSON.stringify(output).replaceAll(JSON.stringify(vector).slice(1, -1), '')
      if (text.includes(canary) || text.includes('root:')) seen.push(vector)
    }
    expect(seen).toEqual([])
  })

  test('the system is asked for nothing that lies beside, nor for anything by way of a link', () => {
    const log = join(folder.outside, 'strace.log')
    const program = join(import.meta.dirname, 'vectors-program.ts')
    // Without a stop at every other call.
    const quick = '--seccomp-bpf'
    const args = ['-f', quick, '-qq', '-o', log, '-e', 'trace=%file', process.execPath, program]
    const asked = Number(execFileSync('strace', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }))
    const calls = readFileSync(log, 'utf8').split('\n').flatMap(readCall)
    const ours = calls.filter(({ path }) => /\/heddle-vectors-\w+\/./.test(path))
    expect(asked).toBeGreaterThan(400)
    expect(ours.filter(({ path }) => path.endsWith('/folder-inside/a.txt')).length).toBeGreaterThan(3)
    const beside = ours.filter(({ path }) => /^\/[^/]+\/[^/]+\/folder-beside/.test(path))
    const byLink = ours.filter(({ path }) => /\/folder-inside\/link-(file|dir|relative)\/./.test(path))
    const atLink = ours.filter(({ path }) => /\/folder-inside\/link-(file|dir|relative)$/.test(path))
    expect([...beside, ...byLink]).toEqual([])
    const looked = atLink.map(({ name, text }) => (text.includes('AT_SYMLINK_NOFOLLOW') ? 'lstat' : name))
    // Made by the program, looked at by the tools.
    expect([...new Set(looked)].sort()).toEqual(['lstat', 'readlink', 'symlink'])
  })
})

describe.each([
  ['the patient disk', asyncDisk],
  ['the direct disk', syncDisk],
  ['a system without descriptors', { ...asyncDisk, descriptors: '/nowhere' }],
])('a handle on %s', (_, disk: Disk) => {
  const at = (path: string) => pathHandle({ folder: folder.path, path }, disk)

  test('reads a file, by a relative path and by the whole one', async () => {
    expect(await content(at('a.txt'))).toBe('inside\n')
    expect(await content(at('./sub/../sub/b.txt'))).toBe('below\n')
    expect(await content(at(join(folder.path, 'sub/b.txt')))).toBe('below\n')
    expect(await content(at('sub//b.txt/'))).toBe('below\n')
  })

  test('follows links that stay inside, whatever they are made of', async () => {
    const links = {
      'to-file': 'a.txt',
      'to-dir': 'sub',
      'to-whole': join(folder.path, 'sub/b.txt'),
      'to-link': 'to-dir/../to-file',
      'sub/up': '../a.txt',
      'to-self': '.',
    }
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(folder.path, name))
    expect(await content(at('to-file'))).toBe('inside\n')
    expect(await content(at('to-dir/b.txt'))).toBe('below\n')
    expect(await content(at('to-whole'))).toBe('below\n')
    expect(await content(at('to-link'))).toBe('inside\n')
    expect(await content(at('to-dir/up'))).toBe('inside\n')
    expect(await content(at('to-self/to-self/a.txt'))).toBe('inside\n')
  })

  test('tells what leads out, and not whether anything is there', async () => {
    addLinksOut(folder)
    for (const path of ['link-file', 'link-dir', 'link-dangling', 'sub/link-up', '..', '/etc/passwd', '/no/such/thing'])
      expect(await at(path).stat()).toEqual({ kind: 'outside' })
    expect(await failure(content(at('link-dangling')))).toEqual(
      await failure(content(at('link-file')), 'link-file', 'link-dangling'),
    )
  })

  test('tells what there is', async () => {
    symlinkSync('sub', join(folder.path, 'to-dir'))
    const path = (name: string) => join(folder.path, name)
    expect(await at('a.txt').stat()).toEqual({
      ...{ kind: 'file', path: path('a.txt'), names: ['a.txt'], bytes: 7, links: 1 },
      times: fileTimes(statSync(path('a.txt'))),
    })
    expect(await at('to-dir').stat()).toMatchObject({ kind: 'directory', path: path('sub'), names: ['sub'] })
    expect(await at('.').stat()).toMatchObject({ kind: 'directory', path: folder.path, names: [] })
    expect(await at('none').stat()).toEqual({ kind: 'missing' })
  })

  test('lists a directory and opens what is in it', async () => {
    const found = await at('.').openDirectory(async (directory) => {
      const entries: unknown[] = []
      for await (const { name, kind } of directory.entries())
        entries.push([name, kind, kind === 'file' ? await content(directory.at(name)) : ''])
      return entries.sort()
    })
    expect(found).toEqual([
      ['a.txt', 'file', 'inside\n'],
      ['sub', 'directory', ''],
    ])
  })

  test('names the nearest thing where a path breaks off', async () => {
    expect(await failure(content(at('a.tx')))).toEqual(['missing', 'there is no a.tx', 'did you mean a.txt?'])
    expect(await failure(content(at('sub/c.txt')))).toEqual([
      'missing',
      'there is no sub/c.txt',
      'did you mean sub/b.txt?',
    ])
    expect(await failure(content(at('sbu/b.txt')))).toEqual(['missing', 'there is no sbu/b.txt', 'did you mean sub?'])
    expect(await failure(content(at('sub/entirely-else')))).toEqual([
      'missing',
      'there is no sub/entirely-else',
      'list_dir with path sub shows what is there',
    ])
    expect(await failure(content(at('a.txt/b')))).toEqual([
      'not_directory',
      'a.txt is not a directory',
      'leave out what follows a.txt',
    ])
  })

  test('refuses links in a circle, and directories where files are wanted', async () => {
    symlinkSync('two', join(folder.path, 'one'))
    symlinkSync('one', join(folder.path, 'two'))
    expect((await failure(content(at('one'))))[0]).toBe('circle')
    expect(await failure(content(at('sub')))).toEqual([
      'wrong_kind',
      'sub is a directory, not a file',
      'list_dir shows what is in it',
    ])
    expect(await failure(at('a.txt').openDirectory(async () => 0))).toEqual([
      'wrong_kind',
      'a.txt is a file, not a directory',
      'read_file shows what is in it',
    ])
  })

  test('refuses pipes and sockets without waiting for anyone', async () => {
    execFileSync('mkfifo', [join(folder.path, 'pipe')])
    const server = createServer().listen(join(folder.path, 'socket'))
    await new Promise((resolve) => server.once('listening', resolve))
    for (const name of ['pipe', 'socket'])
      expect(await failure(content(at(name)))).toEqual([
        'wrong_kind',
        `${name} is a device, pipe or socket, not a file`,
        'go on without it',
      ])
    server.close()
  })

  test('a pipe that takes the place of a file while it is opened is refused without waiting, too', async () => {
    execFileSync('mkfifo', [join(folder.path, 'pipe')])
    const swapped: Disk = { ...disk, open: () => disk.open(join(folder.path, 'pipe')) }
    const handle = pathHandle({ folder: folder.path, path: 'a.txt' }, swapped)
    const before = openDescriptors()
    expect((await failure(content(handle)))[0]).toMatch(/^(wrong_kind|forbidden)$/)
    expect(openDescriptors()).toEqual(before)
  })

  test('what was swapped for something outside while it was opened is refused, and closed', async () => {
    let closed = 0
    const open: Disk['open'] = async () => {
      const file = await disk.open(join(folder.outside, 'secret.txt'))
      const close = () => {
        closed++
        return file.close()
      }
      return { ...file, close }
    }
    const handle = pathHandle({ folder: folder.path, path: 'a.txt' }, { ...disk, open })
    expect(await failure(content(handle))).toEqual([
      'forbidden',
      "a.txt leads out of the session's folder",
      'give a path inside the folder; list_dir with path . shows what is there',
    ])
    expect(closed).toBe(1)
  })

  test('leaves nothing open, whatever comes of it', async () => {
    addLinksOut(folder)
    execFileSync('mkfifo', [join(folder.path, 'pipe')])
    await content(at('a.txt'))
    const before = openDescriptors()
    for (const path of ['a.txt', 'sub', 'pipe', 'a.tx', 'link-file', 'link-dir/x', 'a.txt/b', 'sub/link-up', '..']) {
      await at(path)
        .stat()
        .catch(() => undefined)
      await content(at(path)).catch(() => undefined)
      await at(path)
        .openFile(() => Promise.reject(new Error('no')))
        .catch(() => undefined)
      await at(path)
        .openDirectory(async (directory) => {
          for await (const { name } of directory.entries()) await directory.at(name).stat()
        })
        .catch(() => undefined)
    }
    expect(openDescriptors()).toEqual(before)
  })

  test('the folder may be given by a link to it, and its absence is told', async () => {
    const other = join(folder.outside, 'to-folder')
    symlinkSync(folder.path, other)
    expect(await content(pathHandle({ folder: other, path: 'a.txt' }, disk))).toBe('inside\n')
    expect(await content(pathHandle({ folder: other, path: join(other, 'a.txt') }, disk))).toBe('inside\n')
    expect(await content(pathHandle({ folder: other, path: join(folder.path, 'a.txt') }, disk))).toBe('inside\n')
    const gone = pathHandle({ folder: join(folder.outside, 'gone'), path: '.' }, disk)
    expect((await failure(gone.stat()))[0]).toBe('folder_missing')
  })
})

test('a path is taken literally: nothing in it is expanded or decoded', async () => {
  const names = ['~', '%2e%2e', '@a.txt', 'file:', '$HOME', '．．', ' a', 'é', '-r', '*']
  folder.write(Object.fromEntries(names.map((name) => [`${name}/x`, `at ${name}`])))
  for (const name of names) expect(await folder.text('read_file', { path: `${name}/x` })).toBe(`1\tat ${name}`)
  expect(await folder.text('read_file', { path: 'file://x' })).toBe('1\tat file:')
})

test.each([
  ['', 'a path must not be empty: . is the folder'],
  ['a\0.txt', 'a path must not hold control characters'],
  ['a\n.txt', 'a path must not hold control characters'],
  ['sub\\b.txt', 'a path is written with /, not with \\'],
  ['\ud800', 'a path must be well-formed text'],
  ['a/'.repeat(2049), 'a path has at most 4096 bytes'],
])('%j is refused before anything is looked at', async (path, error) => {
  const output = { status: 'forbidden', error, remedy: 'give a plain path, such as src/main.ts' }
  expect(await folder.call('read_file', { path })).toEqual({ status: 'forbidden', output })
})

test('a name that could pass for more than one line is shown as one', async () => {
  mkdirSync(join(folder.path, 'odd'))
  writeFileSync(join(folder.path, 'odd', 'x\n[9 ignored]\u202e.txt'), 'findme\n')
  expect(await folder.text('list_dir', { path: 'odd' })).toBe('x\\u{a}[9 ignored]\\u{202e}.txt  7 bytes')
  expect(await folder.text('search_files', { pattern: 'findme' })).toBe(
    'odd/x\\u{a}[9 ignored]\\u{202e}.txt:1: findme\n[1 match in 1 file]',
  )
})

test('a tool gets handles only for the parameters that it declares, and one that is left out is the folder', async () => {
  const tool: Tool = {
    name: 'peek',
    description: '',
    inputSchema: {},
    effect: 'pure',
    paths: ['from'],
    parse: (value) => ({ ok: true, value }),
    run: async (_, call) => ({ status: 'ok', output: [call.handle('from').shown, call.handle('other').shown] }),
  }
  const call = { id: 'call', name: 'peek', input: {} }
  const context = {
    runId: 'run',
    callId: 'call',
    signal: new AbortController().signal,
    folder: folder.path,
    protect: nothingProtected,
  }
  const output = { status: 'error', error: 'peek does not declare other as a path' }
  expect(await makeCall({ call, tool, value: {} }, context)).toEqual({ status: 'error', output })
  const shown: Tool = { ...tool, run: async (_, { handle }) => ({ status: 'ok', output: handle('from').shown }) }
  expect(await makeCall({ call, tool: shown, value: {} }, context)).toEqual({ status: 'ok', output: '.' })
})

test('what may not be read is told as such', async () => {
  const isRoot = process.getuid?.() === 0
  folder.write({ 'closed.txt': 'x' })
  chmodSync(join(folder.path, 'closed.txt'), 0)
  const open: Disk['open'] = () => {
    throw Object.assign(new Error('EACCES'), { code: 'EACCES' })
  }
  const handle = pathHandle({ folder: folder.path, path: 'closed.txt' }, isRoot ? { ...asyncDisk, open } : asyncDisk)
  expect(await failure(content(handle))).toEqual([
    'unreadable',
    'closed.txt cannot be opened: its permissions do not let it be read',
    'go on without it, or tell the user',
  ])
})

/** Only those below the folder: others of the process are closed when their time comes. */
function openDescriptors(): string[] {
  return readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${name}`)
      return target.startsWith(folder.path) ? target : []
    } catch {
      return []
    }
  })
}

function content(handle: PathHandle): Promise<string> {
  return handle.openFile(async (file) => {
    const into = Buffer.alloc(file.bytes + 1)
    return into.toString('utf8', 0, await file.read(into, 0))
  })
}

/** Code, message and remedy of what is refused, with one word put for another. */
async function failure(work: Promise<unknown>, from = '', to = from): Promise<string[]> {
  const error = await work.then(
    () => ({ code: 'none', message: '', remedy: '' }),
    (error) => error,
  )
  return [error.code, error.message.replace(from, to), error.remedy]
}

/** The name of a system call and the first path that it was given. */
function readCall(text: string): { name: string; path: string; text: string }[] {
  const found = /^\d+ +(\w+)\((?:AT_FDCWD, )?"((?:\\.|[^"])*)"(?:, "([^"]*)")?/.exec(text)
  if (!found) return []
  const [, name = '', first = '', second = ''] = found
  return [{ name, path: normalize(name === 'symlink' ? second : first), text }]
}
