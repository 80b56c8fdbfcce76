import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mentionedFiles } from '../../src/cli/input/mentions.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'heddle-mentions-'))
  mkdirSync(join(root, 'folder/src'), { recursive: true })
  writeFileSync(join(root, 'folder/src/cart.ts'), 'x')
  writeFileSync(join(root, 'folder/notes.md'), 'x')
  writeFileSync(join(root, 'beside.md'), 'x')
})
afterEach(() => rmSync(root, { recursive: true }))

const named = async (text: string) =>
  (await mentionedFiles(text, { from: join(root, 'folder'), secrets: join(root, 'secrets') }, async () => false)).map(
    ({ path }) => path,
  )

test.each([
  ['look at @src/crat.ts please', 'src/crat.ts', 'did you mean src/cart.ts?'],
  ['look at @scr/cart.ts.', 'scr/cart.ts', 'did you mean src/cart.ts?'],
  ['(see @note.md)', 'note.md', 'did you mean notes.md?'],
  ['is @"two words.txt" right', 'two words.txt', 'check the path'],
  ['what is in @types/node', 'types/node', 'check the path'],
  ['@src/nosuch', 'src/nosuch', 'check the path'],
])('"%s" names a file that is not there, which is an error with the nearest name', async (text, path, advice) => {
  await expect(named(text)).rejects.toMatchObject({
    code: 'no_file',
    message: `there is no file ${path}`,
    remedy: `${advice}; if it is not a file, write \`@${path}\` in backquotes`,
  })
})

test('a file outside the folder after @ is an error, not a word', async () => {
  await expect(named('see @../beside.md')).rejects.toMatchObject({ code: 'outside' })
})

test.each([
  'ask @ada about it',
  'mail ada@notes.org or @work',
  'use `@types/node` here',
  '@pytest.fixture\ndef cart(): ...',
  '@app.get("/cart")\ndef cart(): ...',
  'version @1.2.3 of it',
  'look through @src/ and @src',
  '```ts\nimport x from "@scope/pkg/x.ts"\n```',
])('"%s" names no file', async (text) => {
  expect(await named(text)).toEqual([])
})

test('files that are there are named wherever a word may begin', async () => {
  expect(await named('is @src/cart.ts like @notes.md?')).toEqual(['src/cart.ts', 'notes.md'])
})
