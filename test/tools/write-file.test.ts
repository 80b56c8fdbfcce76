import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { userGitOf } from '../../src/domain/tools/user-git.ts'
import { asyncDisk, type Disk, syncDisk } from '../../src/tools/files/disk.ts'
import { pathHandle } from '../../src/tools/files/handle.ts'
import { testAsRoot } from '../setup/root.ts'
import { canary, newFolder, type TestFolder } from './folder.ts'
import { addLinksOut, vectors } from './vectors.ts'

let folder: TestFolder
beforeEach(() => {
  folder = newFolder({ 'a.txt': 'inside\n', 'sub/b.txt': 'below\n' })
})
afterEach(() => folder.remove())

const at = (name: string) => join(folder.path, name)
const content = (name: string) => readFileSync(at(name), 'utf8')
const write = (path: string, text = 'new\n') => folder.call('write_file', { path, content: text })
const refusal = async (path: string) => (await write(path)).output as { status: string; error: string }
/** Everything beside the folder, as it lies there. */
const beside = () =>
  readdirSync(folder.outside, { recursive: true, encoding: 'utf8' }).map((name) => {
    const stats = lstatSync(join(folder.outside, name))
    return [name, stats.mode, stats.mtimeMs, stats.isFile() && readFileSync(join(folder.outside, name), 'utf8')]
  })
const newSha = '7aa7a5359173d05b63cfd682e3c38487f3cb4f7f1d60659fe59fab1505977d4c'

