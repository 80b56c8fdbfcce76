import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import type { ResultLine } from '../../src/api/views/plan.ts'
import { width } from '../../src/cli/terminal/screen.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'
import { plan, survey, task } from './plan-views.ts'
import { type Known, serveData } from './plans-daemon.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

let heddle: TestHeddle
let daemon: Awaited<ReturnType<typeof serveData>>
let known: Known

const result: ResultLine = {
  id: 2,
  taskId: 1,
  runId: '06b000000000000007k2',
  skillUsed: 'researcher',
  status: 'completed',
  summary: '12 files, 31 exports, 4 TODO',
  processed: false,
  createdAt: '2026-01-01T00:00:00.000Z',
}

beforeEach(async () => {
  heddle = newHeddle()
  await heddle.run('init')
  known = { plans: [], results: [], approvals: [] }
  daemon = await serveData(heddle.home, known)
})
afterEach(async () => {
  await daemon.stop()
  heddle.remove()
})

/** The survey under way in this folder, and an old plan of another. */
function twoPlans() {
  const tasks = [
    task(8, { planId: 2, status: 'failed', title: 'x'.repeat(200) }),
    task(9, { planId: 2, status: 'blocked', dependsOn: [8] }),
  ]
  const old = plan(tasks, { id: 2, status: 'failed', title: 'tidy up '.repeat(20), folder: '/elsewhere' })
  known.plans = [old, { ...structuredClone(survey), folder: heddle.folder }]
}

const fits = (out: string) => expect(out.split('\n').filter((line) => width(line) > 80)).toEqual([])

test('nothing is planned yet: each list says which command fills it', async () => {
  expect((await heddle.run('plans')).out).toContain('no plan in this folder yet    heddle ask "…"')
  expect((await heddle.run('tasks')).out).toContain('no task yet    heddle ask "…"')
  expect((await heddle.run('results')).out).toContain('heddle ask "…"')
  expect((await heddle.run('results', '--unprocessed')).out).toContain('heddle results')
  expect(await heddle.json('projects')).toEqual({ plans: [] })
  const { code, err } = await heddle.run('plans', '-w')
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('no plan is running in this folder') })
})

test('plans are listed for this folder, or for all', async () => {
  twoPlans()
  const here = await heddle.run('plans')
  expect(here.out).toMatch(/^plan:1 {2}running {2}2 of 5, 1 running {2}survey the shop {2}main {2}/)
  const { out } = await heddle.run('plans', '--all')
  expect(out).toContain('plan:2  failed   0 of 2, 1 failed, 1 blocked')
  fits(out)
  expect(await heddle.json('plans', '-a')).toEqual({ plans: JSON.parse(JSON.stringify(known.plans)) })
})

test.each(['failed', 'blocked', 'cancelled', 'skipped', 'running'] as const)(
  'the list of plans counts tasks that are %s',
  async (status) => {
    const tasks = [task(1, { status: 'completed' }), task(2, { status }), task(3, { status }), task(4)]
    known.plans = [plan(tasks, { folder: heddle.folder })]
    expect((await heddle.run('plans')).out).toContain(`plan:1  running  1 of 4, 2 ${status}  survey the shop`)
  },
)

test('one plan is drawn with what to do next', async () => {
  twoPlans()
  const { out } = await heddle.run('plans', 'plan:2')
  expect(out).toContain('8  FAILED')
  expect(out).toContain('heddle retry task:8, or heddle tasks skip task:8')
  fits(out)
  expect((await heddle.run('plans', 'plan:7')).err).toContain('heddle plans lists them')
  const misuse = await heddle.run('plans', 'run:7')
  expect(misuse).toMatchObject({ code: 2, err: expect.stringContaining('write it as plan:1') })
})

