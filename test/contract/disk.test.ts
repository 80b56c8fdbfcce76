import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { FullDisk } from './full-disk.ts'
import { start } from './program.ts'

const kB = 1024

describe('F14: a batch on a full disk', () => {
  test('loses its large body only: the small ones are stored, and all goes on when there is room', async () => {
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

  test('without any room is refused whole, and what was acknowledged stays', async () => {
    const program = onSmallDisk({ left: 0, batches: [{ a: 100, b: 100 }, { c: 100 }] })
    expect(await program.hear()).toEqual({
      outcomes: ['a', 'b', 'c'].map((name) => `${name} disk_full, retry later`).concat('last stored'),
      stored: ['first', 'last'],
    })
    expect(await program.hear()).toEqual([{ integrity_check: 'ok' }])
  })
})

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
