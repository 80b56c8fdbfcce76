import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'

vi.setConfig({ testTimeout: 120_000 })

const root = join(import.meta.dirname, '..', '..')

/** Runs the one program of a guide, as it stands there, in a folder where this package is installed. */
async function outputOf(guide: string): Promise<string> {
  const [, program = ''] = /```ts\n(.*?)```/s.exec(readFileSync(join(root, 'docs', 'guide', guide), 'utf8')) ?? []
  expect(program.split('\n').length).toBeLessThan(40)
  const place = mkdtempSync(join(tmpdir(), 'heddle-guide-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const installed = join(place, 'installed')
  mkdirSync(join(place, 'node_modules'))
  mkdirSync(installed)
  const exports = { '.': './src/index.ts', './testing': './src/testing.ts' }
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name: 'heddle', type: 'module', exports }))
  symlinkSync(join(root, 'src'), join(installed, 'src'))
  symlinkSync(installed, join(place, 'node_modules', 'heddle'))
  symlinkSync(join(root, 'node_modules', 'zod'), join(place, 'node_modules', 'zod'))
  writeFileSync(join(place, 'program.mts'), program)
  const { stdout } = await promisify(execFile)(process.execPath, ['program.mts'], { cwd: place })
  return stdout
}

test('the program of the guide to a first tool runs as it stands there', async () => {
  expect(await outputOf('first-tool.md')).toBe('The tide in Husum stands at 2.4 m.\n')
})

test('the program of the guide to embedding runs as it stands there', async () => {
  expect(await outputOf('embedding.md')).toMatch(/^completed\nturn:\w{6} hello\n\d+ calls, \$0\n$/)
})
