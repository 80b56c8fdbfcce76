import type { Insertable } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import { checkOuterRef, clientKey, type InboxItem } from '../../src/domain/inbox.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { openStore } from '../../src/store/open.ts'
import { insertItem } from '../../src/store/rows/inbox.ts'
import { migrations } from '../../src/store/schema-version.ts'
import type { Tables } from '../../src/store/tables.ts'
import { gate, scriptedModel } from '../../src/testing.ts'
import { databases, newPlace } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'

let gateway: TestGateway | undefined
afterEach(async () => {
  await gateway?.remove()
  gateway = undefined
})

const never = new AbortController().signal

describe.each(databases)('keys of clients on %s', (database) => {
  const test = testOn(database)
  test('a key that reads like one of the engine keeps no child from ending', async () => {
    const hold = gate()
    const model = scriptedModel((request) => {
      const last = request.messages.at(-1)
      if (last?.role === 'tool') return { text: 'started' }
      if (last?.content === 'go') return { calls: [{ name: 'sessions_spawn', input: { task: 'child' } }] }
      return last?.content.startsWith('child') ? { text: 'done', gate: hold } : { text: 'heard' }
    })
    gateway = await newGateway([model], { database })
    const { app, door } = gateway
    const { itemId } = await door.submit(folder, { session: 'main', content: 'go' })
    await hold.reached
    const child = (await app.runs({ all: true })).rows.find(({ session }) => session?.includes('subagent'))
    for (const kind of ['result', 'plan', 'join', 'narrative'])
      await door.submit(folder, { session: 'other', content: 'x', dedupeKey: `${kind}:${child?.id}` })
    hold.open()
    expect(await door.answer(folder, itemId, never)).toMatchObject({ status: 'completed', text: 'heard' })
    await untilSo(async () => (await app.runs({ all: true })).rows.every(({ state }) => state === 'completed'))
  })

  test('what was delivered before an upgrade is known by its key after it, and frees the key of the engine', async () => {
    const { place, remove } = newPlace(database)
    const old = await openStore(place, context, { migrations: migrations.filter(({ id }) => id < 14) })
    let ids = 0
    const runtime = { store: old, clock: context.clock, newId: () => `id${String(++ids).padStart(18, '0')}` }
    const asked = { folder, label: 'main', content: 'x' }
    const first = { itemId: 'first', session: { id: 'talk' } }
    await old.write('submit', async (tx) => {
      await tx.run(tx.build.insertInto('segments').values({ id: 'segment', parent_id: null, fork_depth: 0 }))
      const session = { id: 'talk', folder, label: 'main', segment_id: 'segment', updated_at: 1 }
      await tx.run(tx.build.insertInto('sessions').values(session as Insertable<Tables['sessions']>))
      const item = {
        session_id: 'talk',
        kind: 'message',
        payload_json: '{"content":"x","parts":[],"wishes":{}}',
      } as const
      const more = { ...item, integrity: 'trusted', sources_json: '[]', wake: 1, created_at: 1 } as const
      const items = tx.build.insertInto('inbox')
      await tx.run(items.values({ ...more, id: 'first', source: 'human', dedupe_key: 'result:abc' }))
      await tx.run(items.values({ ...more, id: 'tells', source: 'event', dedupe_key: 'narrative:turn' }))
    })
    await old.close()
    const store = await openStore(place, context)
    const upgraded = { ...runtime, store }
    expect(await submit(upgraded, { ...asked, dedupeKey: clientKey('result:abc') })).toMatchObject({
      itemId: first.itemId,
    })
    const notice: InboxItem = {
      ...{ id: 'notice', sessionId: first.session.id, kind: 'result', content: '', source: 'agent', parts: [] },
      ...{ label: { integrity: 'trusted', sources: [] }, options: {}, wake: false, createdAt: 0 },
      ...{ rootRunId: null, runId: null, consumedByTurn: null, principal: 'owner' },
    }
    await store.write('settle', (tx) => insertItem(tx, notice, 'result:abc'))
    const again = { ...notice, id: 'again' }
    const taken = store.write('settle', (tx) => insertItem(tx, again, 'narrative:turn'))
    await expect(taken).rejects.toMatchObject({ code: 'key_taken' })
    await store.close()
    await remove()
  })
})

test.each([['', 'x'.repeat(201), 'a\0b', '\ud800']].flat())('%j is refused as a key', (key) => {
  expect(() => clientKey(key)).toThrow('dedupe key')
})

describe.each(databases)('the id of a message in another system on %s', (database) => {
  const test = testOn(database)
  test('stays with it: in its turn, in an export and its import, and in a retry', async () => {
    gateway = await newGateway([scriptedModel(() => ({ text: 'yes' }))], { database })
    const { app, door } = gateway
    const asked = { session: 'main', content: 'hello', outerRef: 'telegram:42:1007' }
    const { itemId } = await door.submit(folder, asked)
    const answered = await door.answer(folder, itemId, never)
    const message = { id: itemId, content: 'hello', outerRef: 'telegram:42:1007' }
    const shown = await app.show(folder, `turn:${answered.turnId}`)
    expect(shown).toMatchObject({ query: [message] })
    const lines: string[] = []
    for await (const line of app.exportTurns(folder, 'main')) lines.push(line)
    expect(lines.map((line) => JSON.parse(line).turn.queryMessages)).toMatchObject([[message]])
    await app.importTurns(linesOf(lines))
    await door.retry(`run:${answered.runId}`)
    await untilSo(async () => (await app.log(folder, { of: 'main' })).length === 2)
    const turns = await app.log(folder, { of: 'main' })
    const retried = turns.find(({ id }) => id !== answered.turnId)
    const again = await app.show(folder, `turn:${retried?.id}`)
    expect(again).toMatchObject({ query: [{ content: 'hello', outerRef: 'telegram:42:1007' }] })
  })

  test('is not a key: two messages may have the same', async () => {
    gateway = await newGateway([scriptedModel(() => ({ text: 'yes' }))], { database })
    const asked = { session: 'main', content: 'hello', outerRef: 'mail:1' }
    const first = await gateway.door.submit(folder, asked)
    expect((await gateway.door.submit(folder, asked)).itemId).not.toBe(first.itemId)
  })
})

async function* linesOf(lines: string[]): AsyncIterable<string> {
  yield* lines
}

test.each(['', 'x'.repeat(201), 'a\0b', '\ud800', 'two\nlines', '\u001b[31m'])('%j is refused as such an id', (ref) => {
  expect(() => checkOuterRef(ref)).toThrow('outer reference')
})
