import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { buildOnce } from './build-once.ts'

test('what several need at once is built by one of them, and nobody sees half of it', async () => {
  const { folder, build, built } = newFolder()
  const seen = await Promise.all(
    Array.from({ length: 3 }, async () => {
      await buildOnce(folder, build)
      return readdirSync(folder)
    }),
  )
  expect({ seen, built }).toEqual({ seen: Array.from({ length: 3 }, () => ['first', 'second']), built: [1] })
})

test('what could not be built is built by the next', async () => {
  const { folder, build, built } = newFolder()
  await expect(buildOnce(folder, () => Promise.reject(new Error('no room')))).rejects.toThrow('no room')
  await buildOnce(folder, build)
  expect({ files: readdirSync(folder), built }).toEqual({ files: ['first', 'second'], built: [1] })
})

function newFolder() {
  const folder = join(mkdtempSync(join(inject('runFolder'), 'build-once-')), 'program')
  const built: number[] = []
  const build = async (directory: string) => {
    built.push(built.length + 1)
    writeFileSync(join(directory, 'first'), '')
    await new Promise(setImmediate)
    writeFileSync(join(directory, 'second'), '')
  }
  return { folder, build, built }
}
