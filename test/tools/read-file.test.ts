import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newFolder, type TestFolder } from './folder.ts'

let folder: TestFolder
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => folder.remove())

const read = (path: string, more = {}) => folder.text('read_file', { path, ...more })
const lines = (count: number, of = (number: number) => `line ${number}`) =>
  Array.from({ length: count }, (_, at) => `${of(at + 1)}\n`).join('')

describe('a text file', () => {
  test('is shown with the number of each line', async () => {
    folder.write({ 'a.ts': 'one\n\n  three\t3\n' })
    expect(await read('a.ts')).toBe('1\tone\n2\t\n3\t  three\t3')
  })

  test('has the same lines whether or not the last one ends', async () => {
    folder.write({ 'a.txt': 'one\ntwo', 'b.txt': 'one\ntwo\n' })
    expect(await read('a.txt')).toBe('1\tone\n2\ttwo')
    expect(await read('b.txt')).toBe('1\tone\n2\ttwo')
  })

  test('is read by pages: each names the offset of the next, and together they are the whole', async () => {
    folder.write({ 'a.txt': lines(10) })
    expect(await read('a.txt', { offset: 3, limit: 2 })).toBe(
      '3\tline 3\n4\tline 4\n… [cut: 6 more lines; continue with offset=5]',
    )
    expect(await read('a.txt', { offset: 9, limit: 2 })).toBe('9\tline 9\n10\tline 10')
    expect(await read('a.txt', { offset: 10 })).toBe('10\tline 10')
    folder.write({ 'b.txt': lines(2001) })
    for (const more of [{}, { limit: 9000 }])
      expect(await read('b.txt', more)).toMatch(/2000\tline 2000\n… \[cut: 1 more lines; continue with offset=2001\]$/)
  })

  test('is never answered with more than 64 kB, and reading on gets through it', async () => {
    folder.write({ 'a.txt': lines(5000, (number) => `${number}: ${'ü'.repeat(40)}`) })
    const seen: string[] = []
    let offset: number | undefined = 1
    while (offset !== undefined) {
      const page: string = await read('a.txt', { offset })
      expect(Buffer.byteLength(page)).toBeLessThan(50_000)
      seen.push(...page.split('\n').filter((line) => !line.startsWith('…')))
      const [, next] = /continue with offset=(\d+)\]$/.exec(page) ?? []
      offset = next === undefined ? undefined : Number(next)
    }
    expect(seen).toEqual(Array.from({ length: 5000 }, (_, at) => `${at + 1}\t${at + 1}: ${'ü'.repeat(40)}`))
  })

  test('has its long lines cut between two characters', async () => {
    folder.write({ 'a.txt': `${'a'.repeat(1999)}üü\nshort\n` })
    expect(await read('a.txt')).toBe(`1\t${'a'.repeat(1999)}… [line cut: 3 more bytes]\n2\tshort`)
  })

  test('that ends before the offset is told with the number of its lines', async () => {
    folder.write({ 'a.txt': lines(3) })
    expect(await read('a.txt', { offset: 7 })).toBe(
      '[a.txt has 3 lines: there is no line 7; read with an offset of at most 3]',
    )
  })

  test('of no bytes is told to be empty', async () => {
    folder.write({ 'a.txt': '' })
    expect(await read('a.txt')).toBe('[a.txt is empty]')
  })
})

