import { afterEach, describe, expect } from 'vitest'
import { shortId } from '../../src/domain/id.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { routeToThread } from '../../src/engine/turns/route.ts'
import { pathWindow } from '../../src/engine/turns/windows.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { gate } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office, type Play } from './test-team.ts'

/** Starts two researchers at "go", and repeats what it is told. */
const delegating: Play = (_, last) => {
  const spawn = (task: string) => ({ name: 'spawn_agent', input: { task, skill: 'researcher' } })
  if (last !== 'go') return { text: `Told: ${last}` }
  return { text: 'I asked the researchers.', calls: [spawn('look here'), spawn('look there'), { name: 'wait' }] }
}

describe.each(databases)('a request that a user stops while only its agents work, on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const runs = () => office.engine.store.read((rows) => runsOf(rows, {}))
  /** The request and a running researcher, once the coordinator's own turn has ended. */
  const researching = () =>
    office.until(async (rows) => {
      const [root, ...others] = await runsOf(rows, {})
      const working = others.find(({ agent, state }) => agent === 'researcher' && state === 'running')
      return root?.finishedAt != null && working ? { root } : undefined
    })
  /** The turns of the session as a chat shows them. */
  const window = () =>
    office.engine.store.read(async (rows) => {
      const turns = await pathWindow(rows, await routeToThread(rows, 'main', office.folder), {})
      return turns.rows.map(({ response, stopped }) => ({ words: response.content, stopped }))
    })
  const completed = (count: number) =>
    office.until(async (rows) => (await runsOf(rows, { state: 'completed' })).length === count)

  test('is cancelled, and says which agents were stopped', async () => {
    const held = gate()
    office = await newOffice(database, { coordinator: delegating, researcher: () => ({ gate: held }) })
    const item = await office.say('go')
    const { root } = await researching()
    await cancel(office.engine, root.id, 'stopped by Ctrl-C')
    const answer = await office.heard(item)
    const stopped = (await runs()).filter(({ state }) => state === 'cancelled')
    expect(stopped).toHaveLength(2)
    const names = stopped.map(({ id }) => `@researcher (run:${shortId(id)})`).join(', ')
    const message = `stopped by Ctrl-C; not finished: ${names}`
    expect(answer).toMatchObject({
      ok: false,
      status: 'cancelled',
      text: `I asked the researchers.\n\nCancelled: ${message}`,
      runId: root.id,
      error: { code: 'cancelled', message, remedy: `try again: heddle retry run:${root.id}` },
    })
    expect(answer.turns).toHaveLength(1)
    expect(await window()).toEqual([
      {
        words: 'I asked the researchers.',
        stopped: {
          reason: 'stopped by Ctrl-C',
          unfinished: stopped.map(({ id }) => ({ runId: id, agent: 'researcher' })),
        },
      },
    ])
  })

  test('names only the agents that had not ended', async () => {
    const held = gate()
    office = await newOffice(database, {
      coordinator: delegating,
      researcher: (said) => (said.join().includes('look here') ? { text: 'Found it.' } : { gate: held }),
    })
    const item = await office.say('go')
    const { root } = await researching()
    await completed(2)
    await cancel(office.engine, root.id, 'enough')
    const { status, error } = await office.heard(item)
    expect({ status, message: error?.message.replace(/run:\w+/, 'run:ID') }).toEqual({
      status: 'cancelled',
      message: 'enough; not finished: @researcher (run:ID)',
    })
  })

  test('is cancelled too while the results of its agents wait behind another question', async () => {
    const [held, busy] = [gate(), gate()]
    office = await newOffice(database, {
      coordinator: (said, last, request) =>
        last === 'another' ? { gate: busy, text: 'Yes.' } : delegating(said, last, request),
      researcher: () => ({ gate: held, text: 'Found it.' }),
    })
    const item = await office.say('go')
    const { root } = await researching()
    const another = await office.say('another')
    await busy.reached
    held.open()
    await completed(3)
    await cancel(office.engine, root.id, 'stopped by Ctrl-C')
    expect(await office.heard(item)).toMatchObject({
      status: 'cancelled',
      text: 'I asked the researchers.\n\nCancelled: stopped by Ctrl-C; results not processed',
    })
    busy.open()
    expect(await office.heard(another)).toMatchObject({ status: 'completed', text: 'Yes.' })
  })

  test('that has ended stays as it ended', async () => {
    office = await newOffice(database, { coordinator: delegating, researcher: () => ({ text: 'Found it.' }) })
    const item = await office.say('go')
    const before = await office.heard(item)
    await cancel(office.engine, before.runId ?? '', 'too late')
    expect(before.status).toBe('completed')
    expect(await office.heard(item)).toEqual(before)
    expect((await window()).map(({ stopped }) => stopped)).toEqual([undefined, undefined])
  })

  test('is not cancelled if only one of its agents is: the coordinator is told and answers', async () => {
    const held = gate()
    office = await newOffice(database, {
      coordinator: delegating,
      researcher: (said) => (said.join().includes('look here') ? { text: 'Found it.' } : { gate: held }),
    })
    const item = await office.say('go')
    await researching()
    await completed(2)
    const [one] = (await runs()).filter(({ state }) => state === 'running')
    await cancel(office.engine, one?.id ?? '', 'not this one')
    expect(await office.heard(item)).toMatchObject({ status: 'completed', text: expect.stringContaining('Told: ') })
  })
})
