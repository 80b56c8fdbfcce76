import { afterEach, describe, expect } from 'vitest'
import { startNarrator } from '../../src/engine/knowledge/narrator.ts'
import { viewTask } from '../../src/engine/plans/plan-views.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { why } from '../../src/engine/why/why.ts'
import { describeNarrative } from '../../src/memory/narratives.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office, planner, planningCoordinator } from './test-team.ts'

const never = new AbortController().signal
const summary =
  'The harbour survey is done: two reports on cranes and berths, written by the researcher, checked, and ready to be sent.'
const told = [
  { id: 1, title: 'Task a', status: 'completed' },
  { id: 2, title: 'Task b', status: 'completed' },
]

describe.each(databases)('narratives and tasks on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const narrativeView = (id: string) => office.engine.store.read((rows) => describeNarrative(rows, id))
  const taskView = (id: number) =>
    office.engine.store.read((rows) => viewTask(rows, { ...office.engine, now: 0 }, String(id)))
  const explain = (reference: string, forward = false) =>
    why({ ...office.engine, budget: { usd: 1, tokens: 1 } }, office.folder, reference, { forward })

  test('a narrative of a talk names the tasks that were carried out in it, and each task its narratives', async () => {
    office = await newOffice(database, {
      coordinator: planningCoordinator(),
      'project-planner': planner({ key: 'a' }, { key: 'b' }),
      researcher: () => ({ text: summary }),
      narrator: () => ({ text: summary }),
    })
    const { engine, folder } = office
    const narrator = startNarrator(engine, {
      submit: (input) => submit(engine, input),
      cancel: (runId, reason) => cancel(engine, runId, reason),
      onError: () => undefined,
    })
    await office.ask('go')
    await narrator.whenIdle(folder, never)
    await narrator.stop()

    expect((await narrativeView('1')).tasks).toEqual(told)
    expect([(await taskView(1)).narratives, (await taskView(2)).narratives]).toEqual([[1], [1]])
    expect((await explain('narrative:1')).notes).toEqual(
      told.map(({ id, title, status }) => ({
        topic: 'note',
        text: `it tells of task:${id}, ${status} "${title}"`,
        at: null,
        ref: `task:${id}`,
      })),
    )
    const task = await explain('task:2', true)
    expect(task.story?.told).toMatchObject([{ kind: 'narrative', id: '1', how: 'told in' }])
    expect(task.forward?.came).toContainEqual(expect.objectContaining({ kind: 'narrative', id: '1', how: 'told in' }))
  })

  test('narrative_update names the tasks it is given and those of its request, and none of another folder', async () => {
    const update = (input: object) => ({ calls: [{ name: 'narrative_update', input: { summary, ...input } }] })
    const plan = planningCoordinator()
    office = await newOffice(database, {
      coordinator: (said, last, request) => {
        if (last.startsWith('note ')) return update(JSON.parse(last.slice(5)))
        if (/plan:1 .* completed/.test(last)) return update({})
        return request.messages.at(-1)?.role === 'tool' && last.includes('narrative')
          ? { text: last }
          : plan(said, last, request)
      },
      'project-planner': planner({ key: 'a' }, { key: 'b' }),
      researcher: () => ({ text: 'done' }),
    })
    await office.ask('go')
    expect((await narrativeView('1')).tasks).toEqual(told)
    await office.ask('note {"task_ids":[2]}', { label: 'other' })
    expect((await narrativeView('2')).tasks).toEqual(told.slice(1))
    expect((await taskView(2)).narratives).toEqual([1, 2])
    await office.ask('note {"task_ids":[9]}', { label: 'third' })
    expect(JSON.stringify(office.requestsOf('coordinator').at(-1)?.messages)).toContain('there is no task 9 here')
    await expect(narrativeView('3')).rejects.toMatchObject({ code: 'not_found' })
  })
})