describe('how a file was read is said', () => {
  test.each([
    [
      'a byte order mark',
      '\ufeffone\ntwo',
      'utf8',
      '[UTF-8 that begins with a byte order mark, which is left out here]',
    ],
    ['UTF-16, little-endian', '\ufeffone\ntwo', 'utf16le', '[UTF-16 (little-endian), shown decoded]'],
    ['Latin-1', 'one\ntwo é', 'latin1', '[not UTF-8: shown as if it were Latin-1 (Windows-1252)]'],
    ['line ends of Windows', 'one\r\ntwo\r\n', 'utf8', '[lines end with CR LF; the CR is left out here]'],
  ] as const)('for %s', async (_, text, encoding, note) => {
    folder.write({ 'a.txt': Buffer.from(text, encoding) })
    const shown = text.replace('\ufeff', '').replaceAll('\r', '').trimEnd().split('\n')
    expect(await read('a.txt')).toBe([note, ...shown.map((line, at) => `${at + 1}\t${line}`)].join('\n'))
  })

  test('for UTF-16, big-endian, page by page', async () => {
    folder.write({ 'a.txt': Buffer.from(`\ufeff${lines(40_000)}`, 'utf16le').swap16() })
    expect(await read('a.txt', { offset: 39_999 })).toBe(
      '[UTF-16 (big-endian), shown decoded]\n39999\tline 39999\n40000\tline 40000',
    )
  })

  test('for bytes that are no text in the midst of a text', async () => {
    folder.write({ 'a.txt': Buffer.concat([Buffer.from(lines(2000)), Buffer.from([0xff, 0xfe, 10])]) })
    expect(await read('a.txt', { offset: 2000 })).toBe(
      '[some bytes are not text and are shown as \ufffd]\n2000\tline 2000\n2001\t\ufffd\ufffd',
    )
  })

  test('and a character that lies across two pieces of the file is whole', async () => {
    folder.write({ 'a.txt': `${'x'.repeat(8191)}üü\n${lines(1)}${'y'.repeat(65_536 - 8191 - 4 - 1 - 7 - 1)}\nü\n` })
    expect(await read('a.txt')).toMatch(/^1\tx+… \[line cut: 6195 more bytes\]\n2\tline 1\n3\ty+.*\n4\tü$/)
  })
})

describe('what cannot be shown is told', () => {
  test.each([
    ['PNG', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), ', looks like PNG'],
    ['PDF without a zero', Buffer.from('%PDF-1.7\n'), ', looks like PDF'],
    ['tar', Buffer.concat([Buffer.alloc(257, 'a'), Buffer.from('ustar')]), ', looks like tar'],
    ['zeros', Buffer.from('text\0text'), ''],
    ['noise without a zero', Buffer.from(Array.from({ length: 200 }, (_, at) => ((at * 37) % 255) + 1)), ''],
  ])('%s', async (_, bytes, looks) => {
    folder.write({ 'a.bin': bytes })
    expect(await read('a.bin')).toBe(`[a.bin is binary (${bytes.length} bytes${looks}): it cannot be shown as text]`)
  })

  test('what is missing, with what was probably meant', async () => {
    folder.write({ 'src/server.ts': 'x' })
    expect(await folder.call('read_file', { path: 'src/sever.ts' })).toEqual({
      status: 'error',
      output: { status: 'error', error: 'there is no src/sever.ts', remedy: 'did you mean src/server.ts?' },
    })
  })

  test('input that does not fit, by parameter', async () => {
    const why = async (input: unknown) => ((await folder.call('read_file', input)).output as { error: string }).error
    expect(await why({})).toMatch(/^invalid input for read_file: path: /)
    expect(await why({ path: 'a', offset: 0 })).toMatch(/invalid input for read_file: offset: /)
    expect(await why({ path: 'a', limit: 'ten' })).toMatch(/invalid input for read_file: limit: /)
    expect(await why({ path: 'a', file: 'b' })).toMatch(/invalid input for read_file: .*file/)
  })
})

describe('a huge file', () => {
  const huge = 1_073_741_824
  const head = lines(20_000)
  beforeEach(() => {
    folder.write({ 'huge.log': head })
    truncateSync(join(folder.path, 'huge.log'), huge)
  })

  test('is read by range without being loaded', async () => {
    const before = process.memoryUsage()
    const page = await read('huge.log', { offset: 19_000, limit: 2 })
    const { rss, arrayBuffers } = process.memoryUsage()
    expect(page).toBe('19000\tline 19000\n19001\tline 19001\n… [cut: over 1000 more lines; continue with offset=19002]')
    expect(arrayBuffers - before.arrayBuffers).toBeLessThan(50_000_000)
    expect(rss - before.rss).toBeLessThan(200_000_000)
  })

  test('whose last line has no end is told as far as it is worth', async () => {
    expect(await read('huge.log', { offset: 20_001 })).toMatch(
      /^20001\t\0{2000}… \[line cut: \d+ more bytes\]\n… \[cut: over 0 more lines; continue with offset=20002\]$/,
    )
  })

  test('is left alone when the call is stopped', async () => {
    const stop = new AbortController()
    const reading = folder.call('read_file', { path: 'huge.log', offset: 1_000_000 }, stop.signal)
    stop.abort(new Error('stopped'))
    await expect(reading).rejects.toThrow('stopped')
  })
})
