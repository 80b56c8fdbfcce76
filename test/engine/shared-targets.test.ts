import { afterEach, describe, expect, test } from 'vitest'
import type { PlanView } from '../../src/api/views/plan.ts'
import { viewPlan } from '../../src/engine/plans/plan-views.ts'
import { sharedTargets, targetsIn } from '../../src/engine/plans/shared-targets.ts'
import { changeTask } from '../../src/engine/plans/steer-plan.ts'
import { findApproval } from '../../src/store/rows/approvals.ts'
import { findTask } from '../../src/store/rows/tasks.ts'
import { databases } from '../setup/places.ts'
import { brief, newOffice, type Office, planner, planningCoordinator } from './test-team.ts'

test.each([
  ['Write REPORT.md, and read `src/a b.ts` and src/main.ts:12.', ['src/a b.ts', 'REPORT.md', 'src/main.ts']],
  ['See https://x.test/a.html, e.g. version 1.2, i.e. Mr. X; (docs/./guide.md)', ['docs/guide.md']],
  ['Read src/a.ts.\nWrites: ./out.md, `other.md`\nDone.', ['out.md', 'other.md']],
  ['- **Target:** docs/out.md (new)\nRead src/a.ts', ['docs/out.md']],
  ['Writes:\n- a.md\n- b/c.md: the rest\n\nRead d.md', ['a.md', 'b/c.md']],
  ['Writes: nothing\nRead d.md', []],
])('the files that a brief names: %j', (text, paths) => {
  expect(targetsIn(text).paths).toEqual(paths)
})

test('tasks of which one waits for the other, however far up, share nothing', () => {
  const work = (id: number, dependsOn: number[], context = 'Write out.md') => ({
    ...{ id, title: '', context, dependsOn, canWrite: true },
  })
  expect(sharedTargets([work(1, []), work(2, [1], 'Read it'), work(3, [2])])).toEqual([])
  expect(sharedTargets([work(1, []), work(2, [1]), work(3, [1])])).toEqual([
    { path: 'out.md', tasks: [2, 3], isDeclared: false },
  ])
  const declared = 'Writes: out.md'
  expect(sharedTargets([work(1, [], declared), work(2, [], declared), work(3, [])])).toEqual([
    { path: 'out.md', tasks: [1, 2, 3], isDeclared: false },
  ])
  expect(sharedTargets([work(1, [], declared), work(2, [], declared)])).toEqual([
    { path: 'out.md', tasks: [1, 2], isDeclared: true },
  ])
  expect(sharedTargets([work(1, []), { ...work(2, []), canWrite: false }])).toEqual([])
})

describe.each(databases)('two tasks that name one file on %s', (database) => {
  let office: Office
  afterEach(() => office.remove())

  const view = (): Promise<PlanView> =>
    office.engine.store.read((rows) => viewPlan(rows, { ...office.engine, now: 0 }, '1'))

  test('are told to who plans, to who starts it, at the gate and on the page, and the plan is not refused', async () => {
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': planner(
          { key: 'a', skill: 'writer', context: brief('add your part to out.md') },
          { key: 'b', skill: 'writer', context: brief('add the other part to out.md') },
          { key: 'c', skill: 'writer', needs: ['a', 'b'], context: brief('check out.md') },
          { key: 'd', skill: 'researcher', context: brief('read out.md') },
        ),
        writer: () => ({ text: 'written' }),
        researcher: () => ({ text: 'read' }),
      },
      { config: (config) => void Object.assign(config, { plans: 'always' }) },
    )
    await office.ask('go')
    const line = 'task:1, task:2 both name out.md and can run at the same time'
    const answer = JSON.parse(office.requestsOf('project-planner').at(-1)?.messages.at(-1)?.content ?? '')
    expect(answer).toMatchObject({
      project_id: 1,
      warnings: [line],
      remedy: expect.stringContaining('depends_on'),
    })
    const told = office.requestsOf('coordinator').at(-1)?.messages ?? []
    expect(told.find(({ content }) => content.includes('[plan:1, 4 tasks]'))?.content).toContain(line)
    const question = await office.engine.store.read((rows) => findApproval(rows, 1))
    expect(question?.facts).toContainEqual({ name: 'files', value: line })
    expect((await view()).warnings).toEqual([line])
    const second = await office.engine.store.read((rows) => findTask(rows, 2))
    if (!second) throw new Error('there is no task')
    await changeTask(office.engine, second, { action: 'edit', context: brief('write the other part to b.md') })
    expect(await view()).not.toHaveProperty('warnings')
    const anew = await office.engine.store.read((rows) => findApproval(rows, 1))
    expect(anew?.facts.map(({ name }) => name)).not.toContain('files')
  })
})
