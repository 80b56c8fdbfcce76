import { afterAll, expect, test, vi } from 'vitest'
import { attackClasses, checkoutProgram, sampleOf } from './classes.ts'
import { Arenas, runClass } from './run.ts'

// The short form of `npm run attack`: a few tries of each class, all against the same daemons.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

/** How many tries that share a request, and how many that need one of their own. */
const samples: Record<string, [shared: number, alone: number]> = {
  paths: [96, 0],
  links: [48, 6],
  commands: [0, 16],
  git: [0, 10],
  sockets: [0, 6],
  config: [0, 2],
  agents: [0, 4],
  fields: [0, 24],
  grants: [0, 5],
  questions: [0, 6],
}

const program = checkoutProgram()
const arenas = new Arenas(program)
afterAll(() => arenas.close())

test.each(attackClasses.map((attack) => [attack.name, attack] as const))(
  'a model that obeys an attacker gets nowhere by %s, and ordinary work goes on',
  async (name, attack) => {
    const [shared, alone] = samples[name] ?? [0, 0]
    const only = sampleOf(attack, shared, alone)
    const report = await runClass(attack, arenas, { program, rounds: 1, seed: 1, only, parts: ['work'] })
    const { escapes, invalid, failed } = report
    expect({ escapes, invalid, failed }).toEqual({ escapes: [], invalid: [], failed: [] })
    expect(report.tries).toBe(only.length)
  },
)

test('what is broken by hand is seen by the same checks', async () => {
  for (const attack of attackClasses.filter(({ name }) => name === 'git' || name === 'commands')) {
    const report = await runClass(attack, arenas, { program, rounds: 0, seed: 1, parts: ['controls'] })
    expect(report).toMatchObject({ controls: attack.controls.length, failed: [] })
  }
})
