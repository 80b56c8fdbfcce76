import { afterEach, describe, expect, test } from 'vitest'
import { addJob, type JobAuthor } from '../../src/engine/jobs/change-job.ts'
import { fireJob } from '../../src/engine/jobs/fire.ts'
import { databases } from '../setup/places.ts'
import { narrate } from './narrating.ts'
import { newOffice, type Office } from './test-team.ts'

const draft = {
  name: 'look',
  schedule: { kind: 'event', name: 'go' },
  content: 'look around',
  payload: 'agentTurn',
} as const
const author: JobAuthor = { principal: 'owner', label: { integrity: 'trusted', sources: [] } }

describe.each(databases)('the narrative of a folder on %s', (database) => {
  let office: Office
  afterEach(() => office.remove())

  test('is in the first request of a talk, and not in a fire of a job that begins anew each time', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'Noted.' }) })
    const { engine, folder } = office
    await narrate(engine.store, folder, { summary: 'The last fire found three faults.' })
    const job = await engine.store.write('job', (tx) => addJob(tx, { ...draft, folder }, author, engine.clock.now()))
    await fireJob(engine, job, { kind: 'manual' })
    // Runs begin in the order of their requests.
    await office.ask('hello')
    const requests = office.requestsOf('coordinator')
    const noteOf = (content: string) =>
      requests.find(({ messages }) => messages.at(-1)?.content === content)?.note ?? 'no note'
    expect(noteOf('hello')).toContain('The last fire found three faults.')
    expect(requests).toHaveLength(2)
    expect(noteOf('look around')).not.toContain('The last fire found three faults.')
  })
})
