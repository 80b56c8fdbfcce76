import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { PlanView, ResultLine } from '../../src/api/views/plan.ts'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { TurnLine, TurnView } from '../../src/api/views/turn.ts'
import { width } from '../../src/cli/terminal/screen.ts'
import { hurriedClock } from '../setup/hurried-clock.ts'
import { inTurn } from '../setup/long.ts'
import { newHeddle, type Started, type TestHeddle } from './heddle.ts'

// Each test starts a dozen processes, one after the other.
vi.setConfig({ testTimeout: 180_000 })

// Rehearsal talks slowly to people on a terminal.
const clock = hurriedClock(500)

const request = 'survey this folder and write a report with a summary per part'
const homes: TestHeddle[] = []
const running: Started[] = []

afterEach(async () => {
  for (const started of running.splice(0)) {
    started.stop('SIGKILL')
    await started.ended
  }
  for (const heddle of homes.splice(0)) heddle.remove()
})

/** A folder of four parts, the same each time, and whoever answers by default. */
function newShop(): TestHeddle {
  const heddle = newHeddle({ agent: null })
  homes.push(heddle)
  for (const part of ['api', 'db', 'web'])
    for (const number of [1, 2, 3]) {
      const file = join(heddle.folder, 'src', part, `file-${number}.ts`)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, `export const ${part}${number} = ${number}\n// TODO ${part} ${number}\n`)
    }
  writeFileSync(join(heddle.folder, 'README.md'), '# Shop\n\nSells things.\n')
  return heddle
}

/** Hands the request in; nobody is asked, and nobody is at work yet. */
async function handIn(heddle: TestHeddle): Promise<void> {
  await heddle.run('init')
  await heddle.run('config', 'set', 'tools.ask', '[]')
  expect(await heddle.json<RequestAnswer>('ask', '--no-wait', request)).toMatchObject({ status: 'accepted' })
}

/** Works until the plan is completed and the user has been told. */
async function workToTheEnd(heddle: TestHeddle): Promise<void> {
  const up = heddle.start('up')
  running.push(up)
  await up.says((log) => {
    const end = log.search(/"status":"completed","subject":"plan:1".*"msg":"plan\.changed"/)
    return end !== -1 && /"session":"main".*"msg":"run\.ended"/.test(log.slice(end))
  })
  up.stop('SIGTERM')
  await up.ended
}

/** What came of it, with what differs between two runs of the same made the same. */
async function outcome(heddle: TestHeddle) {
  const { turns } = await heddle.json<{ turns: TurnLine[] }>('log')
  const main = await Promise.all(turns.map(({ id }) => heddle.json<TurnView>('show', `turn:${id}`)))
  const plan = await heddle.json<PlanView>('show', 'plan:1')
  const { results } = await heddle.json<{ results: ResultLine[] }>('results')
  return {
    report: sameResults(readFileSync(join(heddle.folder, 'REPORT.md'), 'utf8')),
    answer: sameResults(main.at(-1)?.response.content ?? ''),
    tasks: plan.tasks.map(({ title, status, attempts }) => ({ title, status, attempts })),
    results: results.map(({ skillUsed, status }) => `${skillUsed} ${status}`).sort(),
    /** Every line by which the coordinator was woken, by what it is about. */
    told: main
      .flatMap(({ query }) => query.flatMap(({ content }) => content.split('\n')))
      .flatMap((line) => /^(?:\[agent_result:\d+\]|plan:\d+|all started agents)/.exec(line) ?? [])
      .sort(),
    answers: main.map(({ status }) => status),
  }
}

function sameResults(text: string): string {
  return text.replace(/result:\d+/g, 'result:N')
}

test('a report whose process is killed again and again is the one of an undisturbed run', async () => {
  const [calm, killed] = [newShop(), newShop()]
  await handIn(calm)
  await workToTheEnd(calm)
  await handIn(killed)
  const { points } = await killed.json<{ points: string[] }>('dev', 'crash-points')
  const kills = [
    'tool.before_run#2',
    'settle.before_commit#2',
    'model.after_reply#3',
    'step.after_commit#6',
    'settle.after_commit#2',
  ]
  for (const at of inTurn(kills, 2)) {
    expect(points).toContain(at.split('#')[0])
    const { signal, err } = await killed.startWith({ env: { HEDDLE_CRASH_AT: at } }, 'up').ended
    expect([at, signal, err.includes('"status":"completed","subject":"plan:1"')]).toEqual([at, 'SIGKILL', false])
  }
  await workToTheEnd(killed)

  const [wanted, came] = [await outcome(calm), await outcome(killed)]
  expect(came).toEqual(wanted)
  expect(wanted.tasks).toEqual(
    [
      'summarise src/api',
      'summarise src/db',
      'summarise src/web',
      'summarise files directly in .',
      'write REPORT.md',
      'check every number',
    ].map((title) => ({ title, status: 'completed', attempts: 1 })),
  )
  // Two fan-outs wake it once each; a result or an end is told once.
  const named = came.told.filter((what) => what !== 'all started agents')
  expect(named).toEqual([...new Set(named)])
  expect(came.report).toContain('4 parts: 10 files, 21 lines, 9 exports, 9 TODO.')
})

