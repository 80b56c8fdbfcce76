import { describe, expect, onTestFinished, test } from 'vitest'
import { append } from '../../src/engine/turns/append.ts'
import { openStore } from '../../src/store/open.ts'
import { countTurns } from '../../src/store/rows/turns.ts'
import { systemRandom } from '../../src/system.ts'
import { isLong } from '../setup/long.ts'
import { databases, newPlace, newTestRuntime } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import type { Appending, Said } from './appender.ts'
import { bundled, type Program, start } from './program.ts'
import { expectSound, expectWhole } from './whole.ts'

const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }

describe.each(databases)('several processes on %s', (database) => {
  async function newContractWorld() {
    const runtime = await newTestRuntime(database)
    onTestFinished(runtime.remove)
    return runtime
  }

  test('four processes on two sessions neither lose nor interleave a turn', async () => {
    const runtime = await newContractWorld()
    const programs = await four({ place: runtime.place, labels: ['left', 'right'], turns: 15 })
    const said = (await together(programs)).flat()
    expect(codesOf(said)).toEqual([])
    expect(await expectWhole(runtime, turnIdsOf(said))).toEqual([60, 60])
  })

  test('four processes that open a new place at once find one whole database', async () => {
    const { place, remove } = newPlace(database)
    onTestFinished(remove)
    const programs = await four({ place, labels: ['main'], turns: 1 })
    const said = (await together(programs)).flat()
    const store = await openStore(place, context)
    const count = await store.read(countTurns)
    await store.close()
    expect({ acknowledged: turnIdsOf(said).length, count }).toEqual({ acknowledged: 4, count: 4 })
  })

  test('processes that start the same new session at once all get their turns in', async () => {
    const runtime = await newContractWorld()
    const labels = Array.from({ length: 10 }, (_, number) => `new-${number}`)
    const said = (await together(await four({ place: runtime.place, labels, turns: 1 }))).flat()
    expect(codesOf(said)).toEqual([])
    expect(await expectWhole(runtime, turnIdsOf(said))).toEqual(labels.map(() => 4))
  })

  test('of four processes that extend the same head one does and the others are told not_head', async () => {
    const runtime = await newContractWorld()
    const { turnId } = await append(runtime, { folder: '/contract', label: 'main', draft })
    const programs = await four({ place: runtime.place, labels: ['main'], turns: 1, parentTurnId: turnId })
    const said = (await together(programs)).flat()
    expect(codesOf(said)).toEqual(['not_head', 'not_head', 'not_head'])
    expect(await expectWhole(runtime, [turnId, ...turnIdsOf(said)])).toEqual([2])
  })

  test.for(isLong ? [1, 2, 3] : [1])(
    'a process killed at a random moment takes nothing acknowledged along (round %i)',
    async () => {
      const runtime = await newContractWorld()
      const appending: Appending = { place: runtime.place, labels: ['left', 'right'], turns: 15 }
      // More than it can do before we come to kill it, however late that is.
      const programs = await four(appending, { ...appending, turns: 100_000 })
      const victim = programs[0] as Program
      await Promise.all(programs.map((program) => program.hear()))
      for (const program of programs) program.tell('go')
      const heard: unknown[] = []
      for (let acknowledged = (systemRandom.bytes(1)[0] ?? 0) % 12; acknowledged >= 0; acknowledged--)
        heard.push(await victim.hear())
      victim.kill('SIGKILL')
      const rest = await Promise.all(programs.map((program) => program.hearAll()))
      const said = [...heard, ...rest.flat()] as Said[]

      expect(await Promise.all(programs.map(({ end }) => end))).toEqual(['SIGKILL', 0, 0, 0])
      expect(codesOf(said)).toEqual([])
      await expectWhole(runtime, turnIdsOf(said))
    },
  )

  test.for([
    { point: 'append.before_commit', stored: 2 },
    { point: 'append.after_commit', stored: 3 },
  ])('a process that dies at $point leaves $stored turns when it was writing the third', async ({ point, stored }) => {
    const runtime = await newContractWorld()
    const dying = { env: { HEDDLE_CRASH_AT: `${point}#3` } }
    const program = start(
      await bundled('appender'),
      { place: runtime.place, labels: ['main'], turns: 5 } satisfies Appending,
      dying,
    )
    const [said] = await together([program])
    expect(await program.end).toBe('SIGKILL')
    expect(turnIdsOf(said ?? []).length).toBe(2)
    expect(await expectWhole(runtime, turnIdsOf(said ?? []))).toEqual([stored])
    await append(runtime, { folder: '/contract', label: 'main', draft })
    expectSound(runtime.place)
  })
})

async function four(appending: Appending, ofFirst = appending): Promise<Program[]> {
  const program = await bundled('appender')
  return Array.from({ length: 4 }, (_, at) => start(program, at === 0 ? ofFirst : appending))
}

/** Lets all programs begin at the same moment, and answers what each had to say. */
async function together(programs: Program[]): Promise<Said[][]> {
  await Promise.all(programs.map((program) => program.hear()))
  for (const program of programs) program.tell('go')
  return Promise.all(programs.map(async (program) => (await program.hearAll()) as Said[]))
}

function turnIdsOf(said: Said[]): string[] {
  return said.flatMap((line) => ('turnId' in line ? line.turnId : []))
}

function codesOf(said: Said[]): string[] {
  return said.flatMap((line) => ('code' in line ? line.code : []))
}
