import { readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { manualClock } from '../../src/testing.ts'
import { makeCall } from '../../src/tools/call.ts'
import { fileThreads } from '../../src/tools/files/file-threads.ts'
import { searchFiles } from '../../src/tools/files/search-files.ts'
import { newFolder, type TestFolder } from './folder.ts'

let folder: TestFolder
afterEach(() => folder.remove())

const find = (pattern: string, more = {}) => folder.text('search_files', { pattern, ...more })

describe('a search', () => {
  test('answers path, line and text in the order of the paths', async () => {
    folder = newFolder({ 'b.ts': 'port = 1', 'a.txt': 'no\n  a port\r\nport', 'a/z.ts': 'port', 'a/b/c.ts': 'port' })
    expect(await find('port')).toBe(
      [
        'a.txt:2:   a port',
        'a.txt:3: port',
        'a/b/c.ts:1: port',
        'a/z.ts:1: port',
        'b.ts:1: port = 1',
        '[5 matches in 4 files]',
      ].join('\n'),
    )
  })

  test('begins on a thread that a search of other tools has left', async () => {
    folder = newFolder({ 'a.txt': 'aaa\n' })
    const other = newFolder({ 'b.txt': 'aaa\n' })
    expect(await find('aaa')).toContain('a.txt:1: aaa')
    const threads = readdirSync('/proc/self/task').length
    expect(await other.text('search_files', { pattern: 'aaa' })).toContain('b.txt:1: aaa')
    other.remove()
    expect(readdirSync('/proc/self/task').length).toBeLessThanOrEqual(threads)
  })

  test('takes its pattern literally unless told that it is a regular expression', async () => {
    folder = newFolder({ 'a.txt': 'a.b\naxb\nA.B' })
    expect(await find('a.b')).toBe('a.txt:1: a.b\n[1 match in 1 file]')
    expect(await find('^a.b$', { regex: true })).toBe('a.txt:1: a.b\na.txt:2: axb\n[2 matches in 1 file]')
    expect(await find('(?i)A\\.b', { regex: true })).toBe('a.txt:1: a.b\na.txt:3: A.B\n[2 matches in 1 file]')
  })

  test('is kept to a path and to a glob', async () => {
    folder = newFolder({ 'a.ts': 'x', 'src/a.ts': 'x', 'src/a.tsx': 'x', 'src/deep/b.ts': 'x', 'src/b.md': 'x' })
    const paths = async (more: object) => [...(await find('x', more)).matchAll(/^(.*):1: x$/gm)].map(([, path]) => path)
    expect(await paths({ path: 'src/deep' })).toEqual(['src/deep/b.ts'])
    expect(await paths({ path: 'src/b.md' })).toEqual(['src/b.md'])
    expect(await paths({ glob: '*.ts' })).toEqual(['a.ts', 'src/a.ts', 'src/deep/b.ts'])
    expect(await paths({ glob: 'src/*.{ts,tsx}' })).toEqual(['src/a.ts', 'src/a.tsx'])
    expect(await paths({ glob: 'deep/*.ts', path: 'src' })).toEqual(['src/deep/b.ts'])
    expect(await paths({ glob: 'src/**/*.ts', path: 'src' })).toEqual(['src/a.ts', 'src/deep/b.ts'])
  })

  test('with an empty pattern finds files by their names', async () => {
    folder = newFolder({ 'a.ts': '', 'src/b.ts': 'x', 'src/c.md': '' })
    expect(await find('', { glob: '*.ts' })).toBe('a.ts\nsrc/b.ts\n[2 files]')
  })

  test('leaves out what ignore files hide, and searches a hidden directory that is asked for', async () => {
    folder = newFolder({
      '.gitignore': 'dist/\n*.log\n!keep.log\n',
      '.git/config': 'x',
      'dist/a.js': 'x',
      'a.log': 'x',
      'keep.log': 'x',
      'sub/.ignore': 'secret*\n',
      'sub/secret.txt': 'x',
      'sub/dist': 'x',
    })
    expect(await find('x')).toBe('keep.log:1: x\nsub/dist:1: x\n[2 matches in 2 files]')
    expect(await find('x', { path: 'dist' })).toBe('dist/a.js:1: x\n[1 match in 1 file]')
  })

  test('says what it did not look through', async () => {
    folder = newFolder({ 'a.bin': 'x\0x', 'b.png': Buffer.from('89504e47', 'hex'), 'c.txt': 'x', 'big.txt': 'x' })
    truncateSync(join(folder.path, 'big.txt'), 9_000_000)
    expect(await find('x')).toBe('c.txt:1: x\n[1 match in 1 file]\n[not searched: 2 binary files, 1 file over 8 MB]')
    expect(await find('y')).toBe('[nothing found in 1 file]\n[not searched: 2 binary files, 1 file over 8 MB]')
  })

  test('reads other encodings than UTF-8', async () => {
    folder = newFolder({
      'wide.txt': Buffer.from('\ufeffgrüße\n', 'utf16le'),
      'old.txt': Buffer.from('grüße\n', 'latin1'),
      'bom.txt': '\ufeffgrüße\n',
    })
    expect(await find('^grüße$', { regex: true })).toMatch(/\[3 matches in 3 files\]$/)
  })

  test('follows no links, neither in nor out', async () => {
    folder = newFolder({ 'sub/a.txt': 'x' })
    for (const [name, target] of Object.entries({ in: 'sub', self: '.', out: folder.outside, file: 'sub/a.txt' }))
      symlinkSync(target, join(folder.path, name))
    expect(await find('')).toBe('sub/a.txt\n[1 file]')
    expect(await find('x', { path: 'in' })).toBe('in/a.txt:1: x\n[1 match in 1 file]')
  })

  test('shows of a long line the part that matches', async () => {
    folder = newFolder({ 'min.js': `${'a'.repeat(5000)}needle${'b'.repeat(5000)}`, 'b.txt': `${'c'.repeat(400)}` })
    expect(await find('needle')).toBe(`min.js:1: …${'a'.repeat(60)}needle${'b'.repeat(234)}…\n[1 match in 1 file]`)
    expect(await find('cc')).toBe(`b.txt:1: ${'c'.repeat(300)}…\n[1 match in 1 file]`)
  })

  test('shows the first matches and counts them all', async () => {
    folder = newFolder({ 'a.txt': 'x\n'.repeat(90), 'b.txt': 'x\n'.repeat(40), 'c.txt': 'x' })
    const lines = (await find('x')).split('\n')
    expect(lines).toHaveLength(101)
    expect(lines.at(-2)).toBe('b.txt:10: x')
    expect(lines.at(-1)).toBe(
      '… [cut: 131 matches in 3 files; first 100 shown; narrow the pattern, the path or the glob to see the others]',
    )
  })

  test('is never answered with more than 64 kB', async () => {
    folder = newFolder({ [`${'d'.repeat(200)}/${'f'.repeat(200)}`]: `${'ü'.repeat(300)}x\n`.repeat(200) })
    expect(Buffer.byteLength(await find('ü'))).toBeLessThan(50_000)
  })

  test('whose pattern is no regular expression is told so before anything is searched', async () => {
    folder = newFolder()
    const { output } = await folder.call('search_files', { pattern: '(x', regex: true })
    expect((output as { error: string }).error).toMatch(
      /^invalid input for search_files: pattern: .*Unterminated group; leave regex out to search for it literally$/,
    )
  })

  test('where there is nothing, or that leads out, is refused', async () => {
    folder = newFolder({ 'src/a.ts': 'x' })
    const refused = async (path: string) => (await folder.call('search_files', { pattern: 'x', path })).output
    expect(await refused('scr')).toMatchObject({ error: 'there is no scr', remedy: 'did you mean src?' })
    expect(await refused('..')).toMatchObject({ status: 'forbidden' })
  })

  test('gets through thousands of files', async () => {
    folder = newFolder(
      Object.fromEntries(
        Array.from({ length: 5000 }, (_, at) => [`d${at % 50}/e${at % 7}/f${at}.ts`, `export const value = ${at}\n`]),
      ),
    )
    expect(await find('value = 4321')).toBe('d21/e2/f4321.ts:1: export const value = 4321\n[1 match in 1 file]')
  })
})

describe('a search that would never end', () => {
  const endless = { pattern: '^(a+)+$', regex: true }
  const trap = `${'a'.repeat(60)}!\n`

  test('is stopped when its time is over, holds nobody up meanwhile, and the next one works', async () => {
    const clock = manualClock()
    folder = newFolder({ 'b.txt': trap }, clock)
    let isOver = false
    const searching = folder.call('search_files', endless).finally(() => {
      isOver = true
    })
    await turns(50)
    expect(isOver).toBe(false)
    await clock.advance(20_000)
    expect(await searching).toEqual({
      status: 'error',
      output: {
        status: 'error',
        error: 'the search was stopped after 20 s',
        remedy: expect.stringContaining('a regular expression with repetitions inside repetitions may never end'),
      },
    })
    expect(await find('!')).toMatch(/\[1 match in 1 file\]$/)
  })

  test('is answered with what it had found', async () => {
    const clock = manualClock()
    folder = newFolder({ 'a.txt': 'aaa\n', 'b.txt': trap })
    const threads = fileThreads(clock)
    const tool = searchFiles({
      perform: (job, signal, onFound) =>
        threads.perform(job, signal, (found) => {
          onFound?.(found)
          void clock.advance(20_000)
        }),
    })
    const call = { id: 'call', name: tool.name, input: endless }
    const context = {
      runId: 'run',
      callId: 'call',
      signal: new AbortController().signal,
      folder: folder.path,
      protect: nothingProtected,
    }
    expect((await makeCall({ call, tool, value: endless }, context)).output).toMatch(
      /^a\.txt:1: aaa\n\[1 match in 1 file\]\n\[the search was stopped after 20 s, before everything was searched: .*\]$/,
    )
  })

  test('ends at once when the call is stopped', async () => {
    folder = newFolder({ 'b.txt': trap }, manualClock())
    const stop = new AbortController()
    const searching = folder.call('search_files', endless, stop.signal)
    await turns(20)
    stop.abort(new Error('stopped'))
    await expect(searching).rejects.toThrow('stopped')
  })

  test('keeps others waiting only as long as the threads are taken, and whoever waits may leave', async () => {
    folder = newFolder({ 'b.txt': trap }, manualClock())
    let begun = 0
    const count = () => {
      begun++
    }
    process.on('worker', count)
    const stops = Array.from({ length: 4 }, () => new AbortController())
    const searches = stops.map(({ signal }) => folder.call('search_files', endless, signal))
    const last = find('!')
    await turns(20)
    process.off('worker', count)
    expect(begun).toBe(2)
    for (const stop of stops.toReversed()) stop.abort(new Error('stopped'))
    for (const each of searches) await expect(each).rejects.toThrow('stopped')
    expect(await last).toMatch(/\[1 match in 1 file\]$/)
  })
})

test('an ignore file made to be slow holds up nobody but the thread', async () => {
  const clock = manualClock()
  folder = newFolder({}, clock)
  writeFileSync(join(folder.path, '.gitignore'), `${'*a'.repeat(100)}b\n`.repeat(4000))
  folder.write(Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`${'a'.repeat(200)}${at}`, ''])))
  const listing = folder.call('list_dir', { path: '.' })
  await turns(20)
  await clock.advance(20_000)
  expect((await listing).output).toEqual({
    status: 'error',
    error: 'listing . was stopped after 20 s',
    remedy: 'list a directory below it',
  })
})

/** Lets the event loop go round: nothing that is held up could. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}
