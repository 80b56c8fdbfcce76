import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import type { TaskView } from '../../src/api/views/plan.ts'
import type { ResultView } from '../../src/api/views/result.ts'
import type { RunView } from '../../src/api/views/run.ts'
import type { TurnView } from '../../src/api/views/turn.ts'
import { loadConfig } from '../../src/config/config.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { restoreBackup } from '../../src/store/backup/restore.ts'
import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import { raw } from '../../src/store/raw.ts'
import { type Gate, gate, ModelFailure, scriptedModel } from '../../src/testing.ts'
import { planCall, planner, planningCoordinator, saidIn, whoIs } from '../engine/test-team.ts'
import { type OwnerApp, openOwnerApp } from '../setup/owner-app.ts'
import { type Database, databases, newPlace } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'

type Row = Record<string, unknown>

/** The tables of the three designs, with their columns in order. */
const columns = {
  nexus_turns:
    'id parent_turn_id query_messages_json response_message_json model thinking_config_json tool_calls_json token_count timestamp has_children',
  nexus_threads: 'turn_id ancestry_json total_tokens depth persona_id system_prompt thread_key',
  nexus_sessions: 'label thread_id persona_id updated_at',
  koshi_tasks: 'id project_id title context skill depends_on status agent_result_id created_at',
  koshi_agent_results: 'id task_id skill_used output created_at processed memory_ids',
  subagent_runs: 'id session_key requester_key task label model status result error started_at finished_at duration_ms',
} as const
type View = keyof typeof columns
const views = Object.keys(columns) as View[]

const never = new AbortController().signal

