import { expect, test } from 'vitest'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import { PlanGate } from '../../src/cli/approvals/answer-plan.ts'
import {
  firstGateState,
  type GateDecision,
  type GateState,
  stepThroughGate,
} from '../../src/cli/approvals/plan-gate.ts'
import { briefsPage, gatePrompt, planQuestionPage, planToStart } from '../../src/cli/approvals/plan-question.ts'
import type { CommandContext } from '../../src/cli/command.ts'
import type { Client } from '../../src/gateway/api.ts'
import { plan, survey, task, taskView } from './plan-views.ts'

const screen = { columns: 80, rows: 24, isTerminal: true, color: false }
const tasks = [1, 2, 3]
const proposed = plan(
  survey.tasks.map(({ id, title, skill, dependsOn }) => task(id, { title, skill, dependsOn })),
  { status: 'proposed', approvalId: 7 },
)
const question: ApprovalView = {
  id: 7,
  runId: 'run1',
  agent: 'coordinator',
  session: 'main',
  folder: '/shop',
  request: 'survey this folder',
  requestSession: 'main',
  tool: 'run_project',
  input: { project_id: 1 },
  facts: [
    { name: 'plan', value: '1, 5 tasks' },
    { name: 'costs', value: 'at least 41k tokens to read' },
  ],
  change: 'survey the shop\n  1  summarise src/api  @researcher',
  reason: 'plans: ask',
  sources: [],
  trusted: true,
  hash: 'h',
  covers: 'this plan',
  coverage: null,
  isAskedAgain: false,
  askedAt: '2026-01-01T00:00:00.000Z',
  scopes: ['once'],
}

test.each<[string, GateDecision]>([
  ['', { kind: 'run' }],
  ['  ', { kind: 'run' }],
  ['y', { kind: 'run' }],
  ['Run', { kind: 'run' }],
  ['n', { kind: 'no' }],
  ['no', { kind: 'no' }],
  ['n leave src/db out', { kind: 'no', reason: 'leave src/db out' }],
  ['leave src/db out', { kind: 'no', reason: 'leave src/db out' }],
  ['run it after lunch', { kind: 'no', reason: 'run it after lunch' }],
  ['edit nothing but the docs', { kind: 'no', reason: 'edit nothing but the docs' }],
  ['v', { kind: 'briefs' }],
  ['v 2', { kind: 'briefs', task: 2 }],
  ['e 2 b', { kind: 'brief', task: 2 }],
  ['e task:3 drop', { kind: 'drop', task: 3 }],
  ['e 1 @writer', { kind: 'give', task: 1, agent: 'writer' }],
])('at the gate "%s" is an answer', (typed, decision) => {
  expect(stepThroughGate(firstGateState, typed, tasks)).toEqual({ state: firstGateState, decision })
})

test.each<[GateState, string, GateState, string]>([
  [firstGateState, 'e', { at: 'which' }, 'which task? 1, 2, 3'],
  [firstGateState, 'e 9', { at: 'which' }, 'there is no task "9": which task? 1, 2, 3'],
  [firstGateState, 'v 9', firstGateState, 'there is no task "9"'],
  [firstGateState, 's', firstGateState, '"s" is not one of: Enter'],
  [{ at: 'which' }, 'x', { at: 'which' }, 'there is no task "x"'],
  [{ at: 'which' }, '', firstGateState, 'nothing was changed'],
  [{ at: 'which' }, '2', { at: 'how', task: 2 }, 'task 2: b its brief, d drop it, @name another agent'],
  [{ at: 'how', task: 2 }, 'what?', { at: 'how', task: 2 }, 'task 2: b its brief'],
  [{ at: 'how', task: 2 }, '', firstGateState, 'nothing was changed'],
])('in %j "%s" leads on to %j', (state, typed, next, text) => {
  const step = stepThroughGate(state, typed, tasks)
  expect(step).toEqual({ state: next, decision: { kind: 'ask', text: expect.stringContaining(text) } })
})

test('of a single task nobody asks which, and the second word may come later', () => {
  expect(stepThroughGate(firstGateState, 'e', [4])?.state).toEqual({ at: 'how', task: 4 })
  expect(stepThroughGate({ at: 'how', task: 4 }, '@writer', [4])?.decision).toMatchObject({ kind: 'give', task: 4 })
  expect(stepThroughGate({ at: 'which' }, '2 d', tasks)?.decision).toEqual({ kind: 'drop', task: 2 })
})

test.each(['/quit', '/stop', '!wait'])('%s is for whoever shows the gate, never an answer', (typed) => {
  expect(stepThroughGate(firstGateState, typed, tasks)).toBeUndefined()
  expect(stepThroughGate({ at: 'which' }, typed, tasks)).toBeUndefined()
})

test('the page shows what it may cost, all of the plan, and the keys, as in the first five minutes', () => {
  expect(planQuestionPage(screen, question, proposed, { maxAgents: 3 })).toEqual([
    '  costs    at least 41k tokens to read',
    'Plan 1 · survey the shop · 5 tasks, at most 3 at a time',
    '┌ 1  summarise src/api   @researcher',
    '│ 2  summarise src/web   @researcher',
    '└ 3  summarise src/db    @researcher',
    '  4  write REPORT.md     @writer       after 1, 2, 3',
    '  5  check every number  @code-review  after 4',
    '[Enter] run   e edit   v briefs   n no   or type what to change',
  ])
  const strange = { ...question, trusted: false, sources: ['https://example.com/\u001b[2J'] }
  expect(planQuestionPage(screen, strange, proposed, { maxAgents: 3 }).join('\n')).toContain(
    'it has read https://example.com/\\u{1b}',
  )
})

