import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { bundledWhole, type Program, start } from '../contract/program.ts'
import { inTurn } from '../setup/long.ts'
import { databases, newPlace } from '../setup/places.ts'
import { folder, openHome } from './programs/home.ts'

const patience = { timeout: 120_000 }

let home: string
beforeEach(() => {
  home = join(mkdtempSync(join(tmpdir(), 'heddle-programs-')), 'home')
})
afterEach(() => rmSync(join(home, '..'), { recursive: true, force: true }))

// Little enough that eating it up does not take long.
const small = { NODE_OPTIONS: '--max-old-space-size=64' }

describe.each(databases)('a process that stands still for longer than its lease on %s', patience, (database) => {
  let address: string
  let remove = async () => undefined as unknown
  beforeEach(() => {
    const made = newPlace(database)
    address = made.place.kind === 'sqlite' ? 'sqlite' : made.place.url
    remove = made.remove
  })
  afterEach(() => remove())

  test('F05 loses its run to another, and what it says when it goes on is refused', async () => {
    const program = await bundledWhole('../engine/programs/answering')
    const zombie = start(program, { home, database: address })
    const { itemId } = await hear<{ itemId: string }>(zombie)
    const { asked: first } = await hear<{ asked: string }>(zombie)
    zombie.kill('SIGSTOP')
    const other = start(program, { home, database: address, itemId })
    await hear(other)
    const { asked: second } = await hear<{ asked: string }>(other)
    expect(epochOf(second)).toBeGreaterThan(epochOf(first))
    other.tell('the living')
    expect(await hear(other)).toEqual({ answer: 'the living' })
    zombie.tell('the zombie')
    zombie.kill('SIGCONT')
    expect(await hear(zombie)).toEqual({ answer: 'the living' })
    expect([await zombie.end, await other.end]).toEqual([0, 0])

    const app = await openHome(home, address, scriptedModel([]))
    const turns = await app.log(folder, {})
    expect(turns).toHaveLength(1)
    expect((await app.usage('run')).total.calls).toBe(2)
    expect((await app.runs()).rows).toEqual([])
    await app.close()
  })
})

describe('a run that takes its process down', patience, () => {
  test('F10 by an exit, by eating all memory or by never coming back is given up, and all others are done', async () => {
    // Each alone takes three processes down.
    const poison = inTurn(['exit', 'memory', 'loop'], 1)
    const innocent = ['good 1', 'good 2', 'good 3']
    let deaths = 0
    let questions = [...poison, ...innocent]
    const file = await bundledWhole('../engine/programs/poisoned')
    for (let isQuiet = false; !isQuiet && deaths < 20; ) {
      const program = start(file, { home, questions }, { env: small })
      isQuiet = await untilItEnds(program)
      if (!isQuiet) deaths++
      questions = []
    }
    const app = await openHome(home, 'sqlite', scriptedModel([]))
    const ends = await endsOf(app)
    await app.close()
    expect(ends).toEqual({
      ...Object.fromEntries(poison.map((name) => [name, 'failed'])),
      ...Object.fromEntries(innocent.map((name) => [name.replace(' ', '-'), 'completed'])),
    })
    // Three for each that it alone has caused, and the first, beside others: so long it takes until such a home is up again.
    expect(deaths).toBeLessThanOrEqual(10)
  })
})

/** True when there was nothing left to do; a program that is wedged is killed by whoever watches over it. */
async function untilItEnds(program: Program): Promise<boolean> {
  for (;;) {
    const said = await program.hear().catch(() => undefined)
    if (said === undefined) return false
    if ('quiet' in (said as object)) return (await program.end) === 0
    program.kill('SIGKILL')
  }
}

async function endsOf(app: App): Promise<Record<string, string>> {
  const runs = await app.runs({ all: true })
  return Object.fromEntries(runs.rows.map(({ session, state }) => [session, state]))
}

async function hear<T>(program: Program): Promise<T> {
  return (await program.hear()) as T
}

function epochOf(requestId: string): number {
  return Number(requestId.split('/')[1])
}
