import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/config/config.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import {
  type ManualClock,
  type ModelRequest,
  manualClock,
  type ScriptedReply,
  scriptedModel,
} from '../../src/testing.ts'
import { testTool } from '../engine/engine.ts'
import { type planCall, planner, planningCoordinator, saidIn, whoIs } from '../engine/test-team.ts'
import { type OwnerApp, openOwnerApp } from '../setup/owner-app.ts'
import type { Database } from '../setup/places.ts'
import { readyPlace } from '../setup/ready-places.ts'
import { countStatements, type StatementCount } from '../setup/statement-counter.ts'

/** What an operation costs, and the statements that make it up. */
export interface Cost {
  statements: number
  commits: number
  /** Rows of the table `events`. */
  events: number
  /** On PostgreSQL. */
  roundTrips: number
  list: string[]
}

/** The operations that have a budget, each measured in a home of its own that has done the same before. */
export const operations: Record<string, (home: CountingHome) => Promise<Cost>> = {
  async 'plain turn'({ ask }) {
    await ask('one')
    return costOf(await countStatements(() => ask('two')))
  },
  async 'tool round inside a turn'({ ask }) {
    await ask('look')
    const [plain, withCall] = [await countStatements(() => ask('two')), await countStatements(() => ask('look'))]
    return difference(withCall, plain)
  },
  async 'child with one tool call, of 100 at once'({ ask }) {
    await ask('start 2', 'before')
    return costOf(await countStatements(() => ask(`start ${children}`, 'parent')), children)
  },
  async 'task of a plan'({ ask }) {
    const few = await countStatements(() => ask('plan 2', 'few', 'coordinator'))
    const more = await countStatements(() => ask(`plan ${2 + tasks}`, 'more', 'coordinator'))
    return difference(more, few, tasks)
  },
  async 'approval asked and answered'({ ask, askAndApprove }) {
    await askAndApprove('touch')
    await ask('look')
    const free = await countStatements(() => ask('look'))
    const asked = await countStatements(() => askAndApprove('touch'))
    return difference(asked, free)
  },
  async 'idle daemon, per second'({ clock, ask }) {
    await ask('one')
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        const passed = await countStatements(() => clock.advance(1000))
        idle.push(passed)
      }
    }
    const idle: StatementCount[] = []
    const isIndexing = () => [...sumOf(idle).rows.keys()].some((table) => table !== 'owners')
    // The files of a new home are indexed first.
    do {
      idle.length = 0
      await pass(seconds)
    } while (isIndexing())
    return costOf(sumOf(idle), seconds)
  },
}

const children = 100
const tasks = 4
const seconds = 30

/** A home with a worker, on a clock that stands still, so that nothing happens but what is asked for. */
export interface CountingHome {
  clock: ManualClock
  ask(content: string, session?: string, agent?: string): Promise<void>
  /** Asks, and says yes to the call that waits. */
  askAndApprove(content: string): Promise<void>
  remove(): Promise<void>
}

