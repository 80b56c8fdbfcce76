import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { secretMarker } from '../../src/home/mark-secrets.ts'
import { listSecrets, removeSecret, secretReader, storeSecret } from '../../src/home/secrets.ts'

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
    await storeSecret(folder, 'anthropic', 'sk-value\n')
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
  writeFileSync(join(folder, '.a.1-0.tmp'), 'half')
  expect(await listSecrets(folder)).toEqual([{ name: 'a', isOpen: true }])
  await storeSecret(folder, 'a', 'new')
  expect(secretReader(folder)('a')).toBe('new')
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(await listSecrets(folder)).toEqual([{ name: 'a', isOpen: false }])
})

test('many who set one at the same time, in several processes, leave the whole value of one of them and nothing else', async () => {
  const program = join(import.meta.dirname, 'secret-program.ts')
  const values = Array.from({ length: 4 }, (_, at) => String(at).repeat(8000))
  const ends = await Promise.all(
    values.map(async (value) => {
      const child = spawn(process.execPath, [program, folder, value], { stdio: ['ignore', 'ignore', 'pipe'] })
      const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
      return { complaint, code }
    }),
  )
  expect(ends).toEqual(values.map(() => ({ complaint: '', code: 0 })))
  expect(values).toContain(secretReader(folder)('a'))
  expect(readdirSync(folder)).toEqual(['a'])
})

test('a store that fails leaves no draft, and the next removes what a killed one left long ago', async () => {
  mkdirSync(join(folder, 'a'), { recursive: true })
  await expect(storeSecret(folder, 'a', 'value')).rejects.toMatchObject({ code: 'secret_unwritable' })
  expect(readdirSync(folder)).toEqual(['a'])
  for (const name of ['.b.77-0.tmp', '.b.78-1.tmp', '.theirs']) writeFileSync(join(folder, name), 'half')
  for (const name of ['.b.77-0.tmp', '.theirs']) utimesSync(join(folder, name), 1, 1)
  await storeSecret(folder, 'c', 'value')
  expect(readdirSync(folder).sort()).toEqual(['.b.78-1.tmp', '.theirs', 'a', 'c'])
})

test('names are listed, and forgetting one says whether it was there', async () => {
  expect(await listSecrets(folder)).toEqual([])
  await storeSecret(folder, 'b', 'two')
  await storeSecret(folder, 'a-1', 'one')
  expect((await listSecrets(folder)).map(({ name }) => name)).toEqual(['a-1', 'b'])
  expect(await removeSecret(folder, 'b')).toBe(true)
  expect(await removeSecret(folder, 'b')).toBe(false)
  expect(secretReader(folder)('b')).toBeUndefined()
})

test.each(['', '../evil', 'a/b', '.hidden', 'a b', '-x', 'x'.repeat(65), '__proto__', 'a\n'])(
  'the name %j is refused before anything is written',
  async (name) => {
    await expect(storeSecret(folder, name, 'value')).rejects.toThrow('not the name of a secret')
    await expect(removeSecret(folder, name)).rejects.toThrow('not the name of a secret')
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
  const error = await storeSecret(folder, 'a', value).catch((thrown) => thrown)
  expect(error.code).toBe('misuse')
  expect(existsSync(folder)).toBe(false)
})

test('a secret that cannot be read, or is a directory, does not keep others from being marked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-secrets-'))
  await storeSecret(folder, 'vault', 'correct horse battery')
  mkdirSync(join(folder, 'folder'))
  expect(secretMarker(folder, []).markSecrets('it is correct horse battery')).toBe('it is [secret:vault]')
  rmSync(folder, { recursive: true })
})

test('the name of a secret in a mark is left as it is, whatever values others have', async () => {
  await storeSecret(folder, 'vault', 'correct horse battery')
  await storeSecret(folder, 'word', 'vault')
  const { markSecrets, markedParts } = secretMarker(folder, ['secret', 'in the config'])
  expect(markSecrets('correct horse battery')).toBe('[secret:vault]')
  expect(markedParts('vault: correct horse battery, in the config')).toEqual([
    { mark: '[secret:word]', value: 'vault' },
    ': ',
    { mark: '[secret:vault]', value: 'correct horse battery' },
    ', ',
    { mark: '[redacted]', value: 'in the config' },
  ])
})

test.each(['長', '각', '&', 'a b ', '🔑'])('a value of the greatest length is marked: %j', async (part) => {
  const value = part.repeat(8192 / part.length).trim()
  await storeSecret(folder, 'vault', value)
  expect(secretMarker(folder, []).markSecrets(`it is "${value}"`)).toBe('it is "[secret:vault]"')
})
