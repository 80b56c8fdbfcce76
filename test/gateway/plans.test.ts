import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import type { Client } from '../../src/gateway/api.ts'
import { daemonClient } from '../../src/gateway/client.ts'
import { localClient } from '../../src/gateway/local-client.ts'
import { type Server, serve } from '../../src/gateway/server.ts'
import { systemClock } from '../../src/system.ts'
import { survey, taskView } from '../cli/plan-views.ts'
import { heddleOf } from '../setup/owner-app.ts'

let runFolder: string
let server: Server
let door: Client
/** What the heddle behind the socket was asked, in the words it was asked in. */
let asked: unknown[]

const [first] = survey.tasks
const result = {
  id: 2,
  taskId: 1,
  runId: 'run1',
  skillUsed: 'researcher',
  status: 'completed' as const,
  summary: '12 files',
  processed: false,
  createdAt: '2026-01-01T00:00:00.000Z',
}

const app = {
  plans: async (filter: unknown) => note(['plans', filter], [survey]),
  tasks: async (filter: unknown) => note(['tasks', filter], survey.tasks),
  results: async (filter: unknown) => note(['results', filter], [result]),
  changeTask: async (name: string, change: unknown) => {
    if (name === 'task:9') throw new HeddleError('task_running', 'task:9 is under way', 'cancel it first')
    return note(['changeTask', name, change], { id: 3, status: 'skipped', runId: null })
  },
  cancel: async (name: string, reason: string) => note(['cancel', name, reason], { id: name, state: 'cancelled' }),
  retry: async (name: string) => note(['retry', name], { runId: 'run7' }),
  show: async (_: string, name: string) =>
    note(['show', name], name.startsWith('plan:') ? survey : first && taskView(first, 'the brief')),
  submit: async (_: string, question: unknown) =>
    note(['submit', question], { itemId: 'i', runId: null, session: 's' }),
  cursor: async () => null,
  async *follow({ signal }: { signal: AbortSignal }) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
} as unknown as App

function note<T>(call: unknown[], answer: T): T {
  asked.push(call)
  return answer
}

beforeEach(async () => {
  asked = []
  runFolder = mkdtempSync(join(tmpdir(), 'heddle-gw-plans-'))
  server = await serve(heddleOf(app), {
    runFolder,
    health: { pid: 1, version: '0', since: '2026-01-01T00:00:00.000Z' },
    clock: systemClock,
    onError: (error) => {
      throw error
    },
  })
  door = daemonClient({ socket: server.path }, systemClock)
})
afterEach(async () => {
  await server.stop()
  rmSync(runFolder, { recursive: true })
})

test('plans, tasks and results come through the socket as the heddle tells them', async () => {
  expect(await door.plans({ folder: '/shop' })).toEqual([survey])
  expect(await door.plans()).toEqual([survey])
  expect(await door.tasks({ plan: 'plan:1', status: 'failed' })).toEqual(survey.tasks)
  expect(await door.results({ unprocessed: true })).toEqual([result])
  expect(asked).toEqual([
    ['plans', { folder: '/shop' }],
    ['plans', {}],
    ['tasks', { plan: 'plan:1', status: 'failed' }],
    ['results', { undelivered: false, unprocessed: true }],
  ])
})

test('one plan and one task are asked for by reference or by number, through the socket and in this process', async () => {
  for (const each of [door, localClient(heddleOf(app), app)]) {
    asked = []
    expect(await each.plan('plan:1')).toEqual(survey)
    expect(await each.task('1')).toMatchObject({ kind: 'task', context: 'the brief' })
    expect(asked).toEqual([
      ['show', 'plan:1'],
      ['show', 'task:1'],
    ])
  }
})

test('a task is changed, cancelled and tried again by its number, a plan is cancelled, and runs as before', async () => {
  const change = { action: 'edit' as const, context: 'look twice', skill: 'writer', reason: 'too short' }
  expect(await door.changeTask('task:3', change)).toEqual({ id: 3, status: 'skipped', runId: null })
  expect(await door.cancel('task:3', 'enough')).toEqual({ id: 'task:3', state: 'cancelled' })
  await door.cancel('plan:1', 'enough')
  await door.cancel('run:abcdef', 'enough')
  expect(await door.retry('task:3')).toEqual({ runId: 'run7' })
  await door.retry('abcdef')
  expect(asked).toEqual([
    ['changeTask', 'task:3', change],
    ['cancel', 'task:3', 'enough'],
    ['cancel', 'plan:1', 'enough'],
    ['cancel', 'abcdef', 'enough'],
    ['retry', 'task:3'],
    ['retry', 'abcdef'],
  ])
})

test('a refused change comes back as what it was', async () => {
  const refused = door.changeTask('task:9', { action: 'skip' })
  await expect(refused).rejects.toMatchObject({ code: 'task_running', remedy: 'cancel it first' })
})

test('a question says who shall answer, and that somebody watches', async () => {
  await door.submit('/shop', { session: 'main', content: 'go', agent: 'coordinator', attended: true })
  expect(asked).toEqual([['submit', { session: 'main', content: 'go', agent: 'coordinator', attended: true }]])
})

test.each([
  ['no number', 'GET', '/v1/plans/one', undefined],
  ['a path for a number', 'GET', '/v1/tasks/..%2f1', undefined],
  ['an unknown state', 'GET', '/v1/tasks?status=sleepy', undefined],
  ['half a folder', 'GET', '/v1/plans?folder=shop', undefined],
  ['an unknown decision', 'POST', '/v1/tasks/1', '{"action":"burn"}'],
  ['an empty brief', 'POST', '/v1/tasks/1', '{"action":"edit","context":""}'],
  ['an unknown field', 'POST', '/v1/tasks/1', '{"action":"skip","because":"x"}'],
  ['a body for another try', 'POST', '/v1/tasks/1/retry', '{"now":true}'],
])('%s is refused before anything is asked', async (_, method, path, body) => {
  const status = await new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const sent = request({ socketPath: server.path, method, path, headers })
    sent.on('error', reject).on('response', (response) => resolve(response.resume().statusCode))
    sent.end(body)
  })
  expect(status).toBe(400)
  expect(asked).toEqual([])
})
