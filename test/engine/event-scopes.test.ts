import { afterEach, describe, expect } from 'vitest'
import { type Event, isAboutRun } from '../../src/domain/event.ts'
import { whenEnded } from '../../src/engine/run/request.ts'
import { append } from '../../src/engine/turns/append.ts'
import { rename } from '../../src/engine/turns/sessions.ts'
import { recordEvent } from '../../src/store/rows/events.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { migrations } from '../../src/store/schema-version.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { visibleEvents } from '../setup/visible-events.ts'
import { emptyWorld } from '../store/filled-world.ts'
import { folder, newEngine, type TestEngine } from './engine.ts'
import { family } from './family.ts'
import { newOffice, type Office, planner, planningCoordinator } from './test-team.ts'

describe.each(databases)('events on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine | undefined
  let office: Office | undefined
  afterEach(async () => {
    await under?.remove()
    await office?.remove()
    under = undefined
    office = undefined
  })

  test('name the session and the request of every run, turn and session that they are about', async () => {
    const { model, tools } = family(2, () => under as TestEngine)
    under = await newEngine(database, model, { tools })
    await under.work()
    const { itemId } = await under.say('go')
    await whenEnded(under.engine, itemId, new AbortController().signal)
    const { store } = under.runtime
    const events = await visibleEvents(store)
    const runs = await store.read((rows) => runsOf(rows, {}))
    const sessions = await store.read((rows) => findSessions(rows))
    const root = runs.find(({ parentRunId }) => parentRunId === null)
    expect(runs.length).toBeGreaterThan(3)
    for (const run of runs) {
      const scopes = events.filter(({ subject }) => subject === `run:${run.id}`).map(({ payload }) => payload)
      expect(scopes.length).toBeGreaterThan(1)
      for (const payload of scopes) expect(payload).toMatchObject({ sessionId: run.sessionId, root: root?.id })
    }
    // The session of an agent is named by its run.
    for (const { label, id } of sessions.filter(({ kind }) => kind !== 'agent'))
      expect(events.find(({ subject }) => subject === `session:${label}`)?.payload).toMatchObject({ sessionId: id })
    expect(events.filter(({ payload }) => payload['sessionId'] === undefined)).toEqual([])
    expect(events.filter((event) => isAboutRun(event, root?.id ?? ''))).toEqual(events.filter(isOfRequest))
  })

  test('name them for plans and tasks, too', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }),
      researcher: () => ({ text: 'Found.' }),
    })
    await office.ask('go')
    const events = await visibleEvents(office.engine.store)
    const [first] = await office.engine.store.read((rows) => runsOf(rows, {}))
    const planned = events.filter(({ kind }) => kind === 'plan.changed' || kind === 'task.changed')
    expect(new Set(planned.map(({ kind }) => kind)).size).toBe(2)
    for (const { payload } of planned)
      expect(payload).toMatchObject({ sessionId: first?.sessionId, root: first?.rootRunId })
  })

  test('name a session by its id, which a rename does not change, and a hand-made turn’s own request', async () => {
    const { store, ...runtime } = await emptyWorld(database)
    const { session } = await append({ ...runtime, store }, { folder, label: 'main', draft })
    await rename({ ...runtime, store }, folder, 'main', 'other')
    const [run] = await store.read((rows) => runsOf(rows, {}))
    const events = await visibleEvents(store)
    expect(events.map(({ kind, payload: { sessionId, root } }) => ({ kind, sessionId, root }))).toEqual([
      { kind: 'session.created', sessionId: session.id, root: undefined },
      { kind: 'turn.added', sessionId: session.id, root: run?.id },
      { kind: 'session.renamed', sessionId: session.id, root: undefined },
    ])
  })

  test('of an earlier version that are about runs and turns get theirs when the schema is upgraded', async () => {
    const now = await emptyWorld(database)
    const { session, turnId } = await append(now, { folder, label: 'main', draft })
    const [run] = await now.store.read((rows) => runsOf(rows, {}))
    const subject = `run:${run?.id}`
    await now.store.write('step', (tx) =>
      recordEvent(tx, { at: 1, kind: 'run.ended', subject, payload: {}, scope: null }),
    )
    await now.store.write('step', async (tx) => {
      await tx.run(tx.build.updateTable('events').set({ session_id: null, root_run_id: null }))
      const upgrade = migrations.find(({ id }) => id === 20)?.up(now.store.dialect.types) ?? []
      for (const sql of upgrade.filter((each) => each.startsWith('UPDATE events')))
        await tx.run({ prepare: () => ({ sql, parameters: [] }) })
    })
    const events = await visibleEvents(now.store)
    const scope = { sessionId: session.id, root: run?.id }
    expect(events.find((event) => event.subject === subject)?.payload).toEqual(scope)
    expect(events.find((event) => event.subject === `turn:${turnId}`)?.payload).toMatchObject(scope)
  })
})

const draft = { query: [{ content: 'hello' }], response: { content: 'hi' } }

function isOfRequest({ kind }: Event): boolean {
  return kind !== 'session.created'
}