describe.each(databases)('views for people who query %s', (database) => {
  const test = testOn(database)
  let home: WorkedHome
  // All of them only read.
  beforeAll(async () => {
    home = await workedHome(database)
  })
  afterAll(() => home.remove())

  test('have the columns of the designs they are named after, in order', async () => {
    for (const view of views) {
      const [row] = await rowsOf(home.place, view)
      expect(Object.keys(row ?? {}).join(' '), view).toBe(columns[view])
    }
  })

  test('tell of turns and threads what the App tells', async () => {
    const shown = await turnViews(home)
    expect(shown.map(({ type }) => type)).toContain('compaction')
    expect(shown.flatMap(({ toolCalls }) => toolCalls).length).toBeGreaterThan(3)
    expect(await parsed(home.place, 'nexus_turns')).toEqual(
      byFirst(
        shown.map((turn) => ({
          id: turn.id,
          parent_turn_id: turn.parentId,
          query_messages_json: turn.query,
          response_message_json: turn.response,
          model: turn.model.actual,
          thinking_config_json: turn.thinkingConfig,
          tool_calls_json: turn.toolCalls,
          token_count: turn.tokenCount,
          timestamp: Date.parse(turn.timestamp),
          has_children: turn.hasChildren,
        })),
      ),
    )
    expect(await parsed(home.place, 'nexus_threads')).toEqual(
      byFirst(
        shown.map(({ id, thread, depth }) => ({
          turn_id: id,
          ancestry_json: thread.ancestry,
          total_tokens: thread.totalTokens,
          depth,
          persona_id: thread.persona,
          system_prompt: thread.systemPrompt,
          thread_key: thread.threadKey,
        })),
      ),
    )
  })

  test('tell of sessions what the App tells', async () => {
    const sessions = await home.app.sessions()
    expect(sessions.rows.length).toBeGreaterThan(6)
    expect(await parsed(home.place, 'nexus_sessions')).toEqual(
      byFirst(
        sessions.rows.map(({ label, headTurnId, persona, updatedAt }) => ({
          label,
          thread_id: headTurnId,
          persona_id: persona,
          updated_at: Date.parse(updatedAt),
        })),
      ),
    )
  })

  test('tell of tasks and results what the App tells', async () => {
    const { app, folder } = home
    const lines = await app.tasks()
    expect(lines.map(({ status }) => status).sort()).toEqual(['blocked', 'completed', 'failed'])
    const tasks = await Promise.all(
      lines.map(async ({ id }) => ({
        task: (await app.show(folder, `task:${id}`)) as TaskView,
        at: (await app.why(folder, `task:${id}`)).chain[0]?.at ?? '',
      })),
    )
    expect(await parsed(home.place, 'koshi_tasks')).toEqual(
      tasks.map(({ task, at }) => ({
        id: task.id,
        project_id: String(task.planId),
        title: task.title,
        context: task.context,
        skill: task.skill,
        depends_on: task.dependsOn,
        status: task.status,
        agent_result_id: task.resultId ?? null,
        created_at: secondsOf(at),
      })),
    )
    const results = await Promise.all(
      (await app.results()).map(async ({ id }) => (await app.show(folder, `result:${id}`)) as ResultView),
    )
    expect(results.length).toBeGreaterThan(4)
    expect(await parsed(home.place, 'koshi_agent_results')).toEqual(
      results
        .map((result) => ({
          id: result.id,
          task_id: result.taskId,
          skill_used: result.skillUsed,
          output: result.output,
          created_at: secondsOf(result.createdAt),
          processed: result.processed ? 1 : 0,
          memory_ids: result.memoryIds,
        }))
        .sort((a, b) => a.id - b.id),
    )
  })

  test('tell of subagents what the App tells, running, completed and failed', async () => {
    const { app, folder } = home
    const lines = (await app.runs({ all: true, limit: 100 })).rows.filter(({ via }) => via === 'sessions_spawn')
    const expected = await Promise.all(
      lines.map(async ({ id }) => {
        const run = (await app.show(folder, `run:${id}`)) as RunView
        const result = run.result && ((await app.show(folder, `result:${run.result.id}`)) as ResultView)
        const started = Date.parse(run.createdAt)
        const finished = result === undefined ? null : Date.parse(result.createdAt)
        return {
          id,
          session_key: run.session,
          requester_key: 'spawning',
          task: run.asked,
          label: run.asked,
          model: (await app.subagent(id)).model,
          status: result?.status ?? 'running',
          result: result?.status === 'completed' ? result.output : null,
          error: result === undefined || result.status === 'completed' ? null : result.summary,
          started_at: started,
          finished_at: finished,
          duration_ms: finished === null ? null : finished - started,
        }
      }),
    )
    expect(expected.map(({ status }) => status).sort()).toEqual(['completed', 'failed', 'running'])
    expect(expected.map(({ model }) => model)).toEqual(['scripted', 'scripted', 'scripted'])
    expect(expected.map(({ task }) => task).sort()).toEqual(['child fails', 'child waits', 'child works'])
    expect(await rowsOf(home.place, 'subagent_runs')).toEqual(byFirst(expected))
  })

  test('answer the queries of the guide as they stand there', async () => {
    const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/tables.md'), 'utf8')
    const [, block = ''] = /```sql\n(.*?)```/s.exec(guide) ?? []
    const [unread = '', inSqlite = '', inPostgres = ''] = block.split(';')
    const unreadResults = (await home.app.results()).filter(({ processed }) => !processed)
    expect((await query(home.place, unread)).map(({ id }) => id).sort()).toEqual(
      unreadResults.map(({ id }) => id).sort(),
    )
    const path = database === 'sqlite' ? inSqlite : inPostgres
    const turns = await home.app.log(home.folder, { of: 'side' })
    expect((await query(home.place, path.replace("'main'", "'side'"))).map((row) => Object.values(row))).toEqual(
      turns.map(({ id }) => [id, 'well']),
    )
  })

  test.each(databases)('come back with a backup that is restored into %s', async (other) => {
    const before = await allViews(home.place)
    const file = join(home.root, `views-${other}.backup`)
    await home.app.backup(file)
    const { place, remove } = newPlace(other)
    try {
      await restoreBackup(place, file, { context })
      expect(await allViews(place)).toEqual(before)
    } finally {
      await remove()
    }
  })
})

interface WorkedHome {
  root: string
  folder: string
  app: OwnerApp
  place: DatabaseLocation
  remove(): Promise<void>
}

/**
 * A home in which work was done: a plan with a task that failed and one that it blocks, three subagents of which one still
 * runs, a fork, and a compaction.
 */
