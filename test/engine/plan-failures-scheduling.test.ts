import { afterEach, describe, expect } from 'vitest'
import { changeTask } from '../../src/engine/plans/steer-plan.ts'
import { listPlans } from '../../src/store/rows/plans.ts'
import { listTasks } from '../../src/store/rows/tasks.ts'
import { ModelFailure } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office, type OfficeOptions, type Play, planner, planningCoordinator } from './test-team.ts'

const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })
const byCoordinator: OfficeOptions = {
  config: (config) => {
    config.scheduling = 'coordinator'
  },
}
const begin = (...ids: number[]) => ids.map((id) => ({ name: 'spawn_agent', input: { task_id: id } }))

describe.each(databases)('a plan that the coordinator schedules on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const tasks = () => office.engine.store.read((rows) => listTasks(rows, {}))
  const ended = (status: string) =>
    office.until(async (rows) => (await listPlans(rows)).some((each) => each.status === status))

  /** Has a plan made, runs it with a wait beside it, and then does what the test says. */
  const coordinator =
    (decides: Play): Play =>
    (said, last, request) => {
      if (/"status":"(running|waiting)"|"error"|^\[agent_result|^plan:1/.test(last) && !last.includes('[plan:1'))
        return decides(said, last, request)
      if (/\[plan:1/.test(said.join('\n')) && !said.join('\n').includes('"status":"running"'))
        return { calls: [{ name: 'run_project', input: { project_id: 1 } }, { name: 'wait' }] }
      return planningCoordinator()(said, last, request)
    }

  test('waiting while nothing runs is refused with what is ready: nobody would wake it', async () => {
    let told = ''
    office = await newOffice(
      database,
      {
        coordinator: coordinator((said, last) => {
          if (last.startsWith('plan:1')) return { text: last }
          if (last.startsWith('[agent_result')) return { text: 'go on' }
          told ||= said.slice(-2).join('\n')
          return { text: 'Begun.', calls: [...begin(1), { name: 'wait' }] }
        }),
        'project-planner': planner({ key: 'a' }),
        researcher: () => ({ text: 'fine' }),
      },
      byCoordinator,
    )
    expect((await office.ask('go')).text).toBe('plan:1 "The plan" completed: 1 completed')
    expect(told).toContain('"ready":[1]')
    expect(told).toMatch(/nothing runs; task:1 is ready|there is nothing to wait for/)
  })

  test('a failure is told, and trying it again begins that task and no other', async () => {
    const begun = new Set<string>()
    let tries = 0
    office = await newOffice(
      database,
      {
        coordinator: coordinator((said, last) => {
          const all = said.join('\n')
          if (last.startsWith('plan:1 ')) return { text: last }
          if (!begun.has('a')) {
            begun.add('a')
            return { calls: [...begin(1), { name: 'wait' }] }
          }
          if (all.includes('task:1 failed') && !begun.has('again')) {
            begun.add('again')
            return { calls: [{ name: 'task_update', input: { id: 1, action: 'retry' } }, { name: 'wait' }] }
          }
          if (/task:1 "Task a" completed/.test(all) && !begun.has('b')) {
            begun.add('b')
            return { calls: [...begin(2, 3), { name: 'wait' }] }
          }
          return { text: 'I wait.' }
        }),
        'project-planner': planner({ key: 'a' }, { key: 'b' }, { key: 'c', needs: ['a'] }),
        researcher: (said) => (said[0]?.startsWith('Task a') && ++tries === 1 ? { fail } : { text: 'fine' }),
      },
      byCoordinator,
    )
    await office.ask('go')
    await ended('completed')
    expect((await tasks()).map(({ key, attempts }) => [key, attempts])).toEqual([
      ['a', 2],
      ['b', 1],
      ['c', 1],
    ])
  })

  test('what a person skips wakes it with what is ready now', async () => {
    office = await newOffice(
      database,
      {
        coordinator: coordinator((said, last) => {
          if (last.startsWith('plan:1 "The plan" completed')) return { text: last }
          if (/ready/.test(said.slice(-2).join('\n'))) {
            const id = last.includes('task:2') ? 2 : 1
            return { calls: [...begin(id), { name: 'wait' }] }
          }
          return { text: `I was told: ${said.length}` }
        }),
        'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'] }),
        researcher: (said) => (said[0]?.startsWith('Task a') ? { fail } : { text: 'fine' }),
      },
      byCoordinator,
    )
    await office.ask('go')
    const [first] = await tasks()
    if (!first) throw new Error('there is no plan')
    expect(first.status).toBe('failed')
    await changeTask(office.engine, first, { action: 'skip' })
    await ended('completed')
    expect((await tasks()).map(({ status }) => status)).toEqual(['skipped', 'completed'])
  })
})
