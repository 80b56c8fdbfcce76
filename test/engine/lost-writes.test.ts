import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import type { PlanView, TaskView } from '../../src/api/views/plan.ts'
import type { ResultView } from '../../src/api/views/result.ts'
import { undo } from '../../src/engine/files/undo.ts'
import { show } from '../../src/engine/views/show.ts'
import { why } from '../../src/engine/why/why.ts'
import { listResults } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { gate, ModelFailure } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import {
  agentNamed,
  brief,
  newOffice,
  type Office,
  type OfficeOptions,
  type Play,
  planner,
  planningCoordinator,
  staff,
} from './test-team.ts'

const write = (content: string, path = 'out.md') => ({ name: 'write_file', input: { path, content } })
const read = (path = 'out.md') => ({ name: 'read_file', input: { path } })
const six = ['a', 'b', 'c', 'd', 'e', 'f']
const all: OfficeOptions = {
  config: (config) => {
    config.agents.maxConcurrent = 6
  },
}

/** What the task of a worker is called, and the answers that it has had so far. */
function keyOf(said: string[]): string {
  return /^Task (\w+)/.exec(said[0] ?? '')?.[1] ?? ''
}

describe.each(databases)('writes that others overwrite on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const shown = async <T>(reference: string) => {
    const { engine } = office
    const around = { ...engine, now: 0, limits: { usd: 1, tokens: 1, steps: 1 } }
    return (await engine.store.read((rows) => show(rows, reference, office.folder, around))) as T
  }
  const explained = (reference: string) =>
    why({ ...office.engine, budget: { usd: 1, tokens: 1 } }, office.folder, reference)
  const planWith = (writer: Play, ...tasks: Parameters<typeof planner>): Record<string, Play> => ({
    coordinator: planningCoordinator(),
    'project-planner': planner(...tasks.map((task) => ({ skill: 'writer', ...task }))),
    writer,
  })

  test('of six tasks that write one file, five are told in their results, in the plan and in why', async () => {
    const held = gate()
    let waiting = 0
    const writer: Play = (said, last) => {
      const key = keyOf(said)
      // All have begun before the first of them writes.
      if (said.length === 1) {
        waiting++
        if (waiting === six.length) held.open()
        return { gate: held, calls: [write(`part ${key}\n`)] }
      }
      return last.includes('"error"') ? { calls: [write(`part ${key}\n`)] } : { text: `Part ${key} is in out.md.` }
    }
    office = await newOffice(database, planWith(writer, ...six.map((key) => ({ key }))), all)
    const { text } = await office.ask('go')
    const lost =
      /out\.md as task:\d \(run:\w{6}, @writer\) wrote it is lost: task:\d \(run:\w{6}, @writer\) overwrote it without having read it/g
    expect(text).toContain('plan:1 "The plan" completed: 6 completed. ')
    expect(text.match(lost)).toHaveLength(5)
    const plan = await shown<PlanView>('plan:1')
    expect(plan.lost).toHaveLength(5)
    expect(plan.lost?.join('\n').match(lost)).toHaveLength(5)
    const results = await office.engine.store.read((rows) => listResults(rows, {}))
    const views = await Promise.all(
      results.filter(({ taskId }) => taskId !== null).map(({ id }) => shown<ResultView>(`result:${id}`)),
    )
    const [still, ...gone] = views.sort((a, b) => Number(b.artifacts[0]?.verified) - Number(a.artifacts[0]?.verified))
    expect(still?.artifacts).toMatchObject([{ path: 'out.md', verified: true, bytes: 7 }])
    expect(still?.artifacts[0]).not.toHaveProperty('since')
    for (const { artifacts } of gone)
      expect(artifacts).toMatchObject([
        {
          verified: false,
          since: expect.stringMatching(/^overwritten by task:\d \(run:\w{6}, @writer\) without having read it$/),
        },
      ])
    const { notes } = await explained('out.md')
    expect(
      notes
        .map((note) => note.text)
        .join('\n')
        .match(lost),
    ).toHaveLength(5)
    const about = await explained('plan:1')
    expect(
      about.notes
        .map((note) => note.text)
        .join('\n')
        .match(lost),
    ).toHaveLength(5)
    const loser = await explained(`result:${gone[0]?.id}`)
    expect(loser.notes[0]?.text).toMatch(/^with out\.md \(overwritten by task:\d .* without having read it\)$/)
    const task = await shown<TaskView>(`task:${gone[0]?.taskId}`)
    expect(task.lost).toEqual([expect.stringMatching(`^out.md as task:${task.id} \\(`)])
  })

  test('a task that is overwritten before it ends is told so with its result, and so is whoever needs it', async () => {
    const [wrote, overwrote] = [gate(), gate()]
    const writer: Play = (said) => {
      const key = keyOf(said)
      if (key === 'z') return { fail: new ModelFailure('refused', 'no', 'ask another', { retry: 'never' }) }
      if (said.length === 1 && key === 'a') return { calls: [write('part a\n')] }
      if (key === 'a') {
        wrote.open()
        return { gate: overwrote, text: 'Part a is written.' }
      }
      if (said.length === 1) return { gate: wrote, calls: [write('part b\n')] }
      overwrote.open()
      return { text: 'Part b is written.' }
    }
    office = await newOffice(
      database,
      planWith(writer, { key: 'a' }, { key: 'b' }, { key: 'z', needs: ['a', 'b'] }),
      all,
    )
    await office.ask('go')
    const heard = office.requestsOf('coordinator').flatMap(({ messages }) => messages.map(({ content }) => content))
    const note =
      /\[heddle: out\.md as task:1 \(run:\w{6}, @writer\) wrote it is lost: task:2 \(run:\w{6}, @writer\) overwrote it without having read it\]/
    expect(heard.find((line) => line.includes('] task:1 "Task a" completed'))).toMatch(note)
    expect(heard.find((line) => line.includes('] task:2 "Task b" completed'))).not.toContain('heddle:')
    const given = office.requestsOf('writer').find(({ messages }) => messages[0]?.content.startsWith('Task z'))
    expect(given?.messages[0]?.content).toMatch(note)
    const stopped = heard.find((line) => line.startsWith('plan:1 "The plan" has stopped'))
    expect(stopped).toMatch(
      /1 failed \(task:3\)\. out\.md as task:1 .* without having read it\. Decide with task_update/,
    )
  })

  test('whoever reads a result later hears that what it wrote is lost', async () => {
    const writer: Play = (said) =>
      said.length === 1 ? { calls: [write(`part ${keyOf(said)}\n`)] } : { text: 'Written.' }
    const coordinator: Play = (said, last, request) => {
      const id = /\[agent_result:(\d+)\] task:1 /.exec(said.join('\n'))?.[1]
      if (last === 'and?')
        return { calls: [{ name: 'read_result', input: { id: Number(id) } }, { name: 'project_status' }] }
      if (said.includes('and?')) return { text: said.slice(-2).join('\n') }
      return planningCoordinator()(said, last, request)
    }
    office = await newOffice(database, {
      ...planWith(writer, { key: 'a' }, { key: 'b', needs: ['a'] }),
      coordinator,
    })
    await office.ask('go')
    const { text } = await office.ask('and?')
    expect(text).toMatch(/^Written\.\n\[heddle: out\.md as task:1 \(.*\) wrote it is lost: task:2 \(.*\) overwrote it/)
    expect(text).toContain('"lost":["out.md as task:1 (')
  })

  test('a write after a refusal that leaves out what the other wrote is told as a loss, one that keeps it is not', async () => {
    const begin = gate()
    const wrote: Record<string, ReturnType<typeof gate>> = { 'first.md': gate(), 'second.md': gate() }
    const mine: Record<string, string> = { b: '# List\nb1\nb2\n', c: '# List\na1\na2\nc1\n' }
    const writer: Play = (said, last) => {
      const key = keyOf(said)
      const path = said[0]?.includes('the first list') ? 'first.md' : 'second.md'
      const meant = write(mine[key] ?? '# List\na1\na2\n', path)
      if (key.startsWith('a')) {
        if (said.length === 1) return { gate: begin, calls: [meant] }
        wrote[path]?.open()
        return { text: 'done' }
      }
      if (said.length === 1) return { calls: [read(path)] }
      if (said.length === 3) return { gate: wrote[path] ?? begin, calls: [meant] }
      if (last.includes('since you read it')) return { calls: [read(path)] }
      return last.includes('\t') ? { calls: [meant] } : { text: 'done' }
    }
    office = await newOffice(
      database,
      planWith(
        writer,
        { key: 'a1', context: brief('the first list') },
        { key: 'b', context: brief('the first list') },
        { key: 'a2', context: brief('the second list') },
        { key: 'c', context: brief('the second list') },
      ),
      all,
    )
    office.put('first.md', '# List\n')
    office.put('second.md', '# List\n')
    const asked = await office.say('go')
    for (const each of Object.values(wrote)) await each.reached
    begin.open()
    await office.heard(asked)
    const refused = office
      .requestsOf('writer')
      .filter(({ messages }) => messages.at(-1)?.content.includes('since you read it'))
    expect(refused).toHaveLength(2)
    expect((await shown<PlanView>('plan:1')).lost).toEqual([
      expect.stringMatching(
        /^first\.md as task:1 \(.*\) wrote it is lost: task:2 \(.*\) overwrote it and kept 1 of its 3 lines$/,
      ),
    ])
  })

  test('of two that replaced the same version of a file, the one whose version is not there is told', async () => {
    const wrote = gate()
    const writer: Play = (said) => {
      const key = keyOf(said)
      if (said.length > 1) return { text: 'done' }
      return key === 'a' ? { calls: [write('part a\n')] } : { gate: wrote, calls: [write('part b\n')] }
    }
    office = await newOffice(database, planWith(writer, { key: 'a' }, { key: 'b' }), all)
    const asked = await office.say('go')
    await wrote.reached
    await office.until(async (rows) => (await listResults(rows, { taskId: 1 })).length > 0)
    // As another process would do that has looked before the file was there.
    rmSync(join(office.folder, 'out.md'))
    wrote.open()
    await office.heard(asked)
    const lost = [expect.stringMatching(/^out\.md as task:1 \(.*overwrote it without having read it$/)]
    expect((await shown<PlanView>('plan:1')).lost).toEqual(lost)
    office.put('out.md', 'part a\n')
    expect(await shown<PlanView>('plan:1')).not.toHaveProperty('lost')
  })

  test('nothing is lost by who comes later and has read it, by an edit, or by who keeps every line', async () => {
    const edit = { name: 'edit_file', input: { path: 'out.md', old_text: 'another', new_text: 'others' } }
    const steps: Record<string, { name: string; input: object }[]> = {
      a: [write('one\ntwo\n'), write('one\n', 'kept.md')],
      b: [read(), write('another\n')],
      c: [edit],
      d: [write('zero\none\n', 'kept.md')],
    }
    const worker: Play = (said) => {
      const next = steps[keyOf(said)]?.[(said.length - 1) / 2]
      return next ? { calls: [next] } : { text: 'done' }
    }
    office = await newOffice(
      database,
      {
        ...planWith(
          worker,
          { key: 'a' },
          { key: 'b', needs: ['a'] },
          { key: 'c', needs: ['b'], skill: 'editor' },
          {
            key: 'd',
            needs: ['c'],
          },
        ),
        editor: worker,
      },
      { agents: [...staff, agentNamed('editor', { tools: ['read_file', 'edit_file'] })] },
    )
    expect((await office.ask('go')).text).toBe('Heard: plan:1 "The plan" completed: 4 completed')
    expect(await shown<PlanView>('plan:1')).not.toHaveProperty('lost')
    const [first] = (await shown<ResultView>('result:2')).artifacts
    expect(first).toMatchObject({
      verified: false,
      since: expect.stringMatching(/^changed since by run:\w{6} \(@editor\)$/),
    })
  })

  test('verified is what is on the disk now; else it is told what became of the file', async () => {
    const writer: Play = (said) =>
      said.length === 1
        ? { calls: [write('mine\n'), write('mine\n', 'b.md'), write('mine\n', 'c.md')] }
        : { text: 'ok' }
    office = await newOffice(database, planWith(writer, { key: 'a' }))
    await office.ask('go')
    const files = async () =>
      Object.fromEntries(
        (await shown<ResultView>('result:2')).artifacts.map(({ path, verified, since }) => [path, [verified, since]]),
      )
    expect(await files()).toEqual({ 'out.md': [true, undefined], 'b.md': [true, undefined], 'c.md': [true, undefined] })
    office.put('b.md', 'theirs\n')
    const [run] = (await office.engine.store.read((rows) => runsOf(rows, {}))).filter(({ taskId }) => taskId === 1)
    rmSync(join(office.folder, 'c.md'))
    expect(await files()).toEqual({
      'out.md': [true, undefined],
      'b.md': [false, 'changed since outside heddle'],
      'c.md': [false, 'not there'],
    })
    const [note] = (await explained('result:2')).notes
    expect(note?.text.replace('with ', '').split(', ').sort()).toEqual([
      'b.md (changed since outside heddle)',
      'c.md (not there)',
      'out.md',
    ])
    office.put('b.md', 'mine\n')
    await undo(office.engine, run?.id ?? '')
    expect(await files()).toEqual({
      'out.md': [false, 'not there'],
      'b.md': [false, 'not there'],
      'c.md': [false, 'not there'],
    })
  })
})
