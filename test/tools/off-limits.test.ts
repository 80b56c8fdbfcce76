import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { canary, newFolder, type TestFolder } from './folder.ts'

let folder: TestFolder
afterEach(() => folder.remove())

test('a home that lies inside the folder is as good as outside: nothing of it is read, listed or found', async () => {
  folder = newFolder({ 'off-limits/secrets/key': canary, 'off-limits/heddle.yaml': canary, 'a/b.txt': 'plain' })
  symlinkSync('off-limits/secrets', join(folder.path, 'way-in'))
  symlinkSync('../off-limits/heddle.yaml', join(folder.path, 'a', 'settings'))
  const paths = ['off-limits', 'off-limits/secrets/key', 'a/../off-limits/heddle.yaml', 'way-in/key', 'a/settings']
  for (const path of paths) {
    for (const [name, input] of [
      ['read_file', { path }],
      ['list_dir', { path }],
      ['search_files', { path, pattern: 'CANARY' }],
      ['resolve_path', { path }],
    ] as const) {
      const { output } = await folder.call(name, input)
      expect(JSON.stringify(output), `${name} ${path}`).not.toMatch(/CANARY|"key|heddle\.yaml {2}/)
    }
    expect((await folder.call('read_file', { path })).status).toBe('forbidden')
  }
  expect(await folder.text('search_files', { pattern: 'CANARY' })).toContain('nothing found')
  expect(await folder.text('search_files', { pattern: '' })).not.toContain('off-limits/')
  expect(await folder.text('read_file', { path: 'a/b.txt' })).toContain('plain')
})
