import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { append } from '../../src/engine/append.ts'
import { openStore } from '../../src/store/open.ts'
import { context, newWorld } from '../setup/places.ts'
import type { Appending, Said } from './appender.ts'
import type { FullDisk } from './full-disk.ts'
import { start } from './program.ts'
import { expectWhole } from './whole.ts'

const kB = 1024
const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }

describe('F14: a full disk', () => {
  test('refuses the large body of a batch, stores the small ones around it, and goes on when there is room', async () => {
    const program = onSmallDisk({ left: 200 * kB, batches: [{ a: 100, large: 1000 * kB, b: 100 }, { c: 100 }] })
    expect(await program.hear()).toEqual({
      outcomes: ['a stored', 'large disk_full, retry later', 'b stored', 'c stored', 'last stored'],
      stored: ['a', 'b', 'c', 'first', 'last'],
    })
    expect(await program.hear()).toEqual([{ integrity_check: 'ok' }])
  })

  test('does not hold a body liable for what the one before it filled', async () => {
    const program = onSmallDisk({ left: 400 * kB, batches: [{ a: 100, large: 1900 * kB, medium: 250 * kB, b: 100 }] })
    expect(await program.hear()).toEqual({
      outcomes: ['a stored', 'large disk_full, retry later', 'medium stored', 'b stored', 'last stored'],
      stored: ['a', 'b', 'first', 'last', 'medium'],
    })
    expect(await program.hear()).toEqual([{ integrity_check: 'ok' }])
  })

  test('without any room keeps what was acknowledged and refuses the rest', async () => {
    const program = onSmallDisk({ left: 0, batches: [{ a: 100, b: 100 }, { c: 100 }] })
    expect(await program.hear()).toEqual({
      outcomes: ['a', 'b', 'c'].map((name) => `${name} disk_full, retry later`).concat('last stored'),
      stored: ['first', 'last'],
    })
    expect(await program.hear()).toEqual([{ integrity_check: 'ok' }])
  })
})

test('F15: after a failed fsync nothing is acknowledged any more, and a restart finds what was', async () => {
  const { acknowledged, refusals, world } = await appendWith('fsync,fdatasync:error=EIO:when=12')
  expect(new Set(refusals)).toEqual(new Set(['storage_failed']))
  expect(acknowledged.length).toBeGreaterThan(0)
  const [stored] = await expectWhole(world, acknowledged)
  expect([acknowledged.length, acknowledged.length + 1]).toContain(stored)
  await append(world, { folder: '/contract', label: 'main', draft })
})

// The steps are odd, so that over many turns every write of a commit is hit.
test.for(['61+37', '47+53', '50+71'])('F16: a write that finds no space (%s) is all or nothing', async (which) => {
  const { acknowledged, refusals, world } = await appendWith(`pwrite64:error=ENOSPC:when=${which}`)
  expect(new Set(refusals)).toEqual(new Set(['disk_full']))
  expect(acknowledged.length).toBeGreaterThan(0)
  expect(await expectWhole(world, acknowledged)).toEqual([acknowledged.length])
})

test.for([90, 100, 115])('F16: a write that fails (the %ith) is all or nothing', async (which) => {
  const { acknowledged, refusals, world } = await appendWith(`pwrite64:error=EIO:when=${which}`)
  expect(new Set(refusals)).toEqual(new Set(['storage_failed']))
  expect(acknowledged.length).toBeGreaterThan(0)
  expect(await expectWhole(world, acknowledged)).toEqual([acknowledged.length])
})

/** Adds turns in a process whose system calls fail as told; answers what it heard, and the world after a restart. */
async function appendWith(fault: string) {
  const world = await newWorld('sqlite')
  await world.store.close()
  const appending: Appending = { place: world.place, labels: ['main'], turns: 25 }
  const under = ['strace', '-o', '/dev/null', '--seccomp-bpf', '-f', '-e', 'trace=pwrite64,fsync,fdatasync']
  const program = start('appender', appending, { under: [...under, '-e', `inject=${fault}`] })
  await program.hear()
  program.tell('go')
  const said = (await program.hearAll()) as Said[]
  const again = { ...world, store: await openStore(world.place, context) }
  onTestFinished(async () => {
    await again.store.close()
    await world.remove()
  })
  return {
    acknowledged: said.flatMap((line) => ('turnId' in line ? line.turnId : [])),
    refusals: said.flatMap((line) => ('code' in line ? line.code : [])),
    world: again,
  }
}

/** Runs the program on a disk of 4 MB that only it sees, and that goes with it. */
function onSmallDisk(scene: Omit<FullDisk, 'directory'>) {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-disk-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const root = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
  const mount = `mount -t tmpfs -o size=4m tmpfs '${directory}' && exec "$0" "$@"`
  return start('full-disk', { ...scene, directory } satisfies FullDisk, {
    under: ['unshare', ...root, '--mount', 'sh', '-c', mount],
  })
}