test('a chat shows the plan before it starts, Enter starts it, and its tasks are told by number and title', async () => {
  const heddle = newShop()
  await heddle.run('init')
  await heddle.run('config', 'set', 'tools.ask', '[]')
  const chat = heddle.terminalWith({ env: { NO_COLOR: '1', TERM: 'dumb' }, clock }, 'chat')
  await chat.shows(`try        ${request}`)
  await chat.shows('main> ')
  chat.type(`${request}\r`)
  await chat.shows('Plan 1 · ')
  await chat.shows('[Enter]')
  expect((await heddle.json<PlanView>('show', 'plan:1')).status).toBe('proposed')
  chat.type('\r')
  await chat.shows('plan:1 starts')
  await chat.shows('heddle show turn:')
  chat.type('/quit\r')
  const { out } = await chat.ended
  const lines = out.split('\r\n')
  const once = (pattern: RegExp) =>
    expect([pattern, lines.filter((line) => pattern.test(line)).length]).toEqual([pattern, 1])
  once(/^ {2}1 {2}ok +\d+\.\ds {2}summarise src\/api +src\/api: 3 files.* result:\d$/)
  once(/^ {2}5 {2}ok +\d+\.\ds {2}write REPORT\.md +wrote REPORT\.md.* result:\d$/)
  once(/^ {2}6 {2}ok +\d+\.\ds {2}check every number .* result:\d$/)
  once(/^ {2}run:\w{6} {2}@researcher {2}list_dir \d+, search_files \d+ +\d+\.\ds {2}ok$/)
  // What is said before the agents begin is not said again as the answer of that turn, and only the last has a last line.
  // A played terminal does not echo what was typed behind the prompt.
  once(/^main> REHEARSAL: @researcher looks for the parts of this folder\.$/)
  once(/^REHEARSAL: plan:1 has 6 tasks/)
  once(/^turn:\w{6} · rehearsal/)
  expect(await outcome(heddle)).toMatchObject({ answers: ['completed', 'completed', 'completed', 'completed'] })
})

test('what agents did for a request stays out of the way of the user who made it', async () => {
  const heddle = newShop()
  await heddle.run('init')
  await heddle.run('config', 'set', 'tools.ask', '[]')
  expect(await heddle.json<RequestAnswer>('ask', request)).toMatchObject({ status: 'completed' })
  const labels = async (...more: string[]) =>
    (await heddle.json<{ sessions: { label: string }[] }>('sessions', ...more)).sessions.map(({ label }) => label)
  expect(await labels()).toEqual(['main'])
  expect((await labels('--all')).filter((label) => label.includes(':subagent:'))).toHaveLength(8)
  const { out } = await heddle.run('ps', '--all')
  expect(out).toMatch(/^run:\w{6} {2}completed {2}@project-planner {2}run:\w{6} /m)
  expect(out.split('\n').filter((line) => width(line) > 80)).toEqual([])
  // The greeting remembers what a person said last, not what agents handed over since.
  const chat = heddle.terminalWith({ env: { NO_COLOR: '1', TERM: 'dumb' }, clock }, 'chat')
  await chat.shows('“survey this folder and write a re')
  chat.type('count lines in README.md\r')
  await chat.shows('heddle show turn:')
  chat.type('/status\r')
  await chat.shows('“count lines in README.md”')
  chat.type('/quit\r')
  await chat.ended
})

test('a chat that takes up a plan after a crash tells the tasks that are left, also those that begin only then', async () => {
  const heddle = newShop()
  await heddle.run('init')
  await heddle.run('config', 'set', 'tools.ask', '[]')
  const env = { NO_COLOR: '1', TERM: 'dumb' }
  // Four ends lead to the plan and one starts it: the third task that ends takes the process along.
  const first = heddle.terminalWith({ env: { ...env, HEDDLE_CRASH_AT: 'settle.after_commit#8' } }, 'chat')
  await first.shows('main> ')
  first.type(`${request}\r`)
  await first.shows('[Enter]')
  first.type('\r')
  await first.ended
  const { status, tasks } = await heddle.json<PlanView>('show', 'plan:1')
  expect([status, tasks.map((task) => task.status).slice(4)]).toEqual(['running', ['pending', 'pending']])
  const chat = heddle.terminalWith({ env, clock }, 'chat')
  await chat.shows('  5  ok ')
  await chat.shows('  6  ok ')
  await chat.shows('plan:1: 6 completed.')
  chat.type('/quit\r')
  await chat.ended
})
