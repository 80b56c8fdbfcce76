import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { PlanView } from '../../src/api/views/plan.ts'
import { Frame } from '../../src/cli/live/plan-frame.ts'
import { watchPlan } from '../../src/cli/live/watch-plan.ts'
import type { Screen } from '../../src/cli/terminal/screen.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import type { Event, EventKind } from '../../src/domain/event.ts'
import type { Client } from '../../src/gateway/api.ts'
import { localClient } from '../../src/gateway/local-client.ts'
import { manualClock } from '../../src/testing.ts'
import { heddleOf } from '../setup/owner-app.ts'
import { plan, survey, task } from './plan-views.ts'

const screen = { columns: 80, rows: 24, isTerminal: true, color: false }

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
const obeyed = /\u001b\[(\d*)([ABJK])|\r|\n|[^\u001b\r\n]/gu

/** What a terminal would show of it: the few things that a frame asks of one. */
function shown(written: string): string[] {
  const lines: string[] = ['']
  let [row, column] = [0, 0]
  for (const [part, count, what] of written.matchAll(obeyed)) {
    if (what === 'A') row -= Number(count)
    else if (what === 'B') row += Number(count)
    else if (what === 'J') lines.splice(row, lines.length, (lines[row] ?? '').slice(0, column))
    else if (what === 'K') lines[row] = (lines[row] ?? '').slice(0, column)
    else if (part === '\r') column = 0
    else if (part === '\n') {
      row++
      column = 0
      lines[row] ??= ''
    } else {
      lines[row] = (lines[row] ?? '').slice(0, column).padEnd(column) + part + (lines[row] ?? '').slice(column + 1)
      column++
    }
  }
  return lines
}

function newOutput() {
  const output = new PassThrough().setEncoding('utf8')
  const said = { all: '', last: '' }
  output.on('data', (text) => {
    said.all += text
    said.last = text
  })
  return { output, said }
}

test('only lines that changed are drawn again, and fewer or more of them are no hindrance', () => {
  const { output, said } = newOutput()
  const frame = new Frame({ ...screen, columns: 20 }, output)
  frame.show(['one', 'two', 'three'])
  expect(shown(said.all)).toEqual(['one', 'two', 'three', ''])
  frame.show(['one', '2', 'three', 'four'])
  expect(said.last).not.toMatch(/one|three/)
  expect(shown(said.all)).toEqual(['one', '2', 'three', 'four', ''])
  said.last = ''
  frame.show(['one', '2', 'three', 'four'])
  expect(said.last).toBe('')
  frame.show(['one', 'x'.repeat(20)])
  frame.show(['1', 'x'.repeat(20)])
  expect(shown(said.all)).toEqual(['1', 'x'.repeat(20), ''])
  frame.close()
  expect(shown(said.all)).toEqual(['1', 'x'.repeat(20), ''])
  // Nothing ever hides the cursor, so nothing has to bring it back.
  expect(said.all).not.toContain('\u001b[?25l')
})

test('a window that becomes narrower is drawn anew from its first row, and never higher than it is', () => {
  const { output, said } = newOutput()
  const size = { ...screen, columns: 20, rows: 4 }
  const frame = new Frame(size, output)
  frame.show(['gone', 'eighteen columns !', 'two', 'three'])
  expect(shown(said.all)).toEqual(['eighteen columns !', 'two', 'three', ''])
  size.columns = 10
  output.emit('resize')
  expect(said.last).toBe('\r\u001b[4A\u001b[Jeighteen columns !\ntwo\nthree\n')
  frame.close()
  expect(output.listenerCount('resize')).toBe(0)
})

/** A plan that goes on one picture at each event, and the door to it. */
function newPlan(views: PlanView[], kinds: EventKind[]) {
  const clock = manualClock(0)
  let at = 0
  const looks: number[] = []
  const door = {
    cursor: async () => null,
    plan: async () => {
      looks.push(at)
      return views[at]
    },
    run: async () => ({ budget: { request: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0.02 } } }),
    async *stream() {
      for (const [n, kind] of kinds.entries()) {
        at = Math.min(n + 1, views.length - 1)
        const subject = kind.startsWith('run.') ? 'run:somebody-else' : kind === 'plan.changed' ? 'plan:1' : 'task:1'
        const event: Event = { cursor: String(n), at: n, kind, subject, payload: {} }
        yield { kind: 'event', event }
      }
    },
  } as unknown as Client
  const watch = async (size: Screen, signal = new AbortController().signal) => {
    const { output, said } = newOutput()
    const app = async () => ({}) as Client
    const ended = await watchPlan({ app, clock, screen: size, signal, output, maxAgents: 3 }, door, 1)
    return { ended, said }
  }
  return { watch, looks }
}