async function workedHome(database: Database): Promise<WorkedHome> {
  const root = mkdtempSync(join(tmpdir(), 'heddle-views-'))
  const paths = homePaths(join(root, 'home'))
  await ensureHome(paths.home)
  const config = await loadConfig(paths.config, {})
  config.memory.narratives = false
  config.tools.ask = []
  const server = database === 'postgres' ? newPlace('postgres') : undefined
  if (server?.place.kind === 'postgres') config.database = server.place.url
  const hold = gate()
  const app = await openOwnerApp({ paths, config, env: {}, models: [script(hold)], tell: () => undefined })
  const work = await app.work()
  const ask = async (session: string, content: string, agent?: string) => {
    const { itemId } = await app.submit(root, { session, content, ...(agent !== undefined && { agent }) })
    return itemId
  }
  await app.answer(root, await ask('planning', 'go'), never)
  await ask('spawning', 'spawn', 'general')
  await hold.reached
  await untilSo(async () => (await app.results()).filter(({ skillUsed }) => skillUsed === 'general').length === 2)

  await app.setPersona({ id: 'ada', identity: { name: 'Ada', soul: 'calm' }, permissions: { tools: {} } })
  const draft = (content: string, more = {}) => ({ query: [{ content }], response: { content: 'well' }, ...more })
  const add = (session: string, content: string, more = {}) =>
    app.append(root, { session, persona: 'ada', draft: draft(content, more) })
  await add('talk', 'one', {
    systemPrompt: 'You are calm.',
    model: { actual: 'm-1' },
    thinkingConfig: { level: 'low' },
  })
  const second = await add('talk', 'two "\\ \u2028 \ud83d\ude00', {
    toolCalls: [
      { id: 'c1', name: 'read_file', input: { path: 'a "b"', n: [1.5, null] }, output: 'text \u0001\n', status: 'ok' },
      { id: 'c2', name: 'exec', input: {}, output: null, status: 'error' },
    ],
  })
  await add('talk', 'three')
  await add('talk', 'sum up', { compactsTo: 2 })
  await app.fork(root, { turn: `turn:${second.turnId}`, label: 'side' })
  await add('side', 'another way')
  await app.archiveSession(root, 'talk', true)
  return {
    root,
    folder: root,
    app,
    place: server?.place ?? { kind: 'sqlite', file: paths.database, durability: 'full' },
    async remove() {
      hold.open()
      await work.stop()
      await app.close()
      await server?.remove()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** A model that plays everyone in it. */
function script(hold: Gate) {
  const fail = new ModelFailure('refused', 'no', 'ask another', { retry: 'never' })
  const coordinator = planningCoordinator()
  const plan = planner({ key: 'a' }, { key: 'b' }, { key: 'c', needs: ['b'] })
  return scriptedModel((request) => {
    const said = saidIn(request)
    const last = said.at(-1) ?? ''
    const who = whoIs(request)
    if (who === 'coordinator') return coordinator(said, last, request)
    if (who === 'project-planner') return plan(said, last, request)
    if (said[0]?.startsWith('Task ')) return said[0].startsWith('Task b') ? { fail } : { text: `Did ${planned}.` }
    if (last === 'spawn')
      return {
        calls: ['works', 'fails', 'waits'].map((how) => ({ name: 'sessions_spawn', input: { task: `child ${how}` } })),
      }
    if (said[0] === 'child fails') return { fail }
    if (said[0] === 'child waits') return { text: 'late', gate: hold }
    return { text: said[0] === 'child works' ? 'All done.\n\nHere "is" it.' : 'started' }
  })
}

const planned = planCall([]).input.project.title

/** The App's view of every turn. */
async function turnViews({ app, folder }: WorkedHome): Promise<TurnView[]> {
  const lines = await app.log(folder, { all: true })
  return Promise.all(lines.map(async ({ id }) => (await app.show(folder, `turn:${id}`)) as TurnView))
}

/** A time as SQLite's datetime() writes it. */
function secondsOf(moment: string): string {
  return moment.slice(0, 19).replace('T', ' ')
}

/** The rows of a view, by their first column, with SQLite's booleans as booleans. */
async function rowsOf(place: DatabaseLocation, view: View): Promise<Row[]> {
  const found = await query(place, `SELECT * FROM ${view}`)
  return byFirst(
    found.map((row) => ({ ...row, ...('has_children' in row && { has_children: Boolean(row['has_children']) }) })),
  )
}

async function query(place: DatabaseLocation, text: string): Promise<Row[]> {
  const store = await openStore(place, context)
  try {
    return await store.read((rows) => rows.all(raw<Row>(rows.build, sql.raw(text))))
  } finally {
    await store.close()
  }
}

/** The same with its JSON read. */
async function parsed(place: DatabaseLocation, view: View): Promise<Row[]> {
  const isJson = (name: string) => name.endsWith('_json') || name === 'depends_on' || name === 'memory_ids'
  const read = ([name, value]: [string, unknown]) =>
    [name, isJson(name) && typeof value === 'string' ? JSON.parse(value) : value] as const
  return (await rowsOf(place, view)).map((row) => Object.fromEntries(Object.entries(row).map(read)))
}

async function allViews(place: DatabaseLocation): Promise<Record<string, Row[]>> {
  const found: Record<string, Row[]> = {}
  for (const view of views) found[view] = await parsed(place, view)
  return found
}

function byFirst<R extends object>(rows: R[]): R[] {
  const key = (row: R) => Object.values(row)[0] as string | number
  return rows.sort((a, b) => (key(a) < key(b) ? -1 : 1))
}
