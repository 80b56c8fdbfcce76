import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forgetSecret, keepSecret, listSecrets, secretReader } from '../../src/home/secrets.ts'

let root: string
let folder: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'heddle-secrets-'))
  folder = join(root, 'secrets')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

test('a secret is kept in a file of its own that only the owner can open', async () => {
  const before = process.umask(0)
  try {
    await keepSecret(folder, 'anthropic', 'sk-value\n')
  } finally {
    process.umask(before)
  }
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, 'anthropic')).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(folder, 'anthropic'), 'utf8')).toBe('sk-value')
  expect(secretReader(folder)('anthropic')).toBe('sk-value')
})

test('setting it again replaces it, whatever mode the old file had, and a draft of a killed process is no secret', async () => {
  mkdirSync(folder, { mode: 0o755 })
  writeFileSync(join(folder, 'a'), 'old')
  chmodSync(join(folder, 'a'), 0o644)
  writeFileSync(join(folder, 'a.new'), 'half')
  expect(await listSecrets(folder)).toEqual([{ name: 'a', isOpen: true }])
  await keepSecret(folder, 'a', 'new')
  expect(secretReader(folder)('a')).toBe('new')
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(await listSecrets(folder)).toEqual([{ name: 'a', isOpen: false }])
})

test('names are listed, and forgetting one says whether it was there', async () => {
  expect(await listSecrets(folder)).toEqual([])
  await keepSecret(folder, 'b', 'two')
  await keepSecret(folder, 'a-1', 'one')
  expect((await listSecrets(folder)).map(({ name }) => name)).toEqual(['a-1', 'b'])
  expect(await forgetSecret(folder, 'b')).toBe(true)
  expect(await forgetSecret(folder, 'b')).toBe(false)
  expect(secretReader(folder)('b')).toBeUndefined()
})

test.each(['', '../evil', 'a/b', '.hidden', 'a b', '-x', 'x'.repeat(65), '__proto__', 'a\n'])(
  'the name %j is refused before anything is written',
  async (name) => {
    await expect(keepSecret(folder, name, 'value')).rejects.toThrow('not the name of a secret')
    await expect(forgetSecret(folder, name)).rejects.toThrow('not the name of a secret')
    expect(existsSync(folder)).toBe(false)
  },
)

test.each([
  ['nothing', ''],
  ['a line break alone', '\n'],
  ['two lines', 'a\nb'],
  ['a control character', 'a\u0000b'],
  ['too much', 'x'.repeat(8193)],
])('a value of %s is refused, and is not repeated', async (_, value) => {
  const error = await keepSecret(folder, 'a', value).catch((thrown) => thrown)
  expect(error.code).toBe('misuse')
  expect(existsSync(folder)).toBe(false)
})
