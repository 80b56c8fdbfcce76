import { expect, onTestFinished, test } from 'vitest'
import { runsOf } from '../../src/store/rows/runs.ts'
import { gate, manualClock, scriptedModel } from '../../src/testing.ts'
import { newEngine } from './engine.ts'

test('runs that are ready together are claimed in one commit, and no more of them than there is room for', async () => {
  const door = gate()
  let commits = 0
  const under = await newEngine(
    'sqlite',
    scriptedModel(() => ({ text: 'done', gate: door })),
    {
      // A commit takes what comes within a few milliseconds: here no time passes.
      clock: manualClock(),
      limits: { maxRunning: 4, lanes: { agents: 4 } },
      crash: (point) => {
        if (point === 'claim.after_commit') commits++
      },
    },
  )
  onTestFinished(() => under.remove())
  for (const label of ['a', 'b', 'c', 'd', 'e']) await under.say('go', { label })
  await under.work()
  await under.until(async (rows) => (await runsOf(rows, { state: 'running' })).length === 4)
  expect(commits).toBe(1)
  expect(await under.runtime.store.read((rows) => runsOf(rows, { state: 'queued' }))).toHaveLength(1)
  door.open()
  for (const label of ['a', 'b', 'c', 'd', 'e']) await under.turns(1, label)
  expect(under.troubles).toEqual([])
})
