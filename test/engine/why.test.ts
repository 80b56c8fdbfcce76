import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { afterEach, describe, expect } from 'vitest'
import type { WhyView } from '../../src/api/views/why.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { append } from '../../src/engine/turns/append.ts'
import { why } from '../../src/engine/why/why.ts'
import { raw } from '../../src/store/raw.ts'
import { openApprovals } from '../../src/store/rows/approvals.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { ModelFailure } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office, type OfficeOptions, type Play, planner, planningCoordinator } from './test-team.ts'

const budget = { usd: 5, tokens: 1000 }
const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })

/** Reads a file of its own and counts something in it. */
const researcher: Play = (said) => {
  const part = /Task (\w)/.exec(said[0] ?? '')?.[1] ?? 'x'
  if (said.length === 1) return { calls: [{ name: 'read_file', input: { path: `src/${part}/in.txt` } }] }
  return { text: `Part ${part} has ${part === 'a' ? 12 : 20} files, ${part === 'a' ? 31 : 44} exports.` }
}
const writer: Play = (said) => {
  if (said.length > 1) return { text: 'Wrote it.' }
  const lines = [...(said[0] ?? '').matchAll(/^Part .*$/gm)].map(([line]) => `- ${line}`)
  const content = ['# Report', '', ...lines, ''].join('\n')
  return { calls: [{ name: 'write_file', input: { path: 'REPORT.md', content } }] }
}
const three = [{ key: 'a' }, { key: 'b' }, { key: 'c', needs: ['a', 'b'], skill: 'writer' }]

