import { describe, expect, test } from 'vitest'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import type { PlanLine } from '../../src/api/views/plan.ts'
import type { StatusView } from '../../src/api/views/status.ts'
import { questionFacts } from '../../src/cli/approvals/question-page.ts'
import type { CommandContext } from '../../src/cli/command.ts'
import { runningRow } from '../../src/cli/commands/status.ts'
import type { Daemon } from '../../src/gateway/client.ts'
import { task as taskLine } from './plan-views.ts'

const screen = { columns: 80, rows: 24, isTerminal: true, color: false }
const here = { screen } as CommandContext
const up = {} as Daemon
const plan = (id: number, counts: PlanLine['counts'], status: PlanLine['status'] = 'running') =>
  ({ id, counts, status }) as PlanLine
const row = (view: Pick<StatusView, 'running' | 'queued'>, plans: PlanLine[], daemon?: Daemon) =>
  runningRow(here, view as StatusView, plans, daemon).replace(/^running +/, '')

describe('what runs, in one line', () => {
  test('names the plan it is for, how far that is, and where to see it', () => {
    const plans = [plan(2, { completed: 7, running: 3, pending: 2 }), plan(1, { completed: 4 }, 'completed')]
    expect(row({ running: 3, queued: 1 }, plans, up)).toBe('3, 1 queued, plan 2: 7 of 12 done    heddle plans -w')
  })

  test('tells of failures and of more plans', () => {
    const plans = [plan(4, { completed: 1, failed: 1, running: 1 }), plan(3, { running: 1 })]
    expect(row({ running: 2, queued: 0 }, plans, up)).toBe(
      '2, plan 4: 1 of 3 done, 1 failed, 1 more    heddle plans -w',
    )
  })

  test('says who could do the work when nobody does', () => {
    expect(row({ running: 0, queued: 2 }, [])).toBe('0, 2 queued    heddle up')
    expect(row({ running: 0, queued: 0 }, [])).toBe('0')
    expect(row({ running: 1, queued: 0 }, [], up)).toBe('1    heddle watch')
  })
})

test('a question of an agent that does a task names the task and its plan', () => {
  const approval = { id: 1, runId: '1m7hebw1bjnew7fx88kc', agent: 'writer', tool: 'write_file', request: 'a report' }
  const asked = {
    ...approval,
    facts: [],
    change: '+ x',
    reason: 'it writes',
    folder: '/shop',
    trusted: true,
    sources: [],
  }
  const task = taskLine(4, { planId: 1, title: 'write REPORT.md' })
  expect(questionFacts(screen, asked as unknown as ApprovalView, { task })).toEqual([
    'approval:1  @writer wants write_file',
    '  why      it writes',
    '  asked    a report',
    '  run      run:fx88kc in /shop',
    '  task     task:4 of plan:1, write REPORT.md',
  ])
  expect(questionFacts(screen, asked as unknown as ApprovalView).join()).not.toContain('task:')
})
