import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { describeAsRoot } from '../setup/root.ts'
import { type CommandFolder, commandFolder, nobody } from './command-folder.ts'

/** All that a command sees in /tmp, its home: the way to its folder. */
const onTheWay = tmpdir() === '/tmp' ? 'heddle-commands-\\w+' : relative('/tmp', tmpdir()).split('/')[0]

let folder: CommandFolder
beforeEach(async () => {
  folder = await commandFolder()
})
afterEach(() => folder.remove())

describe('a command is answered by what it wrote and how it ended', () => {
  test.each([
    ['echo one; echo two >&2; echo three', 'one\ntwo\nthree\n[exit 0]'],
    ['printf open', 'open\n[exit 0]'],
    ['true', '[exit 0]'],
    ['exit 7', '[exit 7]'],
    ['kill -SEGV $$', '[exit 139: signal SIGSEGV]'],
    ['no-such-program', /no-such-program: command not found\n\[exit 127\]$/],
    ['echo to a name > /dev/stdout; echo likewise > /dev/stderr', 'to a name\nlikewise\n[exit 0]'],
    ["printf 'a\\xffb\\0c'", 'a\ufffdb\ufffdc\n[exit 0]'],
    ['printf "%s" "ä€😀"', 'ä€😀\n[exit 0]'],
    ['read line; echo "got: $line"', 'got: \n[exit 0]'],
    ['[[ a == a ]] && echo bash', 'bash\n[exit 0]'],
    ['ls -A "$HOME"; pwd | grep -c /folder; id -un | wc -l', new RegExp(`^${onTheWay}\\n1\\n1\\n\\[exit 0\\]$`)],
    ['echo $0 $# $-', /^\/usr\/bin\/bash 0 \w+\n|^\/bin\/bash 0 \w+\n/],
  ])('%s', async (command, answer) => {
    const text = await folder.run(command)
    if (typeof answer === 'string') expect(text).toBe(answer)
    else expect(text).toMatch(answer)
  })

  test('long output is cut in the middle, between characters, and the cut is counted', async () => {
    const text = await folder.run('for i in {1..20000}; do echo "€ $i"; done')
    const whole = Array.from({ length: 20_000 }, (_, at) => `€ ${at + 1}\n`).join('')
    const [, begin = '', cut, end = ''] = /^([\s\S]*)\n… \[cut: (\d+) bytes\] …\n([\s\S]*)\[exit 0\]$/.exec(text) ?? []
    expect(whole.startsWith(begin) && whole.endsWith(end)).toBe(true)
    expect(Buffer.byteLength(begin) + Buffer.byteLength(end) + Number(cut)).toBe(Buffer.byteLength(whole))
    expect(Buffer.byteLength(text)).toBeGreaterThan(47_900)
    expect(Buffer.byteLength(text)).toBeLessThan(48_100)
  })

  test('output of exactly the bound is whole', async () => {
    expect(await folder.run("head -c 48000 /dev/zero | tr '\\0' x")).toBe(`${'x'.repeat(48_000)}\n[exit 0]`)
    expect(await folder.run("head -c 48001 /dev/zero | tr '\\0' x")).toContain('… [cut: 1 bytes] …')
  })
})

describe('a command runs in the folder', () => {
  test('what it writes there stays, and what it writes elsewhere does not', async () => {
    await folder.run('echo kept > kept.txt; echo lost > /tmp/lost.txt')
    expect(readFileSync(join(folder.path, 'kept.txt'), 'utf8')).toBe('kept\n')
    expect(await folder.run('ls /tmp/lost.txt')).toContain('[exit 2]')
  })

  test('cwd is a directory of the folder, and nothing that leads out of it', async () => {
    mkdirSync(join(folder.path, 'sub'))
    symlinkSync(folder.outside, join(folder.path, 'link'))
    writeFileSync(join(folder.path, 'file'), '')
    expect(await folder.run('pwd', { cwd: 'sub' })).toBe(`${folder.path}/sub\n[exit 0]`)
    for (const cwd of ['..', 'link', folder.outside, '/', 'deep/deeper/home', 'sub/../..'])
      expect(await folder.call({ command: 'pwd', cwd })).toMatchObject({ status: 'forbidden' })
    for (const cwd of ['none', 'file'])
      expect(await folder.call({ command: 'pwd', cwd })).toMatchObject({ status: 'error' })
  })

  test.each([
    [{}, 'command'],
    [{ command: ' ' }, 'must not be empty'],
    [{ command: 'a\0b' }, 'must not hold NUL'],
    [{ command: 'x'.repeat(100_001) }, 'at most 100000 bytes'],
    [{ command: 'true', timeout_seconds: 61 }, 'timeout_seconds'],
    [{ command: 'true', timeout_seconds: 0 }, 'timeout_seconds'],
    [{ command: 'true', shell: 'sh' }, 'shell'],
  ])('input that does not fit is refused: %o', async (input, why) => {
    const { status, output } = await folder.call(input)
    expect({ status, output: JSON.stringify(output) }).toEqual({
      status: 'error',
      output: expect.stringContaining(why),
    })
  })

  test('the longest command that is taken runs', async () => {
    expect(await folder.run(`echo ${'x'.repeat(99_987)} | wc -c`)).toBe('99988\n[exit 0]')
  })
})

describe('what projects need works', () => {
  test('npm test', async () => {
    const scripts = { test: 'node --test' }
    writeFileSync(join(folder.path, 'package.json'), JSON.stringify({ name: 'p', scripts }))
    writeFileSync(join(folder.path, 'a.test.js'), "require('node:test')('adds', () => {})\n")
    expect(await folder.run('npm test')).toMatch(/pass 1[\s\S]*\[exit 0\]$/)
  })

  test('git, whose folder belongs to whom it runs as', async () => {
    const name = ['-c', 'user.name=a', '-c', 'user.email=a@b']
    execFileSync('git', ['init', '-q', folder.path])
    execFileSync('git', ['-C', folder.path, ...name, 'commit', '-q', '--allow-empty', '-m', 'first'])
    writeFileSync(join(folder.path, 'new.txt'), '')
    expect(await folder.run('git status --short && git log --format=%s')).toBe('?? new.txt\nfirst\n[exit 0]')
  })

  test('a compiler', async () => {
    writeFileSync(join(folder.path, 'a.c'), '#include <stdio.h>\nint main(void) { puts("compiled"); }\n')
    expect(await folder.run('cc -o a a.c && ./a')).toBe('compiled\n[exit 0]')
  })

  test('shared memory, random numbers and threads', async () => {
    expect(await folder.run('echo a > /dev/shm/a && head -c 4 /dev/urandom | wc -c')).toBe('4\n[exit 0]')
  })
})

describeAsRoot('root steps down where it can', () => {
  test('to the owner of the folder', async () => {
    const theirs = await commandFolder({}, { owner: nobody })
    expect(await theirs.run('id -u; touch made; node -p 1')).toBe(`${nobody}\n1\n[exit 0]`)
    expect(statSync(join(theirs.path, 'made')).uid).toBe(nobody)
    theirs.remove()
  })

  test('and in its own folder stays root without any capability', async () => {
    const text = await folder.run('id -u; touch made; grep -E "^(Cap|NoNewPrivs)" /proc/self/status')
    const none = '0000000000000000'
    expect(text.replaceAll('\t', ' ')).toBe(
      [
        '0',
        ...['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'].map((set) => `Cap${set}: ${none}`),
        'NoNewPrivs: 1',
        '[exit 0]',
      ].join('\n'),
    )
    expect(statSync(join(folder.path, 'made')).uid).toBe(0)
  })
})