describe.each(databases)('why on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())
  const store = () => office.engine.store
  const ask = (reference: string, options = {}): Promise<WhyView> =>
    why({ store: store(), protect: nothingProtected, budget }, office.folder, reference, options)
  const line = async (reference: string) =>
    (await ask(reference)).chain.map(({ how, kind, id }) => `${how} ${kind}${/^\d{1,4}$/.test(id) ? `:${id}` : ''}`)
  const runs = () => store().read((rows) => runsOf(rows, {}))
  const runOf = async (agent: string) => (await runs()).find((run) => run.agent === agent)?.id ?? ''
  /** Takes away the rows of runs and turns that others refer to, as nobody can who goes through the store. */
  const tear = async (runIds: string[], turnIds: string[] = []) => {
    const rows = [
      ...runIds.flatMap((id) => [
        ['steps', 'run_id', id],
        ['usage', 'run_id', id],
        ['inbox', 'run_id', id],
        ['runs', 'id', id],
      ]),
      ...turnIds.flatMap((id) => [
        ['threads', 'turn_id', id],
        ['turns', 'id', id],
      ]),
    ]
    if (database === 'sqlite') {
      const file = new DatabaseSync(store().place, { enableForeignKeyConstraints: false })
      for (const [table, column, id] of rows) file.prepare(`DELETE FROM ${table} WHERE ${column} = ?`).run(id ?? '')
      file.close()
    } else
      await store().write('prune', async (tx) => {
        await tx.run(raw(tx.build, sql`SET LOCAL session_replication_role = replica`))
        for (const [table = '', column = '', id] of rows)
          await tx.run(raw(tx.build, sql`DELETE FROM ${sql.table(table)} WHERE ${sql.ref(column)} = ${id}`))
      })
  }

  const surveyed = async (more: OfficeOptions = {}) => {
    office = await newOffice(
      database,
      { coordinator: planningCoordinator(), 'project-planner': planner(...three), researcher, writer },
      more,
    )
    office.put('src/a/in.txt', 'a\n')
    office.put('src/b/in.txt', 'b\n')
  }

  test('a line leads to its call, the result it is from, what that read, the task, the plan and the words', async () => {
    await surveyed()
    const { turns } = await office.ask('go')
    office.put('src/b/in.txt', 'changed\n')
    const results = await store().read((rows) => listResults(rows, {}))
    const [a, b] = ['Part a', 'Part b'].map((part) => results.find(({ summary }) => summary.startsWith(part))?.id)
    expect(await line('REPORT.md:3')).toEqual([
      'asked about file',
      'written by run',
      `from result:${a}`,
      'made by run',
      'because of task:1',
      'part of plan:1',
      'planned in run',
      'started by run',
      'you said turn',
    ])
    expect((await ask('REPORT.md:3')).chain[2]?.read).toEqual({ count: 1, under: 'src/a', changed: [], unknown: 0 })
    const { chain, notes } = await ask('REPORT.md:4')
    expect(notes).toEqual([])
    expect(chain[1]).toMatchObject({ id: await runOf('writer'), tool: 'write_file', agent: 'writer', given: [a, b] })
    expect(chain[2]).toMatchObject({
      id: String(b),
      title: 'Part b has 20 files, 44 exports.',
      agent: 'researcher',
      read: { count: 1, under: 'src/b', changed: ['src/b/in.txt'], unknown: 0 },
    })
    expect(chain[4]).toMatchObject({ kind: 'task', id: '2', title: 'Task b', planId: 1 })
    expect(chain[7]).toMatchObject({ kind: 'run', agent: 'coordinator', tool: 'spawn_agent' })
    expect(chain.at(-1)).toMatchObject({ kind: 'turn', id: turns[0], title: 'go', how: 'you said' })
    for (const { at } of chain) expect(at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
    // A heading is from no result: its writer was given both, and its own task is told.
    expect((await ask('REPORT.md:1')).chain.map(({ kind, id }) => `${kind}:${id}`)).toContain('task:3')
  })

  test('every kind of thing leads back to the same words', async () => {
    await surveyed()
    const { turns } = await office.ask('go')
    const worker = await runOf('writer')
    const last = turns.at(-1) ?? ''
    for (const ref of [
      'task:3',
      'plan:1',
      'result:1',
      `run:${worker}`,
      `turn:${last}`,
      'session:main',
      'main',
      last,
      worker,
    ]) {
      const { chain } = await ask(ref)
      expect([ref, chain.at(-1)]).toMatchObject([ref, { kind: 'turn', id: turns[0], title: 'go', how: 'you said' }])
      expect(new Set(chain.slice(0, -1).map(({ kind, id }) => `${kind}:${id}`)).size).toBe(chain.length - 1)
    }
    expect((await ask('main')).ref).toBe('session:main')
    expect(await line('main')).toMatchObject({ 0: 'asked about session', 1: 'points at turn', 2: 'answered by run' })
    // A turn that results brought about names them.
    expect((await ask(last)).chain[1]?.given?.length).toBeGreaterThan(1)
  })

  test('a run that was given a result by a pointer comes from it, and a quoted pointer deceives nobody', async () => {
    office = await newOffice(database, {
      coordinator: (said, last) => {
        if (last === 'go') return spawn('look', 'researcher')
        const all = said.join('\n')
        const told = /\[agent_result:(\d+)\] run:\S+ @researcher/.exec(all)?.[1]
        // On PostgreSQL `wait` may be made before what it shall wait for, and is refused then.
        if (told === undefined) return { text: 'Wait.' }
        return /@writer .* completed/.test(all)
          ? { text: 'Done.' }
          : spawn('write', 'writer', `Use [agent_result:${told}].`)
      },
      researcher: () => ({ text: 'Found 12 files in this folder. See [agent_result:99].' }),
      writer: (said) =>
        said.length > 1
          ? { text: 'ok' }
          : { calls: [{ name: 'write_file', input: { path: 'a', content: 'Found 12 files in this folder.\n' } }] },
    })
    await office.ask('go')
    expect(await line('a:1')).toEqual([
      ...['asked about file', 'written by run', 'from result:1', 'made by run', 'started by run', 'you said turn'],
    ])
    expect((await ask('a:1')).chain[1]?.given).toEqual([1])
    const { forward } = await ask('result:1', { forward: true })
    expect(forward?.came.map(({ how, kind, agent }) => [how, kind, agent])).toContainEqual([
      'given to',
      'run',
      'writer',
    ])
  })

  test('a line is from a result only if it quotes it, and who asked for the file is always told', async () => {
    const lines = ['## Summary', '}', 'The staging port is 9443 for now.', 'The Staging Port is `8443` for now', '']
    office = await newOffice(database, {
      coordinator: (said, last) => {
        const all = said.join('\n')
        if (last === 'find the port') return spawn('look', 'researcher')
        if (last === 'write it down') return spawn('write', 'writer', 'Use [agent_result:1].')
        return { text: /completed/.test(all) ? 'Done.' : 'Wait.' }
      },
      researcher: () => ({ text: '## Summary\n\n{\n}\nThe staging port is 8443 for now.' }),
      writer: (said) =>
        said.length > 1
          ? { text: 'ok' }
          : { calls: [{ name: 'write_file', input: { path: 'notes.md', content: lines.join('\n') } }] },
    })
    await office.ask('find the port')
    await office.ask('write it down')
    for (const number of [1, 2, 3]) {
      expect(await line(`notes.md:${number}`)).toEqual([
        ...['asked about file', 'written by run', 'started by run', 'you said turn'],
      ])
      const { chain } = await ask(`notes.md:${number}`)
      expect([chain[1]?.given, chain.at(-1)?.title]).toEqual([[1], 'write it down'])
    }
    const { chain } = await ask('notes.md:4')
    expect(chain.map(({ how, kind }) => `${how} ${kind}`)).toEqual([
      ...['asked about file', 'written by run', 'from result', 'made by run', 'started by run'],
      ...['you said turn', 'you said turn'],
    ])
    expect(chain.slice(-2).map(({ title }) => title)).toEqual(['find the port', 'write it down'])
  })

  test('a run tells what it waited for, what was refused, and what it cost', async () => {
    await surveyed({ config: ({ tools }) => void Object.assign(tools, { ask: ['write_file'] }) })
    const item = await office.say('go')
    const approval = await office.until(async (rows) => (await openApprovals(rows))[0])
    const open = await ask(`approval:${approval.id}`)
    expect(open.chain.slice(0, 2)).toMatchObject([
      { kind: 'approval', title: 'write_file REPORT.md' },
      { how: 'asked by', agent: 'writer', tool: 'write_file' },
    ])
    expect(open.notes.map(({ topic, text }) => `${topic}: ${text}`)).toEqual([
      'asked: because write_file asks first (tools.ask)',
      'asked: for a change to REPORT.md: 4 lines added, 0 removed',
      `waited: waits for an answer to approval:${approval.id}, write_file REPORT.md`,
    ])
    await decide(office.engine, approval.id, { answer: 'no', reason: 'not now' })
    await office.heard(item)
    const { notes } = await ask(`run:${await runOf('writer')}`)
    expect(notes.map(({ topic, ref }) => [topic, ref])).toEqual([
      ['refused', `approval:${approval.id}`],
      ['spent', undefined],
    ])
    expect(notes[0]?.text).toMatch(
      /^waited \d+\.\ds for approval:1, write_file REPORT\.md; the answer was no: not now$/,
    )
    expect(notes[1]?.text).toMatch(/^2 model calls, \d+ tokens, \$\d.*; its request: \$.* of \$5, \d+ of 1000 tokens$/)
  })

  test('a run tells its retries, and calls that failed or were forbidden, with the reason', async () => {
    let asked = 0
    office = await newOffice(database, {
      coordinator: (said) => {
        if (++asked === 1)
          return { fail: new ModelFailure('overloaded', 'busy', 'wait', { retry: 'later', retryAfter: 1 }) }
        if (said.length > 1) return { text: 'done' }
        return {
          calls: [
            { name: 'exec', input: { command: 'ls' } },
            { name: 'read_result', input: { id: 7 } },
          ],
        }
      },
    })
    const { runId } = await office.ask('go')
    const { notes } = await ask(`run:${runId}`)
    const told = notes.map(({ topic, text }) => `${topic}: ${text}`)
    expect(told[0]).toMatch(/^waited: paused \d+\.\ds for a retry: overloaded$/)
    expect(told[1]).toMatch(/^refused: exec ls was refused: /)
    expect(told[2]).toMatch(/^refused: read_result 7 failed: /)
    expect(told[3]).toMatch(/^spent: 3 model calls \(1 failed\), /)
    expect(told).toHaveLength(4)
  })

  test('a task tells its attempts and what came of each', async () => {
    let tried = 0
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        const failed = /1 failed \(task:(\d+)\)/.exec(last)?.[1]
        if (!failed) return planningCoordinator()(said, last, request)
        return {
          text: 'Again.',
          calls: [{ name: 'task_update', input: { id: Number(failed), action: 'retry' } }, { name: 'wait' }],
        }
      },
      'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
      researcher: () => (++tried === 1 ? { fail } : { text: 'fine' }),
    })
    await office.ask('go')
    const { notes } = await ask('task:1')
    expect(notes.map(({ topic, text }) => `${topic}: ${text.replace(/run:\w+/, 'run')}`)).toEqual([
      expect.stringMatching(/^tried: attempt 1: run failed result:2: /),
      'tried: attempt 2: run completed result:3: fine',
    ])
    expect((await ask('task:2')).notes.at(-1)?.text).toBe('it needs task:1')
    expect((await ask('plan:1')).notes.map(({ text }) => text)[0]).toBe('completed: 2 completed')
    const failed = await ask('result:2')
    expect(failed.notes[0]).toMatchObject({ topic: 'ended', text: 'failed' })
  })

  test('forward tells runs, results, who used them, files and turns, each once, and counts the rest', async () => {
    await surveyed()
    const { turns } = await office.ask('go')
    const { forward } = await ask(`turn:${turns[0]}`, { forward: true })
    const told: string[] = []
    const walk = (came: NonNullable<typeof forward>['came']) => {
      for (const each of came) {
        told.push(`${each.kind}:${each.id}`)
        walk(each.came)
      }
    }
    walk(forward?.came ?? [])
    expect(new Set(told).size).toBe(told.length)
    expect(told).toEqual(
      expect.arrayContaining([`turn:${turns.at(-1)}`, 'plan:1', 'file:REPORT.md', 'result:1', 'result:4']),
    )
    const result = await ask('result:2', { forward: true })
    expect(result.forward?.came.map(({ how, kind, id }) => `${how} ${kind}:${id}`)).toEqual([
      'used by task:3',
      `heard in turn:${turns.at(-1)}`,
    ])
    expect((await ask('plan:1', { forward: true })).forward?.came.map(({ id }) => id)).toEqual(['1', '2', '3'])
    expect((await ask('REPORT.md', { forward: true })).forward).toEqual({ came: [], leftOut: 0 })
  })

  test('forward is bounded in width: what is too much is counted', async () => {
    const many = Array.from({ length: 15 }, (_, at) => ({ key: `k${at}` }))
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner(...many),
      researcher: () => ({ text: 'fine' }),
    })
    await office.ask('go')
    const { forward } = await ask('plan:1', { forward: true })
    expect([forward?.came.length, forward?.leftOut]).toEqual([12, 3])
  })

  test('what is gone is named as missing, and the chain goes on to the words', async () => {
    await surveyed()
    const { turns } = await office.ask('go')
    const all = await runs()
    const child = all.find(({ taskId }) => taskId === 1)
    const planning = all.find(({ agent }) => agent === 'project-planner')
    const whole = (await ask('REPORT.md:3')).chain
    await tear([child?.id ?? '', planning?.id ?? ''], [turns[0] ?? ''])
    const { chain } = await ask('REPORT.md:3')
    expect(chain.map(({ how, kind, missing }) => `${how} ${kind}${missing ? ' MISSING' : ''}`)).toEqual([
      ...['asked about file', 'written by run', 'from result', 'made by run MISSING', 'because of task'],
      ...['part of plan', 'planned in run MISSING', 'you said turn MISSING'],
    ])
    expect(chain[3]).toMatchObject({ id: child?.id, title: 'this run is no longer stored', at: null })
    expect(chain.at(-1)).toEqual({ ...whole.at(-1), missing: true })
    await tear([all[0]?.rootRunId ?? ''])
    expect((await ask('plan:1')).chain.at(-1)).toMatchObject({ kind: 'run', missing: true, how: 'you said' })
    expect((await ask('result:2', { forward: true })).forward?.came).toMatchObject([{ id: '3' }, { kind: 'turn' }])
  })

  test('turns that were made by hand, and questions that nobody has answered, have their words', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'hi' }) })
    const draft = { query: [{ content: 'by hand' }], response: { content: 'yes' } }
    const { turnId } = await append(office.engine, { folder: office.folder, label: 'hand', draft: draft as never })
    const { chain, notes } = await ask('hand')
    expect(chain.at(-1)).toMatchObject({ kind: 'turn', id: turnId, title: 'by hand', how: 'you said' })
    expect(notes[0]?.text).toContain('by hand or imported')
  })

  test('what is not there, and what has no reasons yet, is said with what to do', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'hi' }) })
    await office.ask('go')
    const code = (reference: string) =>
      ask(reference).then(
        () => 'answered',
        (error) => `${error.code}: ${error.remedy === '' ? 'NO REMEDY' : 'ok'}`,
      )
    for (const ref of [
      'turn:zzzzzz',
      'run:zzzzzz',
      'task:9',
      'plan:9',
      'result:9',
      'result:x',
      'approval:9',
      'memory:9',
      'session:none',
    ])
      expect([ref, await code(ref)]).toEqual([ref, 'not_found: ok'])
    expect(await code('persona:none')).toBe('wrong_kind: ok')
    expect(await code('approval:x')).toBe('bad_reference: ok')
    expect(await code('nothing.txt')).toBe('not_found: ok')
    expect(await code('zzzzzz')).toBe('not_found: ok')
  })
})

function spawn(task: string, skill: string, context?: string) {
  const input = { task, skill, ...(context !== undefined && { context }) }
  return { text: 'Wait.', calls: [{ name: 'spawn_agent', input }, { name: 'wait' }] }
}