describe('write_file', () => {
  test('replaces a file, makes a new one and the directories that are missing, and tells the hash', async () => {
    expect(await write('a.txt')).toEqual({
      status: 'ok',
      output: { status: 'ok', path: 'a.txt', sha256: newSha },
      seen: [{ path: 'a.txt', sha256: newSha }],
    })
    expect(content('a.txt')).toBe('new\n')
    expect((await write('deep/er/c.txt')).status).toBe('ok')
    expect(content('deep/er/c.txt')).toBe('new\n')
    expect((await write(at('sub/./d.txt'))).output).toMatchObject({ path: 'sub/d.txt' })
    expect(readdirSync(folder.path).sort()).toEqual(['a.txt', 'deep', 'sub'])
  })

  test('a new file has the usual permissions, and one that is there keeps its own', async () => {
    chmodSync(at('a.txt'), 0o751)
    await write('a.txt')
    expect(statSync(at('a.txt')).mode & 0o7777).toBe(0o751)
    await write('new.txt')
    expect(statSync(at('new.txt')).mode & 0o7777).toBe(0o644 & ~process.umask())
    // A program that runs with its owner's rights does not do so with an agent's words.
    chmodSync(at('sub/b.txt'), 0o4755)
    await write('sub/b.txt')
    expect(statSync(at('sub/b.txt')).mode & 0o7777).toBe(0o755)
  })

  testAsRoot('keeps the owner of a file', async () => {
    execFileSync('chown', ['1234:2345', at('a.txt')])
    await write('a.txt')
    expect(statSync(at('a.txt'))).toMatchObject({ uid: 1234, gid: 2345 })
  })

  test('more than 5 MB, and half a character, are refused', async () => {
    expect((await write('a.txt', 'x'.repeat(5 * 1024 * 1024))).status).toBe('ok')
    const { output } = await write('a.txt', 'ä'.repeat(2.5 * 1024 * 1024 + 1))
    expect(output).toMatchObject({ error: expect.stringContaining('at most 5242880'), remedy: expect.any(String) })
    expect((await write('a.txt', 'half \ud800')).output).toMatchObject({ error: expect.stringContaining('incomplete') })
  })

  test('a file whose content could not be kept is not replaced', async () => {
    writeFileSync(at('huge'), Buffer.alloc(20 * 1024 * 1024 + 1))
    expect((await refusal('huge')).error).toContain('could not be kept for an undo')
    expect(statSync(at('huge')).size).toBe(20 * 1024 * 1024 + 1)
  })

  test('directories, pipes and names below a file are refused in words', async () => {
    execFileSync('mkfifo', [at('pipe')])
    expect((await refusal('sub')).error).toBe('sub is a directory, not a file')
    expect((await refusal('.')).error).toBe('. is a directory, not a file')
    expect((await refusal('pipe')).error).toBe('pipe is a device, pipe or socket, not a file')
    expect((await refusal('a.txt/below')).error).toBe('a.txt is not a directory')
    expect((await refusal('x'.repeat(300))).error).toContain('the name is too long')
    expect(readdirSync(folder.path).sort()).toEqual(['a.txt', 'pipe', 'sub'])
  })

  test('no path, spelled in any way, changes anything that lies beside', async () => {
    addLinksOut(folder)
    const before = beside()
    const place = join(folder.path, '..')
    for (const vector of vectors(folder)) {
      await write(vector)
      await folder.call('edit_file', { path: vector, old_text: canary, new_text: 'edited' })
    }
    expect(beside()).toEqual(before)
    expect(readdirSync(place).sort()).toEqual(['folder', 'folder-beside'])
    expect(existsSync(join(folder.outside, 'not-there-yet'))).toBe(false)
    expect(content('a.txt')).toBe('inside\n')
  })

  test('a link that stays inside is followed and stays a link; one that leads out is refused', async () => {
    symlinkSync('sub/b.txt', at('to-b'))
    symlinkSync('sub/not-yet/c.txt', at('to-c'))
    symlinkSync('nowhere/../a.txt', at('odd'))
    symlinkSync(join(folder.outside, 'secret.txt'), at('out'))
    symlinkSync(join(folder.outside, 'new.txt'), at('dangling'))
    expect((await write('to-b')).seen).toEqual([{ path: 'sub/b.txt', sha256: newSha }])
    expect([content('sub/b.txt'), readlinkSync(at('to-b'))]).toEqual(['new\n', 'sub/b.txt'])
    expect((await write('to-c')).status).toBe('ok')
    expect([content('sub/not-yet/c.txt'), readlinkSync(at('to-c'))]).toEqual(['new\n', 'sub/not-yet/c.txt'])
    expect((await write('odd')).status).toBe('error')
    for (const path of ['out', 'dangling', '../folder-beside/secret.txt'])
      expect(await refusal(path)).toMatchObject({ status: 'forbidden', error: expect.stringContaining('leads out') })
  })

  test('the other name of a hard link keeps the old content', async () => {
    linkSync(join(folder.outside, 'secret.txt'), at('hard'))
    expect((await write('hard')).status).toBe('ok')
    expect(content('hard')).toBe('new\n')
    expect(readFileSync(join(folder.outside, 'secret.txt'), 'utf8')).toBe(`${canary}\n`)
  })

  test('what belongs to the runtime is not written, by any way', async () => {
    folder.write({ 'off-limits/heddle.yaml': 'mine\n' })
    symlinkSync('off-limits', at('way-in'))
    for (const path of ['off-limits/heddle.yaml', 'off-limits/new', 'way-in/heddle.yaml', 'sub/../off-limits/x'])
      expect((await refusal(path)).status).toBe('forbidden')
    expect(readdirSync(at('off-limits'))).toEqual(['heddle.yaml'])
    expect(content('off-limits/heddle.yaml')).toBe('mine\n')
  })

  test('what something else would run later is not written; the rest of its directory is', async () => {
    folder.write({ '.git/config': 'c', '.git/modules/m/config': 'c', '.git/HEAD': 'h', 'x/.git/hooks/a.sample': '' })
    symlinkSync('.git/config', at('innocent'))
    symlinkSync('x/.git/hooks', at('docs'))
    const refused = [
      ...['.git/config', '.git/hooks/pre-commit', '.git/hooks/deep/er', '.git/modules/m/config', '.git/commondir'],
      ...['x/.git/hooks/post-checkout', 'innocent', 'docs/pre-push', 'y/.git', '.heddle/agents/a.md'],
      ...[
        'bare.git/config',
        'bare.git/hooks/update',
        '.GIT/config',
        '.Git/Hooks/pre-commit',
        '.g\u200cit/config',
        'z/.ｇit/config',
      ],
    ]
    for (const path of refused)
      expect([path, await refusal(path)]).toEqual([
        path,
        expect.objectContaining({ status: 'forbidden', error: expect.stringContaining('not written by agents') }),
      ])
    for (const path of ['.git/description', 'hooks/pre-commit', 'config', '.gitignore', '.github/workflows/a.yml'])
      expect([path, (await write(path)).status]).toEqual([path, 'ok'])
    expect(content('.git/config')).toBe('c')
  })

  test('neither are hooks and settings that the configuration of git names, nor a file that makes a repository', async () => {
    folder.write({ '.git/config': '[core]\n\thooksPath = .husky\n[include]\n\tpath = ../shared.gitconfig\n' })
    for (const path of ['.husky/pre-commit', 'shared.gitconfig', 'docs/HEAD'])
      expect(await refusal(path), path).toMatchObject({ status: 'forbidden' })
    expect((await write('.huskyrc')).status).toBe('ok')
    folder.write({ 'meta/gd/HEAD': 'ref: refs/heads/main', 'meta/gd/objects/x': '', 'meta/gd/refs/x': '' })
    symlinkSync('../linked', at('.git/hooks'))
    folder.write({ 'linked/pre-commit': '' })
    for (const path of ['meta/gd/config', 'meta/gd/hooks/pre-commit', 'linked/pre-commit'])
      expect(await refusal(path), path).toMatchObject({ status: 'forbidden' })
  })

  test('what a killed process left beside a file is removed, what a living one writes is not', async () => {
    folder.write({ 'sub/.heddle-1-1.tmp': 'old', 'sub/.heddle-2-2.tmp': 'young', 'sub/.heddle-x.tmp': 'theirs' })
    utimesSync(at('sub/.heddle-1-1.tmp'), new Date(1000), new Date(1000))
    utimesSync(at('sub/.heddle-x.tmp'), new Date(1000), new Date(1000))
    await write('sub/b.txt')
    expect(readdirSync(at('sub')).sort()).toEqual(['.heddle-2-2.tmp', '.heddle-x.tmp', 'b.txt'])
  })

  test('files made side by side in a directory that is missing are all there', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `fresh/dir/${n}.txt`)
    const outcomes = await Promise.all(names.map((name) => write(name)))
    expect(outcomes.filter(({ status }) => status !== 'ok')).toEqual([])
    expect(readdirSync(at('fresh/dir'))).toHaveLength(20)
  })
})

