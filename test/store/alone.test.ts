import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { start } from '../contract/program.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-alone-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('processes that upgrade a file take turns, although each takes its lock file away', async () => {
  const asked = { file: join(folder, 'db'), turns: 700 }
  const programs = [1, 2, 3].map(() => start('../store/programs/take-turns', asked))
  for (const program of programs) expect(await program.hear()).toBe('ready')
  for (const program of programs) program.tell('go')
  for (const program of programs) expect(await program.hear()).toEqual({ overlaps: 0, troubles: [] })
  expect(readdirSync(folder)).toEqual([])
})
