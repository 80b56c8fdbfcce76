import { afterAll, beforeAll, describe, expect, inject } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { type Cycle, runCycle, whileAsking, whileStalling } from './cycle.ts'
import { type Ground, layGround } from './fixture.ts'

const patience = 120_000
let ground: Ground

beforeAll(async () => {
  ground = await layGround(inject('runFolder'))
}, patience)
afterAll(() => ground.remove())

describe.concurrent.each(databases)('a process that falls silent on %s', (name) => {
  const test = testOn(name)
  const database = () => (name === 'sqlite' ? 'sqlite' : inject('postgresUrl'))

  test(
    'F05: stopped in the middle of unsafe calls for longer than its lease writes nothing more for a run that is not its own',
    () => sleeps({ scenario: 'tools', at: ['tool.after_run#1'] }),
    patience,
  )

  test(
    'F05: stopped while the provider answers for longer than its lease does nothing with the answer',
    () => sleeps({ scenario: 'two', at: [whileAsking] }),
    patience,
  )

  test(
    'F38: whose event loop stands still for longer than its lease does not go on with what another has ended',
    () => sleeps({ scenario: 'stall', at: [whileStalling] }),
    patience,
  )

  test(
    'F38: whose event loop stands still for longer than its lease, and that nobody takes for dead, claims its run again',
    async () => {
      const cycle: Cycle = { scenario: 'stall', database: database(), mode: 'alone', at: [], leaseSeconds: 2 }
      const { claims, problems } = await runCycle(ground, cycle)
      // On a busy machine a lease of two seconds may be lost once more.
      expect({ isClaimedAgain: claims > 1, problems }).toEqual({ isClaimedAgain: true, problems: [] })
    },
    patience,
  )

  /** It sleeps, another takes over and ends the run, it wakes; what the other left must be as it was. */
  async function sleeps(cycle: Pick<Cycle, 'scenario' | 'at'>): Promise<void> {
    const { killed, claims, problems } = await runCycle(ground, { database: database(), mode: 'asleep', ...cycle })
    expect({ slept: killed, wasTakenOver: claims > 1, problems }).toEqual({
      slept: 1,
      wasTakenOver: true,
      problems: [],
    })
  }
})
