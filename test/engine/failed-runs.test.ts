import { afterEach, describe, expect, test } from 'vitest'
import { listedRuns } from '../../src/store/rows/run-lists.ts'
import { ModelFailure } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { heard, scansIn } from './heard.ts'
import { newOffice, type Office } from './test-team.ts'

const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })

let office: Office
afterEach(() => office.remove())

describe.each(databases)('failed runs on %s', (database) => {
  test('are listed by their own index, whatever else there is', async () => {
    office = await newOffice(database, {
      coordinator: (said) => (said.at(-1) === 'fail' ? { fail } : { text: 'fine' }),
    })
    const failed = await office.ask('fail')
    await office.ask('go')
    const asked = new Set<string>()
    const { store } = office.engine
    const found = await heard(store, asked).read((rows) => listedRuns(rows, { failed: true }, { limit: 10 }))
    expect(found.map(({ run }) => [run.id, run.state])).toEqual([[failed.runId, 'failed']])
    if (database !== 'sqlite') return
    // The rows that the index gives are gone through once more, to add their facts.
    const [first] = scansIn(store.place, asked)
    expect(first).toMatch(/^SCAN runs USING INDEX runs_failed: /)
  })
})
