import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { WorkerHandle } from '../../src/engine/run/claimed-run.ts'
import { executeRun } from '../../src/engine/run/loop.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { insertOwner } from '../../src/store/rows/owners.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { claimNext } from './claim-next.ts'
import { folder, newEngine, type TestEngine } from './engine.ts'
import { family } from './family.ts'
import { newRace, type Process, type Race } from './races.ts'
import { Simulation } from './simulator.ts'
import { violations } from './simulator-checks.ts'
import { type Ground, newGround } from './simulator-ground.ts'
import { Life, type Order, seededChance } from './simulator-schedule.ts'

/** Hands that take nothing more after the run they have. */
const idle: WorkerHandle = {
  signal: new AbortController().signal,
  leaseAtRisk: () => false,
  claimant: () => undefined,
  start: () => undefined,
}

describe('F06 a child that ends at the moment when a message comes for its parent, on SQLite', () => {
  let ground: Ground
  beforeAll(async () => {
    ground = await newGround()
  })
  afterAll(() => ground.remove())

  test('and when the parent answers an earlier one: in each order of the three, all are heard once, by one chain', async () => {
    const problems: Record<string, string[]> = {}
    const orders = await inEachOrder(async (order) => {
      const { passed, found } = await live(order)
      if (found.length > 0) problems[passed.join(', ')] = found
      return passed.join()
    })
    expect(problems).toEqual({})
    // Two steps of the child, two of the parent, one of whoever speaks: 5! / (2! · 2! · 1!) ways.
    expect(orders.size).toBeGreaterThanOrEqual(30)
  })

  /** One world up to the moment when a child, its parent and a person all have one thing left to do. */
  const live = async (order: Order) => {
    let isOpen = false
    const simulation = new Simulation(ground, seededChance(1), {
      order: (ready) => {
        // Whoever only hears that it is done changes nothing: that needs no order.
        const heard = ready.findIndex((what) => what.startsWith('wrote'))
        return isOpen && heard < 0 ? order(ready) : Math.max(0, heard)
      },
    })
    try {
      const actor = async (name: string) => {
        const life = new Life(simulation.schedule, name)
        const engine = simulation.engineOf(life)
        const workerId = engine.newId()
        simulation.locksOf(life).hold(workerId)
        await ground.store.write('owner', (tx) => insertOwner(tx, { id: workerId, pid: 1, startedAt: 0, beatAt: 0 }))
        const claimed = await drive(simulation, claimNext(engine, { workerId }))
        if (!claimed) throw new Error('there was nothing to claim')
        return { life, done: executeRun(engine, claimed, idle) }
      }
      simulation.submit({ label: 's0', content: 'spawn plain' })
      await drive(simulation, simulation.answered())
      await drive(simulation, (await actor('first')).done)
      await drive(simulation, (await actor('child 1')).done)
      simulation.submit({ label: 's0', content: 'plain' })
      await drive(simulation, simulation.answered())
      const actors = [await actor('child 2'), await actor('parent')]
      for (const { life } of actors) await upToItsModel(simulation, life)
      const before = simulation.schedule.passed.length
      isOpen = true
      for (const { life } of actors) life.state = 'awake'
      simulation.submit({ label: 's0', content: 'plain' })
      await drive(simulation, Promise.all([...actors.map(({ done }) => done), simulation.answered()]))
      isOpen = false
      const passed = simulation.schedule.passed.slice(before).map((each) => each.replace(/^\d+ /, '').split(' 1k')[0])
      await ground.store.write('owner', async (tx) => void (await tx.run(tx.build.deleteFrom('owners'))))
      await simulation.quiet()
      await simulation.end()
      return { passed: passed.filter((each) => !each?.includes('wrote')), found: await violations(simulation) }
    } finally {
      await simulation.remove()
    }
  }
})

async function drive<T>(simulation: Simulation, work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  while (!isDone) await simulation.steps(1)
  return done
}

/** Lets it go on until it has asked its model, and no further. */
async function upToItsModel(simulation: Simulation, life: Life): Promise<void> {
  while (!life.waitsFor.startsWith('model')) await simulation.steps(1)
  life.state = 'frozen'
}

/** Lives through every order there is, each once; tells the different ways that were taken. */
async function inEachOrder(live: (order: Order) => Promise<string>): Promise<Set<string>> {
  const ways = new Set<string>()
  for (let path: number[] | undefined = []; path; ) {
    const given: number[] = path
    const taken: { choice: number; of: number }[] = []
    ways.add(
      await live(({ length }) => {
        const choice = given[taken.length] ?? 0
        taken.push({ choice, of: length })
        return choice
      }),
    )
    while (taken.length > 0 && (taken.at(-1)?.choice ?? 0) + 1 >= (taken.at(-1)?.of ?? 0)) taken.pop()
    path =
      taken.length === 0 ? undefined : taken.map(({ choice }, at) => (at === taken.length - 1 ? choice + 1 : choice))
  }
  return ways
}

describe('F06 a child that ends at the moment when a message comes for its parent, on PostgreSQL', () => {
  let under: TestEngine
  let race: Race
  let a: Process
  let b: Process
  beforeEach(async () => {
    const { model, tools } = family(1, () => under)
    under = await newEngine('postgres', model, { tools })
    race = await newRace(under)
    a = race.a
    b = race.b
  })
  afterEach(async () => {
    await race.close()
    await under.remove()
  })

  const say = (of: Process, content: string) => submit(of.engine, { folder, label: 'main', content })
  const run = async (of: Process, claimed = of.claim()) => executeRun(of.engine, await claimed, idle)

  /** Lets the first reach its COMMIT, begins the second, and commits when that waits for it. */
  const interleave = async (
    held: ReturnType<Process['hold']>,
    first: Promise<unknown>,
    second: () => Promise<unknown>,
  ) => {
    await held.reached
    const after = second()
    await race.waits(after)
    held.open()
    await Promise.all([first, after])
  }

  test.each(['the child', 'the message'])('and %s is first: both are heard once, by one chain', async (who) => {
    await say(a, 'go')
    await run(a)
    const child = b.claim()
    await child
    if (who === 'the child') await interleave(b.hold('settle'), run(b, child), () => say(a, 'hello'))
    else await interleave(a.hold('submit'), say(a, 'hello'), () => run(b, child))
    for (
      let left = await claimNext(a.engine, { workerId: a.workerId });
      left;
      left = await claimNext(a.engine, { workerId: a.workerId })
    )
      await executeRun(a.engine, left, idle)
    await heardOnce()
  })

  test.each(['the child', 'the parent'])(
    'and %s, which answers another, is first: both are heard once',
    async (who) => {
      await say(a, 'go')
      await run(a)
      const child = b.claim()
      await child
      await say(a, 'hello')
      const parent = a.claim()
      await parent
      if (who === 'the child') await interleave(b.hold('settle'), run(b, child), () => run(a, parent))
      else await interleave(a.hold('settle'), run(a, parent), () => run(b, child))
      await run(a)
      await heardOnce()
    },
  )

  const heardOnce = async () => {
    const turns = await under.turns(2)
    const heard = turns.flatMap(({ turn }) => turn.queryMessages.map(({ content }) => content.slice(0, 5)))
    expect(heard.sort()).toEqual(['[agen', 'all s', 'go', 'hello'])
    expect(await under.runtime.store.read((rows) => runsOf(rows, { live: true }))).toEqual([])
  }
})
