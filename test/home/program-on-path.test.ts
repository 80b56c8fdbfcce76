import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { isWithin } from '../../src/domain/tools/within.ts'
import { programOnPath } from '../../src/home/program-on-path.ts'

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-path-')))
afterAll(() => rmSync(place, { recursive: true, force: true }))
const at = (path: string) => join(place, path)
for (const directory of ['work/bin', 'links', 'good', 'later', 'plain', 'named/tell'])
  mkdirSync(at(directory), { recursive: true })
for (const directory of ['work/bin', 'good', 'later']) writeFileSync(at(`${directory}/tell`), '', { mode: 0o755 })
writeFileSync(at('plain/tell'), '', { mode: 0o644 })
symlinkSync(at('work/bin/tell'), at('links/tell'))
symlinkSync(at('work/bin'), at('linked'))

const find = (...entries: string[]) => programOnPath('tell', entries.join(':'), (path) => isWithin(path, at('work')))

test('a program is found in the first entry that has one', () => {
  expect(find(at('nowhere'), at('plain'), at('named'), at('good'), at('later'))).toEqual({ program: at('good/tell') })
  expect(find(at('plain'), '')).toEqual({ passedOver: undefined })
})

test.each(['work/bin', 'links', 'linked'])('not where somebody else could have put it: %s', (unsafe) => {
  expect(find(at(unsafe), at('good'))).toEqual({ program: at('good/tell') })
  expect(find(at(unsafe))).toEqual({ passedOver: at(`${unsafe}/tell`) })
})

test('not by an entry that is no whole path', () => {
  const before = process.cwd()
  process.chdir(at('good'))
  try {
    expect(find('.', '', '../good')).toEqual({ passedOver: undefined })
  } finally {
    process.chdir(before)
  }
})
