import { describe, expect, inject, test } from 'vitest'
import { type Cycle, runCycle } from './cycle.ts'
import type { Scenario } from './scenarios.ts'

// The short version of `npm run crash`: each point once. The discovery is written down here so that a point that is
// no longer passed is noticed.
const commits = ['migrate', 'identify', 'owner', 'submit', 'claim', 'step', 'settle']
const commitPoints = commits.flatMap((area) => [`${area}.before_commit`, `${area}.after_commit`])
const modelPoints = ['model.before_request', 'model.after_reply']
const toolPoints = ['tool.before_run', 'tool.after_run']
// The second step of `tools` journals the reply with its calls; the others end calls.
const laterSteps = [2, 3].flatMap((n) => [`step.before_commit#${n}`, `step.after_commit#${n}`])

// Far more than it takes: a machine that does other things, too, is no failure.
const patience = 120_000
const postgres = () => inject('postgresUrl')

describe('a process that is killed', () => {
  test(
    'F01: at every commit of a turn leaves nothing undone and nothing done twice',
    () => judged('plain', 'sqlite', commitPoints),
    patience,
  )

  test(
    'F02: between a reply and its commit asks again, and both calls are in the ledger',
    () => judged('plain', 'sqlite', modelPoints),
    patience,
  )

  test(
    'F01: among tool calls of every effect repeats what may be repeated and tells of the rest',
    () => judged('tools', 'sqlite', [...commitPoints, ...modelPoints, ...toolPoints, ...laterSteps]),
    patience,
  )

  test(
    'F12: again and again while it recovers leaves one outcome',
    async () => {
      const during = ['owner.after_commit', 'recover.before_commit', 'recover.after_commit', 'claim.after_commit']
      const kills = ['model.after_reply', ...Array.from({ length: 8 }, (_, at) => during[at % during.length] ?? '')]
      const { killed, problems } = await runCycle({ scenario: 'plain', database: 'sqlite', kills })
      expect({ problems, wasKilledOften: killed > 5 }).toEqual({ problems: [], wasKilledOften: true })
    },
    patience,
  )

  test(
    'F01: on PostgreSQL leaves its runs to whoever sees that its lease has passed',
    () =>
      judged('tools', postgres(), [
        'claim.after_commit',
        'model.after_reply',
        'tool.after_run',
        'settle.before_commit',
      ]),
    patience,
  )
})

/** Kills at each point in a world of its own, two at a time, and expects each kill to be reached and forgiven. */
async function judged(scenario: Scenario, database: string, points: string[]): Promise<void> {
  const left = points.map((at): Cycle => ({ scenario, database, kills: [at] })).values()
  const outcomes: object[] = []
  const lane = async () => {
    for (const cycle of left) {
      const { killed, problems } = await runCycle(cycle)
      outcomes.push({ HEDDLE_CRASH_AT: cycle.kills[0], killed, problems })
    }
  }
  await Promise.all([lane(), lane()])
  const byPoint = (a: object, b: object) => JSON.stringify(a).localeCompare(JSON.stringify(b))
  const expected = points.map((at) => ({ HEDDLE_CRASH_AT: at, killed: 1, problems: [] }))
  expect(outcomes.sort(byPoint)).toEqual(expected.sort(byPoint))
}
