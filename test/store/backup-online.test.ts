import { expect, test } from 'vitest'
import { restoreBackup } from '../../src/store/restore.ts'
import type { Appending, Said } from '../contract/appender.ts'
import { type Program, start } from '../contract/program.ts'
import { expectWhole } from '../contract/whole.ts'
import { context, databases } from '../setup/places.ts'
import { backupOf } from './backup-lines.ts'
import { emptyPlace, openWorld } from './filled-world.ts'

const turns = 150

test.each(databases)(
  'F37 a backup of %s taken while four processes write is whole and has every turn acknowledged before it',
  async (database) => {
    const world = await openWorld(emptyPlace(database))
    const appending: Appending = { place: world.place, labels: [], turns }
    const programs = ['a', 'b', 'c', 'd'].map((label) =>
      start('appender', { ...appending, labels: [label, 'shared'] } satisfies Appending),
    )
    await Promise.all(programs.map((program) => program.hear()))
    for (const program of programs) program.tell('go')
    const before = (await Promise.all(programs.map(hearTen))).flat()

    const file = await backupOf(world.store)
    await Promise.all(programs.map((program) => program.hearAll()))
    const place = emptyPlace(database)
    const restored = await restoreBackup(place, file, { context })

    const copy = await openWorld(place)
    const lengths = await expectWhole(copy, before)
    expect(lengths.reduce((sum, length) => sum + length)).toBe(restored.turns)
    // Otherwise the writers had stopped, and nothing was shown.
    expect(restored.turns).toBeLessThan(turns * 8)
    await expectWhole(world, before)
  },
)

async function hearTen(program: Program): Promise<string[]> {
  const turnIds: string[] = []
  while (turnIds.length < 10) {
    const said = (await program.hear()) as Said
    if ('turnId' in said) turnIds.push(said.turnId)
  }
  return turnIds
}
