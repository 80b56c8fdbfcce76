import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { afterEach, describe, expect } from 'vitest'
import type { NarrativeView } from '../../src/api/views/narrative.ts'
import type { Consequence, WhyView } from '../../src/api/views/why.ts'
import type { MemoryDraft } from '../../src/domain/memory.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { show } from '../../src/engine/views/show.ts'
import { why } from '../../src/engine/why/why.ts'
import { forget } from '../../src/memory/forget.ts'
import { remember } from '../../src/memory/remember.ts'
import { archiveMemory } from '../../src/store/knowledge/memories.ts'
import { raw } from '../../src/store/raw.ts'
import { linkMemory, listResults } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { narrate } from './narrating.ts'
import { newOffice, type Office, type Play, planner, planningCoordinator } from './test-team.ts'

const budget = { usd: 5, tokens: 1000 }
const own = { source: 'user' as const, label: { integrity: 'trusted' as const, sources: [] } }

/** Writes the report at its first task, reads it at its second. */
const writer: Play = (said) => {
  const last = said.at(-1) ?? ''
  if (said.length > 1) return { text: last.includes('12 files') ? 'Read it.' : 'Wrote it.' }
  const input = { path: 'REPORT.md', content: '# Report\n\nPart a has 12 files.\n' }
  return said[0]?.includes('Task b') ? { calls: [{ name: 'write_file', input }] } : { text: 'nothing' }
}
const reviewer: Play = (said) =>
  said.length === 1
    ? { calls: [{ name: 'read_file', input: { path: 'REPORT.md' } }] }
    : { text: 'The report holds: 12 files.' }

