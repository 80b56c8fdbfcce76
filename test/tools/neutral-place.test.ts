import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { neutralPlace } from '../../src/tools/exec/sandbox/neutral-place.ts'

let secret: string
let placed: Record<string, string>
const made: string[] = []
beforeEach(() => {
  // On the disk of the other names: the temporary folder may be in memory.
  secret = realpathSync(mkdtempSync('/var/tmp/heddle-secret-place-'))
  writeFileSync(join(secret, 'node'), '#!/bin/sh\n', { mode: 0o755 })
  mkdirSync(join(secret, 'npm/bin'), { recursive: true })
  writeFileSync(join(secret, 'npm/bin/npm-cli.js'), 'npm')
  placed = { '/.node/bin/node': join(secret, 'node'), '/.node/lib/npm': join(secret, 'npm') }
})
afterEach(() => {
  for (const path of [secret, ...made.splice(0)]) rmSync(path, { recursive: true, force: true })
})

const neutral = async (folder = '/work/folder') => {
  const found = await neutralPlace()(placed, folder)
  const node = found['/.node/bin/node'] ?? ''
  const directory = dirname(dirname(dirname(node)))
  if (node !== placed['/.node/bin/node']) made.push(directory)
  return { found, node, directory }
}

test('programs get another name that tells nothing of where they lie, and keeps it', async () => {
  const before = process.umask(0o077)
  const { found, node, directory } = await neutral().finally(() => process.umask(before))
  expect(Object.values(found).filter((path) => path.includes('secret') || !path.startsWith('/var/tmp/.node-'))).toEqual(
    [],
  )
  expect(statSync(node).ino).toBe(statSync(join(secret, 'node')).ino)
  expect(readFileSync(join(found['/.node/lib/npm'] ?? '', 'bin/npm-cli.js'), 'utf8')).toBe('npm')
  for (const path of [directory, dirname(node)]) expect(statSync(path).mode & 0o777).toBe(0o755)
  const { ino } = statSync(directory)
  expect((await neutral()).found).toEqual(found)
  expect(statSync(directory).ino).toBe(ino)
})

test('they are copied where the disk is another one, and made again where a part of them was removed', async () => {
  const disk = mkdtempSync('/dev/shm/heddle-secret-place-')
  made.push(disk)
  writeFileSync(join(disk, 'node'), 'another disk', { mode: 0o755 })
  placed = { ...placed, '/.node/bin/node': join(disk, 'node') }
  const { node } = await neutral()
  expect(readFileSync(node, 'utf8')).toBe('another disk')
  rmSync(node)
  await neutral()
  expect(readFileSync(node, 'utf8')).toBe('another disk')
})

test('they stay where they are if the place could be written by others, or is in the folder of the agent', async () => {
  const { directory } = await neutral()
  chmodSync(directory, 0o777)
  expect((await neutral()).found).toEqual(placed)
  expect((await neutral('/var/tmp')).found).toEqual(placed)
})