test('only a question about a plan that it names is one', () => {
  expect(planToStart(question)).toBe(1)
  expect(planToStart({ tool: 'run_project', input: { project_id: '12' } })).toBe(12)
  expect(planToStart({ tool: 'run_project', input: {} })).toBeUndefined()
  expect(planToStart({ tool: 'exec', input: { project_id: 1 } })).toBeUndefined()
})

test('a title that the drawing has no room for is told whole, behind a gutter', () => {
  const long = `read ${'every file of the shop and '.repeat(8)}stop`
  const sly = plan([task(1, { title: long, skill: 'researcher' })], { status: 'proposed' })
  const page = planQuestionPage(screen, question, sly, { maxAgents: 3 })
  const told = page.filter((line) => /^ {2}[│┆] /.test(line)).map((line) => line.slice(4))
  expect(told.join('').replace(/\s+/g, ' ')).toContain(long.slice(-80).replace(/\s+/g, ' ').slice(-20))
  expect(page.every((line) => line.length <= 80)).toBe(true)
})

test('a plan that is longer than the screen is not started before its end was shown', async () => {
  const many = plan(
    Array.from({ length: 60 }, (_, at) => task(at + 1, { title: `step ${at + 1}`, skill: 'researcher' })),
    { status: 'proposed' },
  )
  const { gate, printed } = newGate(many, planQuestionPage(screen, question, many, { maxAgents: 3 }))
  const begin = gate.begin()
  expect([begin.includes('step 60'), gate.prompt]).toEqual([false, 'plan:1 v/n> '])
  expect(await gate.take('')).toBe('open')
  expect(printed.at(-1)).toContain('not yet: you have not seen all of it')
  while (gate.prompt === 'plan:1 v/n> ') expect(await gate.take('v')).toBe('open')
  expect([begin, ...printed].join('\n').match(/step \d+/g)).toHaveLength(60)
  expect(await gate.take('')).toEqual({ answer: 'once' })
})

test('briefs are shown as their agents read them, with nothing that a terminal obeys', () => {
  const [first] = proposed.tasks
  const views = first ? [taskView(first, 'Read src/api.\nCount \u001b[31mTODO.\n')] : []
  expect(briefsPage(screen, views)).toBe(
    '1  summarise src/api  @researcher\n    Read src/api.\n    Count \\u{1b}[31mTODO.',
  )
})

/** A gate before a heddle that notes what is asked of it. */
function newGate(view = proposed, page: string[] = []) {
  const changes: unknown[] = []
  const printed: string[] = []
  const door = {
    task: async (name: string) => taskView(task(Number(name.slice(5))), `brief of ${name}`),
    changeTask: async (name: string, change: unknown) => changes.push([name, change]),
  } as unknown as Client
  const here = { screen, env: {} } as unknown as CommandContext
  const gate = new PlanGate(
    view,
    {
      here,
      ask: (what) => what(door),
      print: (text) => printed.push(text),
      lend: (use) => use(),
    },
    page,
  )
  return { gate, changes, printed }
}

test('a task is dropped or given away in a few words, and the plan is to be shown again', async () => {
  const { gate, changes, printed } = newGate()
  expect(gate.prompt).toBe('plan:1 Enter/e/v/n> ')
  expect(await gate.take('e')).toBe('open')
  expect(gate.prompt).toBe('which task> ')
  expect(await gate.take('3')).toBe('open')
  expect(gate.prompt).toBe(gatePrompt(1, { at: 'how', task: 3 }))
  expect(await gate.take('d')).toBe('changed')
  expect(await gate.take('e 4 @researcher')).toBe('changed')
  expect(changes).toEqual([
    ['task:3', { action: 'skip', reason: 'dropped before the plan was started' }],
    ['task:4', { action: 'edit', skill: 'researcher' }],
  ])
  expect(printed[0]).toBe('which task? 1, 2, 3, 4, 5')
  expect(printed.slice(2)).toEqual(['task 3 is dropped', 'task 4 now belongs to @researcher'])
})

test('what was dropped can no longer be chosen, and briefs are read without answering', async () => {
  const { gate, printed } = newGate(plan([task(1), task(2, { status: 'skipped' }), task(3)], { status: 'proposed' }))
  await gate.take('e')
  expect(printed.at(-1)).toBe('which task? 1, 3')
  await gate.take('')
  expect(await gate.take('v 3')).toBe('open')
  expect(printed.at(-1)).toContain('brief of task:3')
  expect(await gate.take('')).toEqual({ answer: 'once' })
  expect(await gate.take('make it two tasks')).toEqual({ answer: 'no', reason: 'make it two tasks' })
  expect(await gate.take('/quit')).toBeUndefined()
})

test('without an editor a brief stays as it is, and the user is told how to name one', async () => {
  const { gate, changes } = newGate()
  await expect(gate.take('e 1 b')).rejects.toMatchObject({ remedy: expect.stringContaining('EDITOR=') })
  expect(changes).toEqual([])
})