test('tasks and results are listed, filtered, and fit the screen', async () => {
  twoPlans()
  known.results = [result, { ...result, id: 1, taskId: null, processed: true, summary: 'y'.repeat(300) }]
  const { out } = await heddle.run('tasks')
  expect(out).toContain('task:4  plan:1  pending')
  fits(out)
  const failed = await heddle.json<{ tasks: unknown[] }>('tasks', '--plan', '2', '--status', 'failed')
  expect(failed.tasks).toEqual([known.plans[0]?.tasks[0]])
  expect((await heddle.run('tasks', '--plan', 'plan:1', '--status', 'failed')).out).toContain('no such task')
  expect((await heddle.run('tasks', '--status', 'lazy')).err).toContain('use --status pending, blocked')
  const results = await heddle.run('results')
  expect(results.out).toMatch(/^result:2 {2}completed {2}@researcher {2}task:1 .* not read yet$/m)
  fits(results.out)
  expect(await heddle.json('results', '--unprocessed')).toEqual({ results: [result] })
})

test('a task is skipped, given to another agent and given another brief', async () => {
  twoPlans()
  const skipped = await heddle.json('tasks', 'skip', 'task:8', '--reason', 'not needed')
  expect(skipped).toEqual({ ok: true, id: 8, status: 'skipped', runId: null })
  expect((await heddle.run('tasks', 'edit', '4', '--agent', '@researcher')).out).toContain(
    'task:4 now belongs to @researcher',
  )
  const brief = join(heddle.folder, 'brief.md')
  writeFileSync(brief, 'Write it.\nIn French.\n')
  expect((await heddle.run('tasks', 'edit', 'task:4', '--brief-file', brief)).out).toContain('has a new brief')
  expect(daemon.asked).toEqual([
    ['task:8', { action: 'skip', reason: 'not needed' }],
    ['task:4', { action: 'edit', skill: 'researcher' }],
    ['task:4', { action: 'edit', context: 'Write it.\nIn French.\n' }],
  ])
  writeFileSync(brief, ' \n')
  expect((await heddle.run('tasks', 'edit', 'task:4', '--brief-file', brief)).err).toContain('the brief is empty')
  expect((await heddle.run('tasks', 'edit', 'task:4', '--brief-file', 'none')).err).toContain('cannot read none')
  expect((await heddle.run('tasks', 'edit', 'task:4')).err).toContain('--brief-file FILE')
  expect((await heddle.run('tasks', 'skip', 'plan:1')).err).toContain('write it as task:3')
})

test('on a terminal a brief is edited in the owner’s editor', async () => {
  twoPlans()
  const editor = `sh -c 'echo more >> "$1"' -`
  const terminal = heddle.terminalWith({ env: { EDITOR: editor } }, 'tasks', 'edit', 'task:4')
  expect((await terminal.ended).out).toContain('task:4 has a new brief')
  expect(daemon.asked).toEqual([
    ['task:4', { action: 'edit', expectedBrief: 'h', context: 'the brief of task:4\nin two linesmore' }],
  ])
  const untouched = heddle.terminalWith({ env: { EDITOR: 'true' } }, 'tasks', 'edit', 'task:4')
  expect((await untouched.ended).out).toContain('nothing was changed')
})

test('tasks and plans are cancelled and tried again by their own numbers', async () => {
  twoPlans()
  expect((await heddle.run('cancel', 'task:3')).out).toBe('task:3 is cancelled\n')
  expect(await heddle.json('cancel', 'plan:1', '--reason', 'enough')).toMatchObject({ ok: true, state: 'cancelled' })
  expect((await heddle.run('retry', 'task:8')).out).toContain('task:8 restarted    heddle plans -w shows it')
  expect((await heddle.run('retry', 'plan:2')).err).toContain('heddle tasks --plan 2 --status failed')
  expect(daemon.asked).toEqual([
    ['cancel', 'task:3', 'cancelled by the user'],
    ['cancel', 'plan:1', 'enough'],
    ['retry', 'task:8'],
  ])
})