describe.each([
  ['the patient disk', asyncDisk],
  ['the direct disk', syncDisk],
  ['a system without descriptors', { ...asyncDisk, descriptors: '/nowhere' }],
])('a place on %s', (_, disk: Disk) => {
  const handle = (path: string, through = disk) => pathHandle({ folder: folder.path, path }, through)
  const become = (text: string) => async () => ({ state: { bytes: Buffer.from(text) }, answer: undefined })

  test('looks for what was left beside a file once a minute, and not at each write', async () => {
    let looks = 0
    const entries: Disk['entries'] = (path) => {
      looks++
      return disk.entries(path)
    }
    for (const path of ['sub/b.txt', 'sub/c.txt', 'sub/b.txt', 'a.txt'])
      await handle(path, { ...disk, entries }).replaceFile(become(path))
    expect(looks).toBe(2)
  })

  test('shows what is there, and becomes what is decided', async () => {
    const seen = await handle('sub/b.txt').replaceFile(async (place) => ({ state: 'removed' as const, answer: place }))
    expect(seen).toMatchObject({ folder: folder.path, names: ['sub', 'b.txt'], before: { mode: expect.any(Number) } })
    expect(seen.before?.bytes.toString()).toBe('below\n')
    expect(existsSync(at('sub/b.txt'))).toBe(false)
    const none = await handle('x/y').replaceFile(async (place) => ({ state: 'kept' as const, answer: place }))
    expect([none.names, none.before, existsSync(at('x'))]).toEqual([['x', 'y'], undefined, false])
    await handle('x/y').replaceFile(become('made'))
    expect(content('x/y')).toBe('made')
  })

  test('a change of somebody else between the look and the end is not overwritten', async () => {
    const theirs = [
      () => writeFileSync(at('a.txt'), 'theirs\n'),
      () => execFileSync('sh', ['-c', 'echo theirs > t; mv t a.txt'], { cwd: folder.path }),
      () => execFileSync('sh', ['-c', 'rm a.txt; ln -s ../folder-beside/secret.txt a.txt'], { cwd: folder.path }),
    ]
    for (const change of theirs) {
      folder.write({ 'a.txt': 'inside\n' })
      const deciding = handle('a.txt').replaceFile(async () => {
        change()
        return { state: { bytes: Buffer.from('ours') }, answer: undefined }
      })
      await expect(deciding).rejects.toMatchObject({ code: 'changed', retry: 'later' })
      expect(content('a.txt')).not.toBe('ours')
      execFileSync('rm', [at('a.txt')])
    }
    expect(readFileSync(join(folder.outside, 'secret.txt'), 'utf8')).toBe(`${canary}\n`)
    expect(readdirSync(folder.path)).toEqual(['sub'])
  })

  test('a directory that is moved out, or swapped for a link, while it is decided is not written to', async () => {
    for (const swap of ['mv sub ../folder-beside/sub', 'mv sub aside; ln -s ../folder-beside sub']) {
      folder.write({ 'sub/b.txt': 'below\n' })
      const deciding = handle('sub/b.txt').replaceFile(async () => {
        execFileSync('sh', ['-c', swap], { cwd: folder.path })
        return { state: { bytes: Buffer.from('ours') }, answer: undefined }
      })
      await expect(deciding).rejects.toMatchObject({ code: 'changed' })
      expect(spawnSync('grep', ['-rl', 'ours', '..'], { cwd: folder.path, encoding: 'utf8' }).stdout).toBe('')
      execFileSync('sh', ['-c', 'rm -rf sub aside ../folder-beside/sub'], { cwd: folder.path })
    }
  })

  test('a failing disk leaves the file as it was, and nothing beside it', async () => {
    const fails = (code: string) => () => Promise.reject(Object.assign(new Error('no'), { code }))
    const failing = [
      [{ ...disk, rename: fails('ENOSPC') }, 'the disk is full'],
      [{ ...disk, create: fails('EACCES') }, 'the permissions do not allow it'],
      [{ ...disk, create: fails('EROFS') }, 'the disk can only be read'],
    ] as const
    for (const [through, why] of failing) {
      const writing = handle('a.txt', through).replaceFile(become('ours'))
      await expect(writing).rejects.toMatchObject({ message: `a.txt cannot be written: ${why}` })
      expect([content('a.txt'), readdirSync(folder.path).sort()]).toEqual(['inside\n', ['a.txt', 'sub']])
    }
  })
})

test('a write goes through a thread only for what lies in its folder, some twenty times', async () => {
  let waits = 0
  const counting = <T extends object>(parts: T): T =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, counted(name, part)])) as T
  const counted = (name: string, part: unknown) => {
    if (typeof part !== 'function' || name === 'pathBehind' || name === 'entries') return part
    return (...args: unknown[]) => {
      const answer = part(...args)
      if (!(answer instanceof Promise)) return answer
      waits++
      return name === 'open' || name === 'create' ? answer.then(counting) : answer
    }
  }
  const disk = counting(asyncDisk)
  const protect = { ...nothingProtected, userGit: userGitOf({}, folder.outside) }
  const write = () =>
    pathHandle({ folder: folder.path, path: 'a.txt', protect }, disk).replaceFile(async () => {
      return { state: { bytes: Buffer.from('new') }, answer: undefined }
    })
  await write()
  waits = 0
  await write()
  expect(waits).toBeLessThanOrEqual(22)
})
