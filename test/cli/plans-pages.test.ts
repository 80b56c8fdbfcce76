import { expect, test } from 'vitest'
import type { ResultView } from '../../src/api/views/result.ts'
import { nextForPlan, planPage, resultPage, taskPage } from '../../src/cli/pages/plan-page.ts'
import { width } from '../../src/cli/terminal/screen.ts'
import { plan, survey, task, taskView } from './plan-views.ts'

const screen = { columns: 80, rows: 24, isTerminal: true, color: false }
const result: ResultView = {
  kind: 'result',
  id: 4,
  taskId: 3,
  runId: '06b000000000000007k2',
  skillUsed: 'researcher',
  status: 'failed',
  summary: 'the provider refused',
  processed: false,
  createdAt: '2026-01-01T00:00:00.000Z',
  output: 'nothing\u001b[2J',
  artifacts: [],
  memoryIds: [],
}

test('a plan tells where it comes from, every task, and what to do next', () => {
  const page = planPage(screen, { ...survey, goal: 'know what there is '.repeat(7).trim(), revision: 2 })
  expect(page.split('\n')).toEqual([
    'plan:1',
    'goal     know what there is know what there is know what there is know what',
    '         there is know what there is know what there is know what there is',
    'session  main in /shop',
    'planned  run:06b0000000000000007k2m, revision 2',
    'next     heddle plans plan:1 -w',
    '',
    'Plan 1 · survey the shop · running, 2 of 5 done',
    ...page.split('\n').slice(-6),
  ])
  expect(page).toContain('result:3')
  expect(page.split('\n').filter((line) => width(line) > 80)).toEqual([])
})

test.each([
  [survey, 'heddle plans plan:1 -w'],
  [plan([task(3, { status: 'failed' })], { status: 'failed' }), 'heddle retry task:3, or heddle tasks skip task:3'],
  [plan([task(3)], { status: 'proposed', approvalId: 7 }), 'heddle approve 7, or heddle deny 7 --reason "…"'],
  [plan([task(3)], { status: 'proposed' }), 'ask for it: heddle ask "run plan 1"'],
  [plan([task(3, { status: 'completed' })], { status: 'completed' }), null],
  [plan([task(3, { status: 'cancelled' })], { status: 'cancelled' }), null],
])('what comes next is one command, where anything does', (view, next) => {
  expect(nextForPlan(view)).toBe(next)
})

test('a task tells its brief as its agent reads it, and each try', () => {
  const failed = task(3, {
    status: 'failed',
    attempts: 1,
    dependsOn: [1, 2],
    reason: 'gave up',
    model: 'local',
    runId: 'abcdefghij',
  })
  const { kind: _, output: __, artifacts: ___, memoryIds: ____, ...line } = result
  const page = taskPage(screen, { ...taskView(failed, 'Read src.\n\nCount \u0007files.\n'), results: [line] })
  expect(page.split('\n')).toEqual([
    'task:3',
    'title   task number 3',
    'plan    plan:1 survey the shop',
    'status  failed: gave up',
    'agent   @researcher, local',
    'needs   task:1, task:2',
    'tried   1 time',
    'run     run:abcdefghij',
    'next    heddle retry task:3, heddle tasks edit task:3, or heddle tasks skip task:3',
    '',
    'Read src.',
    '',
    'Count \\u{7}files.',
    '',
    '  result:4  failed  the provider refused  run:0007k2',
  ])
})

test('a result tells for which task it is, by whom, and whether anybody has read it', () => {
  const page = resultPage(screen, result)
  expect(page).toContain('run     run:06b000000000000007k2, @researcher\ntask    task:3\nstatus  failed, not read yet')
  expect(page).toContain('nothing\\u{1b}[2J')
  expect(resultPage(screen, { ...result, taskId: null, processed: true, skillUsed: null })).not.toMatch(
    /task|not read|@/,
  )
})

const lost =
  'out.md as task:1 (run:0007k2, @writer) wrote it is lost: task:2 (run:0007k3, @writer) overwrote it without having read it'

test('a plan and a task tell what was overwritten, and a plan which files its tasks share', () => {
  const warning = 'task:4, task:5 both name REPORT.md and can run at the same time'
  const page = planPage(screen, { ...survey, warnings: [warning], lost: [lost] })
  expect(page.split('\n').slice(-3)).toEqual([
    `careful  ${warning}`,
    'lost     out.md as task:1 (run:0007k2, @writer) wrote it is lost: task:2',
    '         (run:0007k3, @writer) overwrote it without having read it',
  ])
  expect(taskPage(screen, { ...taskView(task(1), 'Do it.'), lost: [lost] })).toContain(
    'lost    out.md as task:1 (run:0007k2, @writer) wrote it is lost: task:2\n        (run:0007k3',
  )
})

test('a result tells which of its files are on the disk as they were written, and what became of the others', () => {
  const file = { sha256: '0', bytes: 7, verified: false }
  const artifacts = [
    { ...file, path: 'a.md', verified: true },
    { ...file, path: 'b.md', since: 'overwritten by task:2 (run:0007k3, @writer) without having read it' },
    { ...file, path: 'c\u001b.md', since: 'not there' },
  ]
  expect(resultPage(screen, { ...result, artifacts })).toContain(
    'files   a.md (7 bytes, verified), b.md (overwritten by task:2 (run:0007k3, @writer) without having read it), ' +
      'c\\u{1b}.md (not there)',
  )
})