describe('watching', () => {
  /** Lets the plan of this folder go on, and tells it. */
  const goOn = (done: number) => {
    const [, running] = known.plans
    if (!running) throw new Error('there is no plan')
    const tasks = running.tasks.map((each) =>
      each.id <= done ? { ...each, status: 'completed' as const, summary: 'fine', resultId: each.id + 10 } : each,
    )
    known.plans[1] = { ...plan(tasks), folder: heddle.folder, status: done === 5 ? 'completed' : 'running' }
    daemon.happens('task.changed', `task:${done}`)
  }

  test('piped, lines come as tasks change, and the command ends with the plan', async () => {
    twoPlans()
    const watching = heddle.start('plans', '-w', '--json')
    await watching.says('agents 1/3 · waiting 2 · $0.02')
    goOn(4)
    await watching.says('4  ok')
    goOn(5)
    const { code, out } = await watching.ended
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ kind: 'plan', id: 1, status: 'completed' })
  })

  test('on a terminal Ctrl-C leaves what was shown, and says that the plan continues', async () => {
    twoPlans()
    const terminal = heddle.terminalWith({ env: { NO_COLOR: '1' } }, 'plans', '-w')
    await terminal.shows('agents 1/3')
    goOn(4)
    await terminal.shows('4  ok')
    terminal.type('\u0003')
    const { code, out } = await terminal.ended
    expect(code).toBe(130)
    expect(out).toContain('plan:1 continues    heddle plans plan:1 -w')
    expect(out).not.toContain('\u001b[?25l')
  })
})

describe('a plan that waits for its start', () => {
  const question = (): ApprovalView => ({
    id: 7,
    runId: '06b000000000000007k2',
    agent: 'coordinator',
    session: 'main',
    folder: heddle.folder,
    request: 'survey this folder',
    requestSession: 'main',
    tool: 'run_project',
    input: { project_id: 1 },
    facts: [{ name: 'costs', value: 'at least 41k tokens to read' }],
    change: 'the plan\n  1  one',
    reason: 'plans: ask',
    sources: [],
    trusted: true,
    hash: 'h',
    covers: 'this plan',
    coverage: null,
    isAskedAgain: false,
    askedAt: '2026-01-01T00:00:00.000Z',
    scopes: ['once'],
  })
  beforeEach(() => {
    known.plans = [plan([task(1), task(2, { dependsOn: [1] })], { status: 'proposed', folder: heddle.folder })]
    known.approvals = [question()]
  })

  test('is shown by ask on a terminal, changed, and started with Enter', async () => {
    const terminal = heddle.terminalWith({ env: { NO_COLOR: '1' } }, 'ask', 'survey this folder')
    await terminal.shows('at least 41k tokens to read')
    await terminal.shows('plan:1 Enter/e/v/n> ')
    terminal.type('v\r')
    await terminal.shows('the brief of task:2')
    terminal.type('e 2 @writer\r')
    await terminal.shows('@writer')
    await terminal.shows('plan:1 Enter/e/v/n> ')
    terminal.type('\r')
    expect(await daemon.decided).toEqual({ answer: 'once', hash: 'h' })
    expect((await terminal.ended).out).toContain('the plan is under way')
    expect(daemon.asked).toEqual([['task:2', { action: 'edit', skill: 'writer' }]])
  })

  test('is shown in a chat, where Enter, an editor and words all have their meaning', async () => {
    const editor = `sh -c 'echo more >> "$1"' -`
    const terminal = heddle.terminalWith({ env: { NO_COLOR: '1', EDITOR: editor } })
    await terminal.shows('[Enter] run   e edit   v briefs   n no')
    terminal.type('e\r')
    await terminal.shows('which task> ')
    terminal.type('\r')
    await terminal.shows('nothing was changed')
    terminal.type('e 1 b\r')
    await terminal.shows('[Enter] run')
    expect(daemon.asked).toEqual([
      ['task:1', { action: 'edit', expectedBrief: 'h', context: 'the brief of task:1\nin two linesmore' }],
    ])
    terminal.type('one task is enough\r')
    expect(await daemon.decided).toEqual({ answer: 'no', hash: 'h', reason: 'one task is enough' })
    await terminal.shows('plan:1 was not started; the planner gets your message')
    terminal.type('/quit\r')
    expect((await terminal.ended).code).toBe(0)
  })
})
