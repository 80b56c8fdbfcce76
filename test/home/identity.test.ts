import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ensureHome } from '../../src/home/home.ts'
import { readIdentityFiles } from '../../src/home/identity.ts'

let home: string
beforeEach(() => {
  home = join(mkdtempSync(join(tmpdir(), 'heddle-identity-')), 'home')
})
afterEach(() => rmSync(join(home, '..'), { recursive: true, force: true }))

test('a new home says its rules and its soul; forms that nobody filled in say nothing', async () => {
  await ensureHome(home)
  expect((await readIdentityFiles(home)).map(({ name }) => name)).toEqual(['AGENTS.md', 'SOUL.md'])
})

test('what people wrote is read in a fixed order, without what is empty, and cut where it is too long', async () => {
  await ensureHome(home)
  writeFileSync(join(home, 'USER.md'), 'Ada')
  writeFileSync(join(home, 'SOUL.md'), ' \n')
  writeFileSync(join(home, 'memory/MEMORY.md'), 'x'.repeat(20_005))
  rmSync(join(home, 'AGENTS.md'))
  mkdirSync(join(home, 'AGENTS.md'))
  const files = await readIdentityFiles(home)
  expect(files.map(({ name }) => name)).toEqual(['USER.md', 'memory/MEMORY.md'])
  expect(files[1]?.text).toMatch(/x\n… \[cut: 5 more characters of memory\/MEMORY\.md\]$/)
})