const after = (status: PlanView['status'], tasks: PlanView['tasks']) => plan(tasks, { status })
const [first, second] = survey.tasks
const begun = after('running', [task(1, { status: 'running', attempts: 1, seconds: 0 }), task(2, { dependsOn: [1] })])
const halfway = after(
  'running',
  [first, task(2, { dependsOn: [1], status: 'running', attempts: 1 })].flatMap((t) => t ?? []),
)
const ended = after(
  'completed',
  [first, second && { ...second, dependsOn: [1] }].flatMap((t) => t ?? []),
)

test('on a terminal the plan stands in one place until it ends, and its last picture stays', async () => {
  const { watch, looks } = newPlan([begun, halfway, ended], ['task.changed', 'plan.changed', 'run.step'])
  const { ended: last, said } = await watch(screen)
  expect(last.status).toBe('completed')
  expect(shown(said.all)).toEqual([
    'Plan 1 · survey the shop · completed, 2 tasks',
    '  1  ok     1.2s  summarise src/api  12 files, 31 exports, 4 TODO       result:2',
    '  2  ok     1.4s  summarise src/web  20 files, 44 exports, 9 TODO       result:3',
    '                                                                           $0.02',
    '',
  ])
  // The run of somebody else came after the end, and would have been nobody's business anyway.
  expect(looks).toEqual([0, 1, 2])
})

test('piped, the plan is told once and then each task that changed', async () => {
  const { watch } = newPlan([begun, begun, halfway, ended], ['run.step', 'task.changed', 'plan.changed'])
  const { said } = await watch({ ...screen, isTerminal: false })
  expect(said.all.split('\n')).toEqual([
    'Plan 1 · survey the shop · running, 0 of 2 done',
    '  1  run    0.0s  task number 1  @researcher',
    '  2  wait         task number 2  @researcher  after 1',
    '                                                  agents 1/3 · waiting 1 · $0.02',
    '  1  ok     1.2s  summarise src/api  12 files, 31 exports, 4 TODO       result:2',
    '  2  run          task number 2      @researcher',
    '  2  ok     1.4s  summarise src/web  20 files, 44 exports, 9 TODO       result:3',
    'Plan 1 · survey the shop · completed, 2 tasks',
    '                                                                           $0.02',
    '',
  ])
})

test.each([true, false])('a daemon that goes is told of, and the plan is followed without it', async (isTerminal) => {
  const { output, said } = newOutput()
  const alone = {
    show: async (_: string, name: string) =>
      name === 'plan:1'
        ? ended
        : { budget: { request: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 } } },
  } as unknown as App
  const door = {
    cursor: async () => null,
    plan: async () => begun,
    run: async () => ({ budget: { request: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 } } }),
    // biome-ignore lint/correctness/useYield: it is gone before it says anything
    async *stream() {
      throw new HeddleError('daemon_gone', 'gone', 'heddle up')
    },
  } as unknown as Client
  const signal = new AbortController().signal
  const around = {
    app: async () => localClient(heddleOf(alone), alone),
    clock: manualClock(0),
    screen: { ...screen, isTerminal },
    signal,
    output,
  }
  expect((await watchPlan({ ...around, maxAgents: 3 }, door, 1)).status).toBe('completed')
  expect(shown(said.all)).toContain(
    'lost connection to the daemon; nothing is lost, but nothing is running    heddle up',
  )
})

test('whoever has seen enough leaves at once, and the plan goes on', async () => {
  const { watch } = newPlan([begun], [])
  const { ended: last, said } = await watch(screen, AbortSignal.abort())
  expect(last.status).toBe('running')
  expect(shown(said.all).at(-2)).toContain('agents 1/3')
})