export async function openCountingHome(database: Database): Promise<CountingHome> {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-budgets-'))
  const [home, folder] = [join(directory, 'home'), join(directory, 'work')]
  await ensureHome(home)
  const paths = homePaths(home)
  const config = await loadConfig(paths.config, {})
  const { place, remove } = await readyPlace(database)
  const clock = manualClock()
  const { subagents } = config.tools
  const app = await openOwnerApp({
    paths,
    env: {},
    context: { clock },
    config: {
      ...config,
      database: place.kind === 'sqlite' ? 'sqlite' : place.url,
      agent: { ...config.agent, default: '@general' },
      memory: { ...config.memory, narratives: false },
      plans: 'auto',
      engine: { ...config.engine, maxRunning: children },
      agents: { ...config.agents, maxConcurrent: children },
      // Budgets that nothing here can spend.
      budgets: { ...config.budgets, perRequest: { usd: 1e6, tokens: 1e12, steps: 1e6 }, perDay: { usd: 1e6 } },
      tools: {
        ...config.tools,
        ask: ['touch'],
        subagents: { ...subagents, maxConcurrent: children, maxChildrenPerAgent: children, maxPerTurn: children },
      },
    },
    models: [scriptedModel((request) => replyTo(request))],
    tools: [testTool('look', 'pure', () => 'found'), testTool('touch', 'unsafe', () => 'touched')],
  })
  const working = await app.work()
  const signal = new AbortController().signal
  const answered = async (itemId: string) => {
    const answer = await app.answer(folder, itemId, signal)
    if (!answer.ok && answer.status !== 'waiting') throw new Error(`${answer.status}: ${answer.text}`)
    return answer
  }
  return {
    clock,
    async ask(content, session = 'main', agent) {
      const { itemId } = await app.submit(folder, { session, content, ...(agent !== undefined && { agent }) })
      await answered(itemId)
    },
    async askAndApprove(content) {
      const { itemId } = await app.submit(folder, { session: 'main', content })
      const { questions = [] } = await answered(itemId)
      await decideAll(app, questions)
      await answered(itemId)
    },
    async remove() {
      await working.stop()
      await app.close()
      await remove()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function decideAll(app: OwnerApp, questions: readonly { id: number; hash: string }[]): Promise<void> {
  if (questions.length === 0) throw new Error('nothing was asked')
  for (const { id, hash } of questions) await app.decide(`approval:${id}`, { answer: 'once', hash })
}

function replyTo(request: ModelRequest): ScriptedReply {
  const said = saidIn(request)
  const last = said.at(-1) ?? ''
  const who = whoIs(request)
  if (who === 'coordinator')
    return last.startsWith('plan ')
      ? { calls: [{ name: 'spawn_agent', input: { task: last, skill: 'project-planner' } }, { name: 'wait' }] }
      : planningCoordinator()(said, last, request)
  if (who === 'project-planner')
    return planner(...chainOf(Number(/^plan (\d+)/.exec(said[0] ?? '')?.[1])))(said, last, request)
  if (request.messages.at(-1)?.role !== 'user') return { text: 'Fine.' }
  if (last === 'look' || last === 'touch') return { calls: [{ name: last }] }
  const count = Number(/^start (\d+)$/.exec(last)?.[1] ?? 0)
  if (count > 0)
    return { calls: Array.from({ length: count }, () => ({ name: 'sessions_spawn', input: { task: 'look' } })) }
  return { text: 'Fine.' }
}

function chainOf(length: number): Parameters<typeof planCall>[0] {
  return Array.from({ length }, (_, at) => ({ key: `t${at}`, needs: at === 0 ? [] : [`t${at - 1}`] }))
}

function costOf({ statements, commits, rows, roundTrips }: StatementCount, among = 1): Cost {
  const each = (total: number) => Math.round((total / among) * 100) / 100
  return {
    statements: each(statements.length),
    commits: each(commits),
    events: each(rows.get('events') ?? 0),
    roundTrips: each(roundTrips),
    list: statements,
  }
}

function difference(more: StatementCount, less: StatementCount, among = 1): Cost {
  const [one, other] = [costOf(more), costOf(less)]
  const each = (key: 'statements' | 'commits' | 'events' | 'roundTrips') =>
    Math.round(((one[key] - other[key]) / among) * 100) / 100
  return {
    statements: each('statements'),
    commits: each('commits'),
    events: each('events'),
    roundTrips: each('roundTrips'),
    list: more.statements,
  }
}

function sumOf(counts: readonly StatementCount[]): StatementCount {
  const rows = new Map<string, number>()
  for (const count of counts) for (const [table, some] of count.rows) rows.set(table, (rows.get(table) ?? 0) + some)
  return {
    statements: counts.flatMap(({ statements }) => statements),
    commits: counts.reduce((sum, { commits }) => sum + commits, 0),
    roundTrips: counts.reduce((sum, { roundTrips }) => sum + roundTrips, 0),
    rows,
  }
}
