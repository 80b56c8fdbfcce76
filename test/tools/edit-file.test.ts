import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newFolder, type TestFolder } from './folder.ts'

let folder: TestFolder
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => folder.remove())

/** Edits a file that holds this, and gives what it holds then. */
async function edit(before: string | Uint8Array, old_text: string, new_text: string, more: object = {}) {
  folder.write({ file: before })
  const { status, output } = await folder.call('edit_file', { path: 'file', old_text, new_text, ...more })
  const after = readFileSync(join(folder.path, 'file'))
  if (status !== 'ok') expect(after.equals(Buffer.from(before))).toBe(true)
  return { status, ...(output as { error?: string; remedy?: string }), after }
}
const editedText = async (...args: Parameters<typeof edit>) => (await edit(...args)).after.toString()

test('puts one text in the place of another and leaves the rest', async () => {
  expect(await editedText('one\ntwo\nthree\n', 'two', '2')).toBe('one\n2\nthree\n')
  expect(await editedText('one\ntwo\nthree\n', 'two\n', '')).toBe('one\nthree\n')
  expect(await editedText('no end', 'end', 'more\nlines')).toBe('no more\nlines')
  // Nothing in a text is a pattern.
  expect(await editedText('a.b $& [x]', '.b $& [x]', "$1$'$$")).toBe("a$1$'$$")
})

test('a text that is there twice is refused with the lines, unless all are meant', async () => {
  const twice = 'x = 1\ny\nx = 1\nz\nx = 1'
  expect(await edit(twice, 'x = 1', 'x = 2')).toMatchObject({
    status: 'error',
    error: 'old_text is 3 times in file, at lines 1, 3, 5',
    remedy: 'include more surrounding lines, or set all: true',
  })
  expect(await editedText(twice, 'x = 1', 'x = 2', { all: true })).toBe('x = 2\ny\nx = 2\nz\nx = 2')
  expect(await editedText('aaaa', 'aa', 'b', { all: true })).toBe('bb')
  expect((await edit('l\n'.repeat(100), 'l', 'm')).error).toMatch(/^old_text is 100 times .* 20, …$/)
})

test('a text that is not there is refused with the lines that are nearest', async () => {
  const code = 'function a() {\n\treturn 1\n}\n\nfunction total(items) {\n\treturn items.length\n}\n'
  const { error, remedy } = await edit(code, 'function total(item) {\n  return items.length\n}', 'x')
  expect(error).toBe(
    'old_text is not in file; the nearest lines are\n5\tfunction total(items) {\n6\t\treturn items.length\n7\t}',
  )
  expect(remedy).toBe('read the file again and copy the text exactly')
  // The spaces differ: of two lines with the same letters the one is meant that goes on likewise.
  expect((await edit('if x:\n  a\nif x:\n  b\n', 'if x:\n    b', 'y')).error).toContain('are\n3\tif x:\n4\t  b')
  expect((await edit(code, 'zzzzzz qqqqqq', 'x')).error).toBe('old_text is not in file')
  expect((await edit('x'.repeat(100_000), 'x'.repeat(499), '')).status).toBe('error')
})

test('an edit that would change nothing, or of nothing, does not fit', async () => {
  expect((await edit('same', 'same', 'same')).error).toContain('nothing would change')
  expect((await edit('same', '', 'x')).error).toContain('old_text')
  const { output } = await folder.call('edit_file', { path: 'none', old_text: 'a', new_text: 'b' })
  expect(output).toEqual({ status: 'error', error: 'there is no none', remedy: 'write_file makes a new file' })
})

test('lines that end with CR LF are found by plain line ends, and keep theirs', async () => {
  expect(await editedText('one\r\ntwo\r\nthree\r\n', 'one\ntwo\n', '1\n2\n2b\n')).toBe('1\r\n2\r\n2b\r\nthree\r\n')
  expect(await editedText('one\r\ntwo\r\n', 'one\r\ntwo', '1\r\n2')).toBe('1\r\n2\r\n')
  expect(await editedText('one\r\ntwo\r\n', 'two', 'a\nb')).toBe('one\r\na\r\nb\r\n')
  // Where both kinds are mixed, each line keeps its own.
  expect(await editedText('a\nb\r\nc\nd\r\n', 'c\n', 'c\nc2\n')).toBe('a\nb\r\nc\nc2\nd\r\n')
  expect(await editedText('a\r\nb\na\r\nb\n', 'a\nb', 'x\ny', { all: true })).toBe('x\r\ny\nx\r\ny\n')
})

test('a byte order mark and UTF-16 stay', async () => {
  expect(await editedText('\ufeffone\n', 'one', 'two')).toBe('\ufefftwo\n')
  for (const swap of [false, true]) {
    const utf16 = (text: string) => {
      const bytes = Buffer.from(`\ufeff${text}`, 'utf16le')
      return swap ? bytes.swap16() : bytes
    }
    const { after, status } = await edit(utf16('grün\r\nähnlich 🙂\r\n'), 'grün\n', 'blau\nrot 🙃\n')
    expect([status, after.equals(utf16('blau\r\nrot 🙃\r\nähnlich 🙂\r\n'))]).toEqual(['ok', true])
  }
})

test('Windows-1252 stays what it is, and refuses letters that it does not have', async () => {
  const bytes = Buffer.from([0x93, 0x4b, 0xe4, 0x73, 0x65, 0x94, 0x81, 0x0a])
  const { after } = await edit(bytes, 'Käse', 'Öl – für 5 €')
  expect(after).toEqual(
    Buffer.from([0x93, 0xd6, 0x6c, 0x20, 0x96, 0x20, 0x66, 0xfc, 0x72, 0x20, 0x35, 0x20, 0x80, 0x94, 0x81, 0x0a]),
  )
  expect((await edit(bytes, 'Käse', '漢')).error).toBe('file is kept as Windows-1252, which has no "漢"')
})

test('what is not text, or not all of it, is refused', async () => {
  expect((await edit(Buffer.from('89504e470d0a1a0a', 'hex'), 'a', 'b')).error).toBe('file is binary (PNG), not text')
  const late = Buffer.concat([Buffer.from('text\n'.repeat(3000)), Buffer.from([0xff, 0xfe, 0xc3])])
  expect((await edit(late, 'text', 'x', { all: true })).error).toContain('holds bytes that are not text')
  const odd = Buffer.concat([Buffer.from('\ufeffab', 'utf16le'), Buffer.from([0x61])])
  expect((await edit(odd, 'a', 'x')).error).toContain('holds bytes that are not text')
})

test('a file does not grow without end', async () => {
  const more = { all: true }
  expect((await edit('a'.repeat(10_000), 'a', 'b'.repeat(10_000), more)).error).toContain('larger than 20 MB')
})
