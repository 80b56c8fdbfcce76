import { describe, expect, onTestFinished, test } from 'vitest'
import type { TurnDraft } from '../../src/domain/draft.ts'
import { newRun } from '../../src/domain/run.ts'
import { append } from '../../src/engine/turns/append.ts'
import { findPersona, listPersonas, putPersona } from '../../src/store/rows/personas.ts'
import { insertRun } from '../../src/store/rows/runs.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import { findTurn } from '../../src/store/rows/threads.ts'
import type { Reading, Tx } from '../../src/store/store.ts'
import { type Database, databases, newTestRuntime } from '../setup/places.ts'
import { note, notes } from './notes.ts'

const folder = '/contract'
const largest = Number.MAX_SAFE_INTEGER

async function newStore(database: Database) {
  const runtime = await newTestRuntime(database)
  onTestFinished(runtime.remove)
  return { ...runtime, write: <T>(body: (tx: Tx) => Promise<T>) => runtime.store.write('append', body) }
}

describe.each(databases)('rows on %s', (database) => {
  const segment = { id: 's', parent_id: null, fork_depth: 0 }
  const refused: [string, (tx: Tx) => Promise<unknown>][] = [
    ['unique', (tx) => note(tx, 'taken')],
    [
      'foreign_key',
      (tx) => tx.run(tx.build.insertInto('segments').values({ ...segment, parent_id: 'x', fork_depth: 1 })),
    ],
    ['check', (tx) => tx.run(tx.build.insertInto('segments').values({ ...segment, fork_depth: -1 }))],
    ['check', (tx) => insertRun(tx, { ...run, finishedAt: null })],
    ['not_null', (tx) => tx.run(tx.build.insertInto('prompts').values({ hash: 'a', text: null as never }))],
  ]
  const run = {
    ...newRun({ id: 'r', kind: 'import', via: 'import', sessionId: null, now: 1, principal: 'owner' }),
    state: 'completed' as const,
  }

  test.for(refused)('that break a rule of kind %s are refused by that name', async ([constraint, body]) => {
    const { write } = await newStore(database)
    await write((tx) => note(tx, 'taken'))
    await expect(write(body)).rejects.toMatchObject({
      name: 'HeddleError',
      code: `constraint_${constraint}`,
      constraint,
      retry: 'never',
    })
  })

  test('that are deleted are refused while others refer to them', async () => {
    const { write } = await newStore(database)
    await write((tx) => tx.run(tx.build.insertInto('segments').values(segment)))
    await write((tx) => tx.run(tx.build.insertInto('segments').values({ id: 't', parent_id: 's', fork_depth: 1 })))
    const remove = write((tx) => tx.run(tx.build.deleteFrom('segments').where('id', '=', 's')))
    await expect(remove).rejects.toMatchObject({ code: 'constraint_foreign_key' })
  })

  test('a statement tells how many rows it touched', async () => {
    const { write } = await newStore(database)
    const touched = await write(async (tx) => [
      await note(tx, 'a'),
      await note(tx, 'b'),
      await tx.run(tx.build.updateTable('prompts').set({ text: 'x' })),
      await tx.run(tx.build.updateTable('prompts').set({ text: 'y' }).where('hash', '=', 'c')),
      await tx.run(tx.build.deleteFrom('prompts').where('hash', '=', 'a')),
    ])
    expect(touched).toEqual([1, 1, 2, 0, 1])
  })

  test('sort text by its bytes, whatever the language of the server', async () => {
    const { write, store } = await newStore(database)
    const words = ['Zebra', 'apple', 'Äpfel', 'zebra', 'a-b', 'a_b', 'ab', '10', '9', 'é', 'e\u0301', '😀', '�', '']
    await write(async (tx) => {
      for (const word of words) await note(tx, word)
    })
    const byBytes = words.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    expect(await store.read(notes)).toEqual(byBytes)
    expect(await store.read((rows) => notesAfter(rows, 'a'))).toEqual(byBytes.filter((word) => bytewise(word, 'a') > 0))
    await write(async (tx) => {
      for (const id of ['b', 'B', 'a-1', 'a1', 'a_1']) await putPersona(tx, persona(id), 1)
    })
    expect((await store.read(listPersonas)).map(({ id }) => id)).toEqual(['B', 'a-1', 'a1', 'a_1', 'b'])
  })

  test('keep any text of a message, tool call and persona as it was given', async () => {
    const runtime = await newStore(database)
    const odd = ['😀👩‍👩‍👧', 'a\0b', '\ud800 alone', '\udc00', '"\\\n\r\t', 'ﷺ\u202e', '', 'x'.repeat(1_000_000)].join(
      '|',
    )
    const draft: TurnDraft = {
      query: [{ content: odd, label: { integrity: 'untrusted', sources: [`url:${odd.slice(0, 20)}`] } }],
      response: { content: odd, parts: [{ type: 'file', path: '/a\0b', mediaType: 'text/plain', data: odd }] },
      toolCalls: [{ id: 'c\0', name: '\ud800', input: { [odd.slice(0, 30)]: odd }, output: odd, status: 'ok' }],
    }
    const { turnId } = await append(runtime, { folder, label: 'main', draft })
    const { turn, steps } = await runtime.store.read(async (rows) => {
      const placed = await findTurn(rows, turnId)
      return { turn: placed?.turn, steps: await readSteps(rows, placed?.turn.runId ?? '') }
    })
    expect(turn?.queryMessages[0]?.content === odd && turn.responseMessage.content === odd).toBe(true)
    expect(turn?.responseMessage.parts).toEqual(draft.response.parts)
    expect(turn?.label).toEqual(draft.query[0]?.label)
    expect(steps.map(({ payload }) => payload)).toEqual([
      { id: 'c\0', name: '\ud800', input: draft.toolCalls?.[0]?.input },
      { id: 'c\0', status: 'ok', output: odd },
    ])
    await runtime.write((tx) => putPersona(tx, { ...persona('p'), identity: { name: odd, soul: odd } }, 1))
    expect((await runtime.store.read((rows) => findPersona(rows, 'p')))?.identity).toEqual({ name: odd, soul: odd })
  })

  test.for(['a\0b', '\ud800', 'half \udc00'])('refuse text that would come back changed: %j', async (odd) => {
    const { write, store } = await newStore(database)
    const refusal = { code: 'bad_text', remedy: expect.stringContaining('remove it') }
    await expect(write((tx) => note(tx, 'a', odd))).rejects.toMatchObject(refusal)
    await expect(store.read((rows) => findPersona(rows, odd))).rejects.toMatchObject(refusal)
    expect(await store.read(notes)).toEqual([])
  })

  test('keep numbers up to the largest that a program can count to', async () => {
    const runtime = await newStore(database)
    const usage = { inputTokens: largest, outputTokens: 0, cachedTokens: largest, costUsd: 0.1 + 0.2 }
    const draft = { query: [{ content: 'q' }], response: { content: 'a' }, usage }
    const { turnId } = await append(runtime, { folder, label: 'main', draft })
    const placed = await runtime.store.read((rows) => findTurn(rows, turnId))
    expect(placed?.turn.usage).toEqual(usage)
    expect([placed?.turn.tokenCount, placed?.thread.totalTokens]).toEqual([largest, largest])
  })

  test('sessions of one moment are listed newest first, then by id', async () => {
    const runtime = await newStore(database)
    await runtime.write(async (tx) => {
      for (const [id, at] of [
        ['c', 5],
        ['a', 5],
        ['b', 9],
        ['B', 5],
      ] as const) {
        await tx.run(tx.build.insertInto('segments').values({ ...segment, id }))
        const row = {
          id,
          folder,
          label: id,
          segment_id: id,
          head_turn_id: null,
          persona_id: null,
          kind: 'person',
        } as const
        const times = { updated_at: at, archived_at: null }
        await tx.run(tx.build.insertInto('sessions').values({ ...row, ...times, narrates_id: null }))
      }
    })
    expect((await runtime.store.read(findSessions)).map(({ id }) => id)).toEqual(['b', 'B', 'a', 'c'])
  })
})

function persona(id: string) {
  return { id, identity: { name: id, soul: '' }, permissions: { tools: {} } }
}

async function notesAfter(rows: Reading, name: string): Promise<string[]> {
  const found = await rows.all(rows.build.selectFrom('prompts').select('hash').where('hash', '>', name).orderBy('hash'))
  return found.map(({ hash }) => hash)
}

function bytewise(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
