import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { editConfig } from '../../src/config/edit.ts'
import { systemClock } from '../../src/system.ts'

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-edit-')))
afterAll(() => rmSync(place, { recursive: true, force: true }))

const options = { env: {}, clock: systemClock }

function written(text?: string): { folder: string; file: string; read: () => string } {
  const folder = mkdtempSync(join(place, 'case-'))
  const file = join(folder, 'heddle.yaml')
  if (text !== undefined) writeFileSync(file, text)
  return { folder, file, read: () => readFileSync(file, 'utf8') }
}

const writing =
  (text: string, exitCode = 0) =>
  async (copy: string) => {
    writeFileSync(copy, text)
    return exitCode
  }

test('a valid edit replaces the file, keeps the earlier one and leaves no copy', async () => {
  const { folder, file, read } = written('name: one\n')
  expect(await editConfig(file, writing('name: two # mine\n'), options)).toEqual({ changed: true })
  expect(read()).toBe('name: two # mine\n')
  expect(readFileSync(join(folder, 'backups/config/heddle.yaml.1'), 'utf8')).toBe('name: one\n')
  expect(readdirSync(folder).sort()).toEqual(['backups', 'heddle.yaml'])
})

test('the editor gets a copy for the owner only, with the text of the file and a name that editors know', async () => {
  const { file, folder } = written('name: one\n')
  const seen: unknown[] = []
  const look = async (copy: string) => {
    seen.push(copy, readFileSync(copy, 'utf8'), (statSync(copy).mode & 0o777).toString(8))
    return 0
  }
  expect(await editConfig(file, look, options)).toEqual({ changed: false })
  expect(seen).toEqual([join(folder, 'heddle.edit-1.yaml'), 'name: one\n', '600'])
  expect(readdirSync(folder)).toEqual(['heddle.yaml'])
})

test('an invalid edit changes nothing, keeps the copy and says where it is and what is wrong', async () => {
  const { folder, file, read } = written('name: one\n')
  const copy = join(folder, 'heddle.edit-1.yaml')
  await expect(editConfig(file, writing('nmae: two\n'), options)).rejects.toMatchObject({
    code: 'config_invalid',
    message: `${copy}: unknown key \`nmae\` at line 1: did you mean \`name\`?`,
    remedy: `${file} was not changed: fix ${copy} and move it there, or edit again`,
  })
  expect(read()).toBe('name: one\n')
  expect(readFileSync(copy, 'utf8')).toBe('nmae: two\n')
  await editConfig(file, writing('name: three\n'), options)
  expect(read()).toBe('name: three\n')
  expect(existsSync(copy)).toBe(true)
})

test('an edit of a file that changed meanwhile is refused and kept (F31)', async () => {
  const { folder, file, read } = written('name: one\n')
  const meanwhile = async (copy: string) => {
    writeFileSync(file, 'name: theirs\n')
    writeFileSync(copy, 'name: mine\n')
    return 0
  }
  const copy = join(folder, 'heddle.edit-1.yaml')
  await expect(editConfig(file, meanwhile, options)).rejects.toMatchObject({
    code: 'config_changed',
    message: expect.stringContaining(copy),
  })
  expect(read()).toBe('name: theirs\n')
  expect(readFileSync(copy, 'utf8')).toBe('name: mine\n')
})

test('an editor that fails changes nothing, and loses nothing that was written', async () => {
  const { folder, file, read } = written('name: one\n')
  await expect(editConfig(file, async () => 127, options)).rejects.toMatchObject({ code: 'editor_failed' })
  expect(readdirSync(folder)).toEqual(['heddle.yaml'])
  const copy = join(folder, 'heddle.edit-1.yaml')
  await expect(editConfig(file, writing('name: two\n', 1), options)).rejects.toMatchObject({
    code: 'editor_failed',
    message: expect.stringContaining(copy),
  })
  expect([read(), readFileSync(copy, 'utf8')]).toEqual(['name: one\n', 'name: two\n'])
})

test('an editor that cannot be started leaves no copy', async () => {
  const { folder, file } = written('name: one\n')
  await expect(editConfig(file, () => Promise.reject(new Error('no editor')), options)).rejects.toThrow('no editor')
  expect(readdirSync(folder)).toEqual(['heddle.yaml'])
})

test('an editor that removes the copy changes nothing', async () => {
  const { file, read } = written('name: one\n')
  const removing = async (copy: string) => {
    rmSync(copy)
    return 0
  }
  await expect(editConfig(file, removing, options)).rejects.toMatchObject({ code: 'editor_failed' })
  expect(read()).toBe('name: one\n')
})

test('a file that is not there can be written', async () => {
  const { file, read } = written()
  expect(await editConfig(file, writing('name: first\n'), options)).toEqual({ changed: true })
  expect(read()).toBe('name: first\n')
})
