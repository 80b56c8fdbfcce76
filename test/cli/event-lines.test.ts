import { expect, test } from 'vitest'
import { callLine } from '../../src/cli/live/call-line.ts'
import { EventLines } from '../../src/cli/live/event-lines.ts'
import { lastLine } from '../../src/cli/pages/answer-page.ts'
import { type Event, type EventKind, eventKinds } from '../../src/domain/event.ts'

const screen = { columns: 80, rows: 24, isTerminal: false, color: false }

function wordsOf(kind: EventKind, subject: string, payload: Event['payload'] = {}): string {
  return new EventLines(screen).lines({ cursor: '', at: 0, kind, subject, payload }).split(/ {2,}/).slice(2).join('  ')
}

test('the log of a daemon tells what happened in words of people', () => {
  expect([
    wordsOf('task.changed', 'task:3', { plan: 1, status: 'running' }),
    wordsOf('plan.changed', 'plan:1', { status: 'completed' }),
    wordsOf('approval.asked', 'approval:2', { tool: 'write_file' }),
    wordsOf('approval.answered', 'approval:2', { answer: 'no' }),
    wordsOf('approval.answered', 'approval:2', { answer: 'once' }),
    wordsOf('grant.lapsed', 'grant:1', { why: 'src/a.ts changed' }),
    wordsOf('run.fallback', 'run:1m7kpam0r7chkt2rkzt2', { from: 'main', to: 'local', error: 'provider_failed' }),
    wordsOf('run.waiting', 'run:1m7kpam0r7chkt2rkzt2', { for: 'retry', error: 'stream_cut' }),
    wordsOf('run.waiting', 'run:1m7kpam0r7chkt2rkzt2', { for: 'approval' }),
    wordsOf('run.step', 'run:1m7kpam0r7chkt2rkzt2', { steps: [{ seq: 4, kind: 'compact' }] }),
  ]).toEqual([
    'running, plan:1',
    'completed',
    'needs your approval: write_file',
    'denied',
    'approved',
    'grant ended: src/a.ts changed',
    'main failed (the provider failed), continuing with local',
    'the connection was lost, retrying',
    'waiting for approval',
    'earlier steps summarised',
  ])
})

test.each(eventKinds)('the log of a daemon shows no name of an event: %s', (kind) => {
  const line = wordsOf(kind, `${kind.split('.')[0]}:1`, { session: 'main' })
  expect(line).not.toContain(kind)
  expect(line).not.toMatch(/undefined|_/)
})

test('a call that was refused is told as not allowed', () => {
  const call = { runId: '1m7kpam0r7chkt2rkzt2', depth: 0, what: 'run_project', took: 100 }
  expect(callLine(screen, { ...call, status: 'forbidden' })).toMatch(/ 0\.1s {2}not allowed$/)
  expect(callLine(screen, { ...call, status: 'unknown' })).toMatch(/ 0\.1s {2}unknown outcome$/)
  expect(callLine(screen, { ...call, status: 'ok' })).toMatch(/ 0\.1s {2}ok$/)
})

test('the last line of a turn that no model answered names none', () => {
  const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 }
  const turn = { turnId: '1m7kpam6h3fq9w40drvt', usage, took: 200, model: { actual: null } }
  expect(lastLine(screen, turn)).toBe('turn:40drvt · 0 in, 0 out · $0.00 · 0.2s  heddle show turn:40drvt')
})