describe.each(databases)('narratives and what came of files on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())
  const store = () => office.engine.store
  const ask = (reference: string, options = {}): Promise<WhyView> =>
    why({ store: store(), protect: nothingProtected, budget }, office.folder, reference, options)
  const shown = (reference: string) => {
    const around = { ...office.engine, now: office.engine.clock.now(), limits: { ...budget, steps: 9 } }
    return store().read((rows) => show(rows, reference, office.folder, around)) as Promise<NarrativeView>
  }
  const keep = (content: string, more: Partial<MemoryDraft> = {}) =>
    store().write('submit', (tx) => remember(tx, { ...own, content, ...more }, 5, 1000))
  const tell = (told: Parameters<typeof narrate>[2]) => narrate(store(), office.folder, told)
  const links = ({ chain }: WhyView) =>
    chain.map(({ how, kind, missing }) => `${how} ${kind}${missing ? ' MISSING' : ''}`)
  const story = ({ story }: WhyView) => story?.told.map(({ how, kind, id }) => `${how} ${kind}:${id}`)
  const names = (came: Consequence[] = []) => came.map(({ how, kind, id }) => `${how} ${kind}:${id}`)
  /** Takes away rows that others refer to, as nobody can who goes through the store. */
  const tear = async (table: string, column: string, id: string) => {
    if (database === 'sqlite') {
      const file = new DatabaseSync(store().place, { enableForeignKeyConstraints: false })
      file.prepare(`DELETE FROM ${table} WHERE ${column} = ?`).run(id)
      file.close()
    } else
      await store().write('prune', async (tx) => {
        await tx.run(raw(tx.build, sql`SET LOCAL session_replication_role = replica`))
        await tx.run(raw(tx.build, sql`DELETE FROM ${sql.table(table)} WHERE ${sql.ref(column)} = ${id}`))
      })
  }
  const surveyed = async () => {
    const tasks = [
      { key: 'b', skill: 'writer' },
      { key: 'c', needs: ['b'] },
    ]
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner(...tasks),
      researcher: reviewer,
      writer,
    })
    const { turns, runId } = await office.ask('go')
    return { turns, runId: runId ?? '' }
  }

  test('a memory is told with its result, task and plan, and with the narratives from the one that cites it on back', async () => {
    const { turns } = await surveyed()
    const { id } = await keep('Part a has 12 files', { resultId: 2, taskId: 1, source: 'agent' })
    await store().write('submit', (tx) => linkMemory(tx, 2, id))
    for (let count = 0; count < 10; count++) await tell({ previousId: count === 0 ? null : count })
    await tell({ summary: 'The report is written.', memoryIds: [id], previousId: 10 })
    const view = await ask(`memory:${id}`)
    expect(links(view)).toEqual([
      ...['asked about memory', 'from result', 'made by run', 'because of task', 'part of plan', 'planned in run'],
      ...['started by run', 'you said turn'],
    ])
    expect(view.chain.at(-1)).toMatchObject({ id: turns[0] })
    expect(view.story?.told[0]).toMatchObject({ id: '11', title: 'The report is written.', how: 'told in' })
    expect(story(view)?.slice(1)).toEqual([10, 9, 8, 7, 6, 5, 4].map((each) => `goes on from narrative:${each}`))
    expect(view.story?.isMore).toBe(true)
    expect(story(await ask('result:2'))?.[0]).toBe('told in narrative:11')
    // What no memory was kept of is told where its request was, if it was.
    expect((await ask('plan:1')).story).toBeUndefined()
    await tell({ summary: 'A plan was made and done.', turnId: turns.at(-1) ?? '', previousId: 11 })
    for (const ref of ['plan:1', 'task:2', 'result:3', `turn:${turns[0]}`, 'REPORT.md:3'])
      expect([ref, story(await ask(ref))?.slice(0, 2)]).toEqual([
        ref,
        ['told in narrative:12', 'goes on from narrative:11'],
      ])
  })

  test('a narrative leads to who wrote it, the turn it tells of, and what was said', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'hi' }) })
    const first = await office.ask('say hi')
    const other = await office.ask('tell of it', { label: 'other' })
    await tell({ summary: 'They said hi.', runId: other.runId ?? '', turnId: first.turns[0] ?? '' })
    await tell({ summary: 'And again.', runId: first.runId ?? '', previousId: 1 })
    const told = await ask('narrative:1')
    expect(told.ref).toBe('narrative:1')
    expect(links(told)).toEqual([
      ...['asked about narrative', 'written by run', 'tells of turn', 'answered by run', 'you said turn'],
    ])
    expect(told.chain.at(-1)).toMatchObject({ title: 'say hi' })
    const again = await ask('narrative:2')
    expect(links(again)).toEqual(['asked about narrative', 'written by run', 'you said turn'])
    expect(story(again)).toEqual(['goes on from narrative:1'])
    expect(told.story).toBeUndefined()
    // Whoever told it may be gone: what it tells of is not.
    await tear('runs', 'id', other.runId ?? '')
    expect(links(await ask('narrative:1'))[1]).toBe('written by run MISSING')
    expect((await ask('narrative:1')).chain.at(-1)).toMatchObject({ title: 'say hi', how: 'you said' })
    await expect(ask('narrative:9')).rejects.toMatchObject({ code: 'not_found' })
    await expect(shown('narrative:x')).rejects.toMatchObject({
      code: 'not_found',
      remedy: expect.stringMatching(/memory narratives/),
    })
  })

  test('an old narrative tells what became of what it rests on: replaced, forgotten, out of the way', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'hi' }) })
    for (const text of ['The port is 7070', 'alpha lives in the north', 'beta has a boat', 'gamma sings'])
      await keep(text)
    await tell({ summary: 'The port is 7070, and who lives where.', memoryIds: [1, 2, 3, 4] })
    await keep('The port is 8080', { replaces: 1 })
    await keep('The port is 9090', { replaces: 5 })
    await store().write('submit', async (tx) => {
      await forget(tx, 2, 9)
      await archiveMemory(tx, 3)
    })
    await tell({ previousId: 1 })
    const view = await shown('narrative:1')
    const summary = '(withheld: it may repeat a memory that was forgotten)'
    expect(view).toMatchObject({ kind: 'narrative', summary, before: null, after: [{ id: 2, summary }] })
    expect(view.memories).toEqual([
      { id: 1, content: 'The port is 7070', state: 'replaced', replacedBy: 6 },
      { id: 2, content: '', state: 'forgotten' },
      { id: 3, content: 'beta has a boat', state: 'archived' },
      { id: 4, content: 'gamma sings', state: 'counts' },
    ])
    expect((await ask('narrative:1')).notes.map(({ text, ref }) => [ref, text])).toEqual([
      ['memory:1', 'it is based on memory:1, replaced by memory:6 "The port is 7070"'],
      ['memory:2', 'it is based on memory:2, forgotten since'],
      ['memory:3', 'it is based on memory:3, archived since "beta has a boat"'],
      ['memory:4', 'it is based on memory:4 "gamma sings"'],
    ])
    const { forward } = await ask('memory:1', { forward: true })
    expect(names(forward?.came)).toEqual(['replaced by memory:5', 'told in narrative:1'])
    expect(names(forward?.came[1]?.came)).toEqual(['went on in narrative:2'])
  })

  test('what began with a narrative goes on from it, and the narrative tells what began with it', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'hi' }) })
    await tell({ summary: 'The move is half done.' })
    const { turnId, runId } = await office.ask('go on', { label: 'next' })
    expect(story(await ask(`turn:${turnId}`))).toEqual(['goes on from narrative:1'])
    const { forward } = await ask('narrative:1', { forward: true })
    expect(names(forward?.came)).toEqual([`begun with run:${runId}`])
  })

  test('a file that was read tells who read it since, and what came of that', async () => {
    const { turns } = await surveyed()
    const reader = (await store().read((rows) => runsOf(rows, {}))).find(({ agent }) => agent === 'researcher')
    for (const ref of ['REPORT.md', 'REPORT.md:3']) {
      const { forward } = await ask(ref, { forward: true })
      expect([ref, names(forward?.came)]).toEqual([ref, [`read in run:${reader?.id}`]])
      expect(forward?.came[0]).toMatchObject({ agent: 'researcher', came: [{ kind: 'result', how: 'came to' }] })
      expect(names(forward?.came[0]?.came[0]?.came)).toEqual([`heard in turn:${turns.at(-1)}`])
    }
  })

  test('whoever read a file before a line was there, or wrote it, is not told of that line', async () => {
    office = await newOffice(database, {
      coordinator: (said, last) => {
        if (last === 'read') return { calls: [{ name: 'spawn_agent', input: { task: 'read', skill: 'researcher' } }] }
        return last === 'write'
          ? { calls: [{ name: 'spawn_agent', input: { task: 'Task b', skill: 'writer' } }] }
          : { text: said.length > 0 ? 'ok' : '' }
      },
      researcher: reviewer,
      writer: (said) => {
        if (said.length === 1) return { calls: [{ name: 'read_file', input: { path: 'REPORT.md' } }] }
        if (said.length > 3) return { text: 'Changed it.' }
        const content = '# Report\n\nPart b, too.\n'
        return { calls: [{ name: 'write_file', input: { path: 'REPORT.md', content } }] }
      },
    })
    office.put('REPORT.md', '# Report\n')
    const readers = async (ref: string) => names((await ask(ref, { forward: true })).forward?.came)
    const done = (count: number) =>
      office.until(async (rows) => (await listResults(rows, {})).length === count && count > 0)
    await office.ask('read')
    await done(1)
    // Nobody here wrote it: whoever has read it is told.
    expect(await readers('REPORT.md')).toHaveLength(1)
    await office.ask('write')
    await done(2)
    expect(await readers('REPORT.md:3')).toEqual([])
    await office.ask('read')
    await done(3)
    expect(await readers('REPORT.md:3')).toHaveLength(1)
  })

  test('of one request, too, only who read the line after it was written counts, and never its writer', async () => {
    const tasks = [{ key: 'a' }, { key: 'b', needs: ['a'], skill: 'writer' }, { key: 'c', needs: ['b'] }]
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner(...tasks),
      researcher: reviewer,
      writer: (said) => {
        const path = 'REPORT.md'
        const read = { calls: [{ name: 'read_file', input: { path } }] }
        const content = '# Report\n\nPart b, too.\n'
        const steps = [read, { calls: [{ name: 'write_file', input: { path, content } }] }, read]
        // What it was told, then a call and its outcome for each step.
        return steps[(said.length - 1) / 2] ?? { text: 'Wrote it, and looked at it.' }
      },
    })
    office.put('REPORT.md', '# Report\n')
    await office.ask('go')
    const last = (await store().read((rows) => runsOf(rows, {}))).find(({ taskId }) => taskId === 3)
    const { forward } = await ask('REPORT.md:3', { forward: true })
    expect(names(forward?.came)).toEqual([`read in run:${last?.id}`])
  })

  test('a child whose transcript is gone leaves what came of a file readable', async () => {
    await surveyed()
    const reader = (await store().read((rows) => runsOf(rows, {}))).find(({ agent }) => agent === 'researcher')
    await tear('steps', 'run_id', reader?.id ?? '')
    const { forward, chain } = await ask('REPORT.md:3', { forward: true })
    expect(forward).toEqual({ came: [], leftOut: 0 })
    expect(chain.at(-1)).toMatchObject({ how: 'you said' })
    expect(links(await ask(`run:${reader?.id}`)).at(-1)).toBe('you said turn')
  })
})
