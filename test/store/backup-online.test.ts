import { expect, test } from 'vitest'
import { restoreBackup } from '../../src/store/backup/restore.ts'
import { type Program, start } from '../contract/program.ts'
import { expectWhole } from '../contract/whole.ts'
import { databases } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { backupOf } from './backup-lines.ts'
import { emptyPlace, emptyWorld, openWorld } from './filled-world.ts'
import type { Writing } from './programs/write-on.ts'

test.each(databases)(
  'F37 a backup of %s taken while four processes write is whole and has every turn acknowledged before it',
  async (database) => {
    const runtime = await emptyWorld(database)
    const writing = (label: string): Writing => ({ place: runtime.place, labels: [label, 'shared'] })
    const programs = ['a', 'b', 'c', 'd'].map((label) => start('../store/programs/write-on', writing(label)))
    const before = (await Promise.all(programs.map((program) => hearTurns(program, 20)))).flat()

    const file = await backupOf(runtime.store)
    const after = (await Promise.all(programs.map(stop))).flat()
    const place = emptyPlace(database)
    const { turns } = await restoreBackup(place, file, { context })

    const lengths = await expectWhole(await openWorld(place), before)
    expect(lengths.reduce((sum, length) => sum + length)).toBe(turns)
    expect(turns).toBeLessThan(before.length + after.length)
    await expectWhole(runtime, [...before, ...after])
  },
)

async function hearTurns(program: Program, count: number): Promise<string[]> {
  const turnIds: string[] = []
  while (turnIds.length < count) turnIds.push((await program.hear()) as string)
  return turnIds
}

async function stop(program: Program): Promise<string[]> {
  const [one] = await hearTurns(program, 1)
  program.tell('stop')
  return [one ?? '', ...((await program.hearAll()) as string[])]
}
