import { afterAll, expect, test, vi } from 'vitest'
import { inTurn } from '../setup/long.ts'
import { attackClasses, checkoutProgram, sampleOf } from './classes.ts'
import type { ArenaKind } from './ground.ts'
import { Arenas, runClass } from './run.ts'

// The short form of `npm run attack`: a few tries of some classes a day, all against the same daemons.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

/** How many tries that share a request, how many that need one of their own, and in which arenas. */
const samples: Record<string, [shared: number, alone: number, arenas: ArenaKind[]]> = {
  paths: [64, 0, ['plain', 'inside']],
  links: [32, 2, ['plain', 'inside']],
  commands: [0, 4, ['plain', 'inside']],
  git: [0, 4, ['plain', 'around']],
  sockets: [0, 3, ['inside', 'runtime']],
  config: [0, 2, ['inside']],
  agents: [0, 3, ['plain', 'inside']],
  fields: [0, 6, ['plain']],
  grants: [0, 2, ['asking']],
  questions: [0, 3, ['asking']],
}

const program = checkoutProgram()
const arenas = new Arenas(program)
afterAll(() => arenas.close())

test.each(inTurn(attackClasses, 1).map((attack) => [attack.name, attack] as const))(
  'a model that obeys an attacker gets nowhere by %s, and ordinary work goes on',
  async (name, attack) => {
    const [shared, alone, kinds] = samples[name] ?? [0, 0, []]
    const only = sampleOf(attack, shared, alone, kinds)
    const work = attack.work.filter(({ arena }) => kinds.includes(arena)).slice(0, 2)
    const report = await runClass({ ...attack, work }, arenas, { program, rounds: 1, seed: 1, only, parts: ['work'] })
    const { tries, escapes, invalid, failed } = report
    expect({ tries, escapes, invalid, failed }).toEqual({ tries: only.length, escapes: [], invalid: [], failed: [] })
  },
)

// All of them in `npm run attack`; each starts daemons of its own.
test.each(inTurn(['commands', 'git', 'questions'], 1))(
  'what is broken by hand is seen by the checks of %s',
  async (name) => {
    const attack = attackClasses.find((each) => each.name === name)
    if (!attack) throw new Error(`there is no class ${name}`)
    const one = { ...attack, controls: attack.controls.slice(0, 1) }
    const report = await runClass(one, arenas, { program, rounds: 0, seed: 1, parts: ['controls'] })
    expect(report).toMatchObject({ controls: 1, failed: [] })
  },
)
