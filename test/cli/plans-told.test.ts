import { beforeEach, expect, test } from 'vitest'
import type { PlanView } from '../../src/api/views/plan.ts'
import { PlanProgress } from '../../src/cli/live/plan-progress.ts'
import type { Event } from '../../src/domain/event.ts'
import { plan, task } from './plan-views.ts'

const screen = { columns: 80, rows: 24, isTerminal: true, color: false }
const changed = (subject: string, payload: Event['payload']): Event => ({
  cursor: '1',
  at: 0,
  kind: subject.startsWith('task:') ? 'task.changed' : 'plan.changed',
  subject,
  payload,
})
let now: PlanView
let progress: PlanProgress

beforeEach(() => {
  now = plan([
    task(1, { title: 'count', status: 'running', runId: 'r1', attempts: 1 }),
    task(2, { title: 'write', dependsOn: [1] }),
  ])
  progress = new PlanProgress({ session: 'main', folder: '/shop' }, screen, {
    plan: async () => now,
    plans: async () => [now],
  })
})

test('a run that does a task is progress by the number and title of that, and any other run is not', async () => {
  await progress.apply(changed('task:1', { plan: 1, status: 'running' }))
  expect(progress.doing('r1', 'read_file a.ts', 1500)).toBe('  1  run    1.5s  count  @researcher  read_file a.ts')
  expect(progress.doing('r9', 'read_file a.ts', 1500)).toBeUndefined()
  const done = task(1, { title: 'count', status: 'completed', runId: 'r1', resultId: 3, seconds: 2 })
  now = plan([{ ...done, summary: 'REHEARSAL: 4 files' }])
  expect(await progress.ended('r1')).toMatch(/^ {2}1 {2}ok {5}2\.0s {2}count {2}4 files +result:3$/)
  expect(await progress.ended('r9')).toBeUndefined()
})

test('of one that ended by itself its last words are progress, of one that was decided about the reason', async () => {
  const failed = task(1, { title: 'count', status: 'failed', runId: 'r1', summary: 'no such folder' })
  now = plan([
    { ...failed, reason: 'run:r1 ended: failed' },
    task(2, { status: 'skipped', runId: 'r2', reason: 'late' }),
  ])
  await progress.begin()
  expect(await progress.ended('r1')).toMatch(/FAILED .* no such folder$/)
  expect(await progress.ended('r2')).toMatch(/skip .* late$/)
})

test('a plan is under way between two of its tasks, and not when it only waits for a decision', async () => {
  await progress.begin()
  expect([progress.isBusy, progress.standing, progress.runningTasks.map(({ runId }) => runId)]).toEqual([
    true,
    ['plan 1: 0 of 2 done'],
    ['r1'],
  ])
  now = plan([task(1, { status: 'completed' }), task(2, { status: 'running', runId: 'r2' })])
  await progress.apply(changed('task:2', { plan: 1, status: 'running' }))
  expect([progress.isBusy, progress.standing]).toEqual([true, ['plan 1: 1 of 2 done']])
  now = plan([task(1, { status: 'failed' }), task(2, { status: 'blocked' })], { status: 'failed' })
  await progress.apply(changed('plan:1', { status: 'failed' }))
  expect([progress.isBusy, progress.standing]).toEqual([false, []])
})

test('plans of other sessions are nothing to tell, and one that cannot be looked at stays as it was', async () => {
  now = { ...now, session: 'other' }
  await progress.apply(changed('plan:1', { status: 'running' }))
  expect([progress.isBusy, progress.isCancelled(changed('plan:1', { status: 'cancelled' }))]).toEqual([false, false])
  const deaf = new PlanProgress({ session: 'main', folder: '/shop' }, screen, {
    plan: () => Promise.reject(new Error('gone')),
    plans: () => Promise.reject(new Error('gone')),
  })
  await deaf.begin()
  await deaf.apply(changed('task:1', { plan: 1 }))
  expect(deaf.isBusy).toBe(false)
})

test('that somebody gave a plan up is progress, since nobody is woken by it', async () => {
  await progress.begin()
  expect(progress.isCancelled(changed('plan:1', { status: 'completed' }))).toBe(false)
  expect(progress.isCancelled(changed('plan:1', { status: 'cancelled' }))).toBe(true)
})
