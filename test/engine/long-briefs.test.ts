import { afterEach, describe, expect } from 'vitest'
import { changeTask } from '../../src/engine/plans/steer-plan.ts'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { listPlans } from '../../src/store/rows/plans.ts'
import { listTasks } from '../../src/store/rows/tasks.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { brief, newOffice, type Office, planCall, planner, planningCoordinator } from './test-team.ts'

// Half the window at three bytes a token.
const window = 32_000
const maxBytes = 48_000
const long = `The rules:\n${'ü'.repeat(25_000)}`
/** Characters of it that fit: eleven of one byte, the others of two. */
const fitting = 11 + Math.floor((maxBytes - 11) / 2)
const refusal = (agent: string) =>
  `its brief has ${long.length} characters; at most ${fitting} fit the window of @${agent}'s model: ` +
  'put the material into a file or point to a result'

describe.each(databases)('a brief that is longer than half the window of its reader on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const proposed = {
    window,
    config: (config: { plans: string }) => {
      config.plans = 'always'
    },
  }
  const firstTask = async () => {
    const [task] = await office.engine.store.read((rows) => listTasks(rows, {}))
    if (!task) throw new Error('there is no task')
    return task
  }

  test('is an error of the plan, which is not made', async () => {
    let told = ''
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': (said, last) => {
          if (said.length === 1) return { calls: [planCall([{ key: 'a' }, { key: 'big', context: long }])] }
          told ||= last
          return { text: 'It cannot be planned.' }
        },
      },
      { window },
    )
    await office.ask('go')
    expect(JSON.parse(told)).toEqual({ status: 'error', problems: [`task "big": ${refusal('researcher')}`] })
    expect(await office.engine.store.read((rows) => listPlans(rows))).toEqual([])
  })

  test('is refused to a person who edits a task, and to a coordinator', async () => {
    let told = ''
    office = await newOffice(
      database,
      {
        coordinator: (said, last, request) => {
          if (last === 'edit it')
            return { calls: [{ name: 'task_update', input: { id: 1, action: 'edit', context: long } }] }
          if (last.includes('characters')) told = last
          return planningCoordinator()(said, last, request)
        },
        'project-planner': planner({ key: 'a' }),
      },
      proposed,
    )
    await office.ask('go')
    const edited = changeTask(office.engine, await firstTask(), { action: 'edit', context: long, skill: 'writer' })
    await expect(edited).rejects.toMatchObject({ code: 'bad_task', message: `task:1: ${refusal('writer')}` })
    await decide(office.engine, 1, { answer: 'no' })
    await office.ask('edit it')
    expect(told).toContain(`task:1: ${refusal('researcher')}`)
    expect(await firstTask()).toMatchObject({ context: brief('a'), skill: 'researcher' })
  })

  test('is refused to a coordinator that starts an agent with it', async () => {
    let told = ''
    office = await newOffice(
      database,
      {
        coordinator: (_, last) => {
          if (last === 'go') return { calls: [{ name: 'spawn_agent', input: { task: long, skill: 'researcher' } }] }
          told = last
          return { text: 'Well.' }
        },
      },
      { window },
    )
    await office.ask('go')
    expect(told).toContain(refusal('researcher'))
  })

  test('is cut at its end and says so, if it fitted when it was written', async () => {
    const fits = `The rules:\n${'ü'.repeat(10_000)}`
    office = await newOffice(
      database,
      {
        coordinator: planningCoordinator(),
        'project-planner': planner({ key: 'a' }, { key: 'b', context: fits, needs: ['a'], skill: 'writer' }),
        researcher: () => ({ text: 'found '.repeat(50) }),
        writer: () => ({ text: 'written' }),
      },
      proposed,
    )
    const item = await office.say('go')
    expect(await office.heard(item)).toMatchObject({ status: 'waiting' })
    Object.assign(office.model, { window: 8000 })
    await decide(office.engine, 1, { answer: 'once' })
    expect(await office.heard(item)).toMatchObject({ status: 'completed' })
    const given = office.requestsOf('writer')[0]?.messages[0]?.content ?? ''
    const [, kept = '', more] =
      /The rules:\n(ü+)\n… \[cut: (\d+) more characters of this brief do not fit/.exec(given) ?? []
    expect(kept.length + Number(more)).toBe(10_000)
    expect(Buffer.byteLength(given)).toBeLessThan(8000 * 0.5 * 3 + 500)
    expect(given).toContain('continue with read_result id=')
  })
})
