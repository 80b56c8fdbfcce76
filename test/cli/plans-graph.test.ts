import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { drawPlan } from '../../src/cli/pages/plan-graph.ts'
import { formatDependencies, layersOf } from '../../src/cli/pages/plan-layers.ts'
import { width } from '../../src/cli/terminal/screen.ts'
import { plan, survey, task } from './plan-views.ts'

const screen = { columns: 80, rows: 24, isTerminal: true, color: false }
const spent = (costUsd: number) => ({ inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd })
const facts = { maxAgents: 3, spent: spent(0) }

test('a plan under way is drawn as in the first five minutes', () => {
  expect(drawPlan(survey, screen, facts)).toEqual([
    'Plan 1 · survey the shop · running, 2 of 5 done',
    '┌ 1  ok     1.2s  summarise src/api   12 files, 31 exports, 4 TODO      result:2',
    '│ 2  ok     1.4s  summarise src/web   20 files, 44 exports, 9 TODO      result:3',
    '└ 3  run    0.8s  summarise src/db    @researcher   read_file src/db/migrate.ts',
    '  4  wait         write REPORT.md     @writer       after 1, 2, 3',
    '  5  wait         check every number  @code-review  after 4',
    '                                                  agents 1/3 · waiting 2 · $0.00',
  ])
})

test('a task whose run waits for its turn is no agent at work', () => {
  const running = { status: 'running' as const, doing: 'thinking' }
  const queued = { status: 'running' as const, doing: 'queued', isQueued: true as const }
  const tasks = [task(1, running), task(2, running), task(3, running), task(4, queued)]
  expect(drawPlan(plan(tasks), screen, facts).at(-1)?.trim()).toBe('agents 3/3 · waiting 1 · $0.00')
})

test('a plan that nobody has started tells who would do what, and after what', () => {
  const tasks = survey.tasks.map(({ id, title, skill, dependsOn }) => task(id, { title, skill, dependsOn }))
  expect(drawPlan(plan(tasks, { status: 'proposed' }), screen, facts)).toEqual([
    'Plan 1 · survey the shop · 5 tasks, at most 3 at a time',
    '┌ 1  summarise src/api   @researcher',
    '│ 2  summarise src/web   @researcher',
    '└ 3  summarise src/db    @researcher',
    '  4  write REPORT.md     @writer       after 1, 2, 3',
    '  5  check every number  @code-review  after 4',
  ])
})

test('what failed says why and what it left, what it holds up is blocked, and the end is counted', () => {
  const tasks = [
    task(7, { status: 'failed', seconds: 61, summary: 'the provider refused', resultId: 4 }),
    task(8, { status: 'blocked', dependsOn: [7] }),
    task(9, { status: 'skipped', reason: 'not needed' }),
    task(10, { status: 'cancelled', reason: 'cancelled by the user' }),
  ]
  expect(drawPlan(plan(tasks, { status: 'failed' }), screen, { spent: spent(0.02) })).toEqual([
    'Plan 1 · survey the shop · failed, 0 of 4 done',
    '┌  7  FAILED     1m 1s  task number 7   the provider refused            result:4',
    '│  9  skip              task number 9   not needed',
    '└ 10  cancelled         task number 10  cancelled by the user',
    '   8  blocked           task number 8   @researcher  after 7',
    '                                                    failed 1 · blocked 1 · $0.02',
  ])
})

describe('thirty tasks on a screen of 80x24', () => {
  const many = plan(
    Array.from({ length: 30 }, (_, n) =>
      task(n + 1, {
        title: `summarise the part with the rather long name number ${n + 1}`,
        dependsOn: n < 10 ? [] : [n - 9],
        status: n < 12 ? 'completed' : n < 15 ? 'running' : n === 15 ? 'failed' : 'pending',
        ...(n < 12 && { summary: `${n} files and a summary that goes on and on`, resultId: n + 1, seconds: n }),
        ...(n >= 12 && n < 15 && { doing: 'read_file src/somewhere/deep/down/in/the/tree.ts', seconds: 3 }),
      }),
    ),
  )

  test('fit, with what is done as a count, and what runs or failed all there', () => {
    const lines = drawPlan(many, screen, facts)
    expect(lines).toHaveLength(24)
    expect(lines.filter((line) => width(line) > 80)).toEqual([])
    expect(lines[1]).toBe('   … 9 done')
    for (const id of [13, 14, 15]) expect(lines.some((line) => line.includes(` ${id}  run`))).toBe(true)
    expect(lines.some((line) => line.includes('16  FAILED'))).toBe(true)
    expect(lines.filter((line) => line.includes('wait '))).toHaveLength(14)
  })

  test('of a lower screen what waits gives way too, the last first', () => {
    const lines = drawPlan(many, { ...screen, rows: 12 }, facts)
    expect(lines).toHaveLength(12)
    expect(lines.filter((line) => line.includes('…') && line.startsWith('   …'))).toEqual([
      '   … 12 done',
      '   … 10 wait',
    ])
    expect(lines.map((line) => /^. +(\d+) {2}/.exec(line)?.[1]).filter(Boolean)).toEqual([
      '13',
      '14',
      '15',
      '16',
      '17',
      '18',
      '19',
      '20',
    ])
  })

  test('what runs or failed stays even where there is no room', () => {
    const busy = plan(many.tasks.map((each) => ({ ...each, status: 'failed' as const })))
    expect(drawPlan(busy, { ...screen, rows: 10 }, facts)).toHaveLength(32)
  })
})

test('no letter that a terminal would obey reaches it, and wide letters take the room they take', () => {
  const evil = task(1, {
    title: 'red \u001b[31m alert\u0007 \u202e gnp',
    skill: 'wri\u001b]0;ter',
    status: 'running',
    doing: 'read \u009b2J',
  })
  const wide = task(2, {
    title: '日本語の長い題名がここにありますからね、とても長い',
    status: 'completed',
    summary: '完了しました '.repeat(9),
    resultId: 9,
  })
  const lines = drawPlan(plan([evil, wide], { title: 'a\nb\u001b[2J' }), screen)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
  expect(lines.map((line) => width(line)).filter((columns) => columns > 80)).toEqual([])
  expect(lines[2]).toMatch(/result:9$/)
})

test('colours add nothing but colours, and nothing is wider than a narrow screen', () => {
  const coloured = drawPlan(survey, { ...screen, color: true }, facts)
  expect(coloured.join('')).toContain('\u001b[32mok')
  expect(coloured.map((line) => stripVTControlCharacters(line))).toEqual(drawPlan(survey, screen, facts))
  for (const columns of [40, 60, 120])
    for (const line of drawPlan(survey, { ...screen, columns }, facts)) expect(width(line)).toBeLessThanOrEqual(columns)
})

test('layers follow what needs what, whatever the numbers say; knots and unknown needs are no hindrance', () => {
  const tasks = [task(1, { dependsOn: [3] }), task(2, { dependsOn: [99] }), task(3), task(4, { dependsOn: [1, 2] })]
  expect(layersOf(tasks).map((layer) => layer.map(({ id }) => id))).toEqual([[2, 3], [1], [4]])
  const knot = [task(1, { dependsOn: [2] }), task(2, { dependsOn: [1] })]
  expect(layersOf(knot)).toEqual([knot])
})

test.each<[number[], string]>([
  [[], ''],
  [[3, 1, 2], 'after 1, 2, 3'],
  [[1, 2, 3, 4, 7, 9, 10], 'after 1–4, 7, 9, 10'],
])('what a task needs: %j', (ids, words) => {
  expect(formatDependencies(ids)).toBe(words)
})
