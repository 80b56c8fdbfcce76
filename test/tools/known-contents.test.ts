import { mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { systemClock } from '../../src/system.ts'
import { hashOf } from '../../src/tools/files/content-hash.ts'
import { fileThreads } from '../../src/tools/files/file-threads.ts'
import { fileTimes } from '../../src/tools/files/fingerprint.ts'
import { readMarks } from '../../src/tools/files/survey.ts'
import { KnownContents } from '../../src/tools/guard/known-contents.ts'

test('a file that another command changes between the survey and the reading is known as it was read', async () => {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-known-')))
  const folder = { folder: path, path: '.', protect: nothingProtected }
  const { signal } = new AbortController()
  const threads = fileThreads(systemClock)
  writeFileSync(join(path, 'a.txt'), 'one line\n')
  const seen = await threads.perform({ survey: folder }, signal)
  if (typeof seen === 'string') throw new Error(`the survey was ${seen}`)
  writeFileSync(join(path, 'a.txt'), 'one line\nand another\n')
  const contents = await new KnownContents(threads).of(folder, readMarks(seen.marks), signal)
  const bytes = Buffer.from('one line\nand another\n')
  const times = fileTimes(statSync(join(path, 'a.txt')))
  expect(contents).toEqual(new Map([['a.txt', { sha256: hashOf(bytes), bytes, times }]]))
  rmSync(path, { recursive: true })
})
