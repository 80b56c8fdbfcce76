import type { Insertable } from 'kysely'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import { submit } from '../../src/engine/run/submit.ts'
import { append } from '../../src/engine/turns/append.ts'
import type { ExportedTurn } from '../../src/engine/turns/exported-turn.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { rename, setPersona } from '../../src/engine/turns/sessions.ts'
import { exportTurns, importTurns } from '../../src/engine/turns/transfer.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { migrations } from '../../src/store/schema-version.ts'
import type { Tables } from '../../src/store/tables.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { emptyPlace, openWorld } from '../store/filled-world.ts'

const folder = '/here'
const draft = { query: [{ content: 'hello' }], response: { content: 'hi' } }
const badLabel = expect.objectContaining({ code: 'bad_label', remedy: expect.stringMatching(/^choose another/) })
const reserved = [
  'cron:1',
  'Cron:1',
  'hook:abc',
  'agent:coder:subagent:x',
  'agent:coder:main',
  'subagent:x',
  'telegram:1:-1001',
]

describe.each(databases)('kinds of sessions on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
  })
  afterEach(() => runtime.remove())

  const kinds = async () =>
    Object.fromEntries((await runtime.store.read((rows) => findSessions(rows))).map(({ label, kind }) => [label, kind]))

  test.each(reserved)('nobody starts a session %s or gives that label to another', async (label) => {
    const { turnId } = await append(runtime, { folder, label: 'main', draft })
    await expect(submit(runtime, { folder, label, content: 'x' })).rejects.toEqual(badLabel)
    await expect(append(runtime, { folder, label, draft })).rejects.toEqual(badLabel)
    await expect(fork(runtime, { folder, turnId, label })).rejects.toEqual(badLabel)
    expect(() => rename(runtime, folder, 'main', label)).toThrow(badLabel)
    expect(await kinds()).toEqual({ main: 'person' })
  })

  test('labels that only resemble those of the runtime are free', async () => {
    for (const label of ['cron', 'agents:x', 'cronjobs:1', 'my:agent:x', 'fork-abc'])
      await append(runtime, { folder, label, draft })
    expect(new Set(Object.values(await kinds()))).toEqual(new Set(['person']))
  })

  test('a persona whose main session would have a label of the runtime is refused', async () => {
    const persona = { id: 'cron', identity: { name: 'C', soul: '' }, permissions: { tools: {} } }
    await expect(setPersona(runtime, persona)).rejects.toMatchObject({ code: 'bad_persona' })
  })

  test('the narrator’s session takes no input and keeps its label', async () => {
    const talk = await append(runtime, { folder, label: 'main', draft })
    const tells = { sessionId: talk.session.id, topic: 'main', turnId: talk.turnId, previousId: null, memoryIds: [] }
    const label = `agent:narrator:session:${talk.session.id}`
    const { session } = await submit(runtime, { folder, label, content: 'news', tells })
    expect(session).toMatchObject({ kind: 'narrator', narratesId: talk.session.id })
    await expect(submit(runtime, { folder, label, content: 'x' })).rejects.toEqual(badLabel)
    await expect(append(runtime, { folder, label, draft })).rejects.toEqual(badLabel)
    await expect(rename(runtime, folder, label, 'mine')).rejects.toEqual(badLabel)
    expect((await submit(runtime, { folder, label, content: 'more', tells })).session.id).toBe(session.id)
  })

  test('a session keeps its kind through a rename and an export, and a narrator’s becomes an agent’s elsewhere', async () => {
    const other = await newTestRuntime(database)
    try {
      const { narrator } = await addSessions(other)
      const imported = await importTurns(runtime, exported(other))
      expect(imported.sessions.map(({ label }) => label).toSorted()).toEqual(
        ['agent:coder:subagent:1', narrator, 'cron-1', 'main'].toSorted(),
      )
      expect(await kinds()).toEqual({
        'agent:coder:subagent:1': 'agent',
        [narrator]: 'agent',
        'cron-1': 'person',
        main: 'person',
      })
      await rename(runtime, folder, 'agent:coder:subagent:1', 'kept')
      expect(await kinds()).toMatchObject({ kept: 'agent' })
    } finally {
      await other.remove()
    }
  })

  test('an export of an earlier version names no kinds, and its agents’ sessions are still agents’', async () => {
    const other = await newTestRuntime(database)
    try {
      await addSessions(other)
      await importTurns(
        runtime,
        exported(other, ({ kind: _, ...session }) => session),
      )
      expect(await kinds()).toMatchObject({ 'agent:coder:subagent:1': 'agent', main: 'person' })
    } finally {
      await other.remove()
    }
  })

  test('sessions of an earlier version get their kind from their label, once', async () => {
    const place = emptyPlace(database)
    const before = await openWorld(place, { migrations: migrations.filter(({ id }) => id < 20) })
    const labels = [
      'main',
      'cron:1',
      'agent:coder:subagent:1',
      'agent:narrator:session:s0',
      'agent:narrator:session:gone',
      'agent:coder',
    ]
    await before.store.write('session', async (tx) => {
      for (const [index, label] of labels.entries()) {
        const id = `s${index}`
        await tx.run(tx.build.insertInto('segments').values({ id, parent_id: null, fork_depth: 0 }))
        const row = { id, folder, label, segment_id: id, head_turn_id: null, persona_id: null }
        const times = { updated_at: 1, archived_at: null }
        await tx.run(tx.build.insertInto('sessions').values({ ...row, ...times } as Insertable<Tables['sessions']>))
      }
    })
    await before.store.close()
    const { store } = await openWorld(place)
    const found = await store.read((rows) => findSessions(rows))
    expect(found.map(({ label, kind, narratesId }) => [label, kind, narratesId])).toEqual([
      ['main', 'person', null],
      ['cron:1', 'person', null],
      ['agent:coder:subagent:1', 'agent', null],
      ['agent:narrator:session:s0', 'narrator', 's0'],
      ['agent:narrator:session:gone', 'agent', null],
      ['agent:coder', 'person', null],
    ])
  })
})

/** A person's session, one with a label that an earlier version let people choose, an agent's and the narrator's. */
async function addSessions(runtime: TestRuntime): Promise<{ narrator: string }> {
  const talk = await append(runtime, { folder, label: 'main', draft })
  const narrator = `agent:narrator:session:${talk.session.id}`
  const rows = [
    { label: 'cron:1', kind: 'person', narrates_id: null },
    { label: 'agent:coder:subagent:1', kind: 'agent', narrates_id: null },
    { label: narrator, kind: 'narrator', narrates_id: talk.session.id },
  ] as const
  for (const row of rows) {
    const { session } = await append(runtime, { folder, label: 'new', draft })
    await runtime.store.write('session', (tx) =>
      tx.run(tx.build.updateTable('sessions').set(row).where('id', '=', session.id)),
    )
  }
  return { narrator }
}

type ExportedSession = ExportedTurn['sessions'][number]

async function* exported(
  { store }: TestRuntime,
  change: (session: ExportedSession) => ExportedSession = (session) => session,
): AsyncIterable<string> {
  for await (const turn of exportTurns(store)) yield JSON.stringify({ ...turn, sessions: turn.sessions.map(change) })
}
