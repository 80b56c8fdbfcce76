import { join } from 'node:path'
import { expect, test } from 'vitest'
import { start } from '../contract/program.ts'
import { newFolder } from './backup-lines.ts'
import { filledPlace } from './filled-world.ts'
import type { Answer, FullDisk, Report } from './programs/fill-disk.ts'

test('F14 a full disk refuses what is new, keeps what was acknowledged, and the same process goes on when there is space', async () => {
  const { backup } = await filledPlace('sqlite')
  const folder = newFolder()
  const disk: FullDisk = { place: { kind: 'sqlite', file: join(folder, 'heddle.db'), durability: 'full' }, backup }
  const program = start('../store/programs/fill-disk', disk, { under: onSmallDisk(folder) })
  const { filling, full, freed, filesWhenFull, stored, integrity } = (await program.hear()) as Report

  const refusal = { code: 'disk_full', retry: 'later', remedy: expect.stringMatching(/^free some space on that disk/) }
  expect(refusals(filling)).toEqual(refusals(filling).map(() => refusal))
  expect(full).toEqual({ append: refusal, backup: refusal, restart: refusal, restore: refusal })
  // No half-written backup takes the space that is missing.
  expect(filesWhenFull.sort()).toEqual(['ballast', 'heddle.db', 'heddle.db-shm', 'heddle.db-wal'])
  expect(refusals(freed)).toEqual([])
  expect(stored.sort()).toEqual([...turnIds(filling), ...turnIds(freed)].sort())
  expect(integrity).toEqual([{ integrity_check: 'ok' }])
})

/** A command that gives the program a disk of its own, which goes when the program ends. */
function onSmallDisk(folder: string): string[] {
  const mount = `mount -t tmpfs -o size=3m tmpfs '${folder}' && exec "$@"`
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
  return ['unshare', ...asRoot, '--mount', '/bin/sh', '-c', mount, 'sh']
}

function turnIds(answers: Answer[]): string[] {
  return answers.flatMap((answer) => ('turnId' in answer ? answer.turnId : []))
}

function refusals(answers: Answer[]): Answer[] {
  return answers.filter((answer) => 'code' in answer)
}
