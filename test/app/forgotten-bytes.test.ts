import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { restoreApp } from '../../src/app/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { openOwnerApp } from '../setup/owner-app.ts'

const folder = mkdtempSync(join(tmpdir(), 'heddle-bytes-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('of a memory that was forgotten no byte is left in the files of the home, nor of one restored from a backup made since', async () => {
  const paths = homePaths(join(folder, 'home'))
  await ensureHome(paths.home)
  const open = async () =>
    openOwnerApp({ paths, config: await loadConfig(paths.config, {}), env: {}, tell: () => undefined })
  const before = await open()
  for (let at = 0; at < 40; at++)
    await before.remember({ content: `Walnut${at} is sold by number ${at} in the harbour` })
  await before.remember({ content: 'The vault code is qz993311', tags: ['qz993311'], keywords: ['qz993311'] })
  await before.close()
  expect(namesWith('qz993311', paths.home)).not.toEqual([])
  const app = await open()
  await app.forgetMemory(41)
  const backup = join(folder, 'after.backup')
  await app.backup(backup)
  await app.close()
  expect(namesWith('qz993311', paths.home)).toEqual([])
  expect(gunzipSync(readFileSync(backup)).includes('qz993311')).toBe(false)
  await restoreApp({ paths, config: await loadConfig(paths.config, {}), env: {} }, backup)
  await (await open()).close()
  expect(namesWith('qz993311', folder)).toEqual([])
})

function namesWith(text: string, home: string): string[] {
  const names = readdirSync(home, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  return names.map(({ parentPath, name }) => join(parentPath, name)).filter((file) => readFileSync(file).includes(text))
}
