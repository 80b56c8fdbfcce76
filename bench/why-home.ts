import { DatabaseSync } from 'node:sqlite'
import { loadConfig } from '../src/config/config.ts'
import { firstIdAt, idSource } from '../src/domain/id.ts'
import type { Model } from '../src/domain/model.ts'
import { ensureHome, homePaths } from '../src/home/home.ts'
import { remember } from '../src/memory/remember.ts'
import { openStore } from '../src/store/open.ts'
import { indexTails } from '../src/store/rows/id-tails.ts'
import { linkMemory } from '../src/store/rows/results.ts'
import { systemClock as clock, systemRandom as random } from '../src/system.ts'
import { type OwnerApp, openOwnerApp } from '../test/setup/owner-app.ts'
import { chanceFrom } from './memory-facts.ts'
import { layered, outputOf, playedModel } from './plans-script.ts'

const sessions = 2000
const lasting = 300 * 86_400_000
/** Events are kept for so long. */
const eventsKept = 30 * 86_400_000
const label = { integrity: 'trusted' as const, sources: [] }

/** A home in use for most of a year: a plan, a file and a memory among very many turns. Answers some of them. */
export async function fillWhyHome(home: string, folder: string, turns: number, some: number) {
  await live(home, folder)
  const chosen = multiply(homePaths(home).database, folder, turns, some)
  await noteDown(home)
  return { ...chosen, sessions }
}

export const script = {
  goal: 'Compare the ways to store sessions.',
  tasks: layered([3, 1]),
  output: outputOf(400),
  answer: 'It is done.',
}

/** A request with a plan, and one that writes a file, as people have them. */
async function live(home: string, folder: string): Promise<void> {
  const played = playedModel(script)
  const write = { id: 'call-1', name: 'write_file', input: { path: 'REPORT.md', content: '# Report\n\nIt is so.\n' } }
  const model: Model = {
    ...played,
    async reply(request, onDelta) {
      const mayWrite = request.tools.some(({ name }) => name === 'write_file')
      const answered = await played.reply(request, onDelta)
      return mayWrite && request.messages.length === 1 ? { ...answered, calls: [write], finish: 'calls' } : answered
    },
  }
  const app = await openHome(home, model)
  const work = await app.work()
  for (const [session, content] of [
    ['main', script.goal],
    ['writing', '@general write it'],
  ] as const) {
    const { itemId } = await app.submit(folder, { session, content })
    const answered = await app.answer(folder, itemId, new AbortController().signal)
    if (!answered.ok) throw new Error(`${session}: ${answered.status}: ${answered.text}`)
  }
  await work.stop()
  await app.close()
  const store = await openHomeStore(home)
  await store.write('submit', async (tx) => {
    const draft = { content: 'Sessions are stored as rows', source: 'agent' as const, label, resultId: 2, taskId: 1 }
    await linkMemory(tx, 2, (await remember(tx, draft, clock.now(), 1000)).id)
  })
  await store.close()
}

/** A year's work, made of one turn with everything that belongs to it. */
function multiply(file: string, folder: string, turns: number, some: number) {
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: false })
  db.exec('PRAGMA synchronous = OFF')
  const one = (sql: string, ...values: string[]) => db.prepare(sql).get(...values) as Record<string, unknown>
  const talk = one(`SELECT * FROM sessions WHERE label = 'writing'`)
  const turn = one('SELECT * FROM turns WHERE id = ?', String(talk['head_turn_id']))
  const runId = String(turn['run_id'])
  const rowsOf = (table: string) =>
    db.prepare(`SELECT * FROM ${table} WHERE run_id = ?`).all(runId) as Record<string, unknown>[]
  const events = db
    .prepare('SELECT xid, at, kind, subject, payload_json FROM events WHERE subject = ?')
    .all(`run:${runId}`) as Record<string, unknown>[]
  const run = one('SELECT * FROM runs WHERE id = ?', runId)
  const thread = one('SELECT * FROM threads WHERE turn_id = ?', String(turn['id']))
  const [item = {}] = rowsOf('inbox')
  const [step = {}] = rowsOf('steps')
  const [used = {}] = rowsOf('usage')
  const inserts = new Map<string, (row: Record<string, unknown>) => void>()
  const insert = (table: string, row: Record<string, unknown>, more: Record<string, unknown>) => {
    const whole: Record<string, unknown> = { ...row, ...more }
    let add = inserts.get(table)
    if (!add) {
      const names = Object.keys(whole)
      const statement = db.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`)
      add = (values) => void statement.run(...(names.map((name) => values[name] ?? null) as string[]))
      inserts.set(table, add)
    }
    add(whole)
  }
  const end = clock.now()
  let now = end - lasting
  const newId = idSource({ ...clock, now: () => now }, random)
  const talks = Array.from({ length: sessions }, (_, at) => ({ id: newId(), segment: newId(), at, head: '', depth: 0 }))
  const [turnIds, runIds] = [[] as string[], [] as string[]]
  const chance = chanceFrom(7)
  for (let made = 0; made < turns; made++) {
    if (made % 20_000 === 0) db.exec(made === 0 ? 'BEGIN' : 'COMMIT; BEGIN')
    now = end - lasting + Math.floor((lasting / turns) * made)
    const into = talks[made % sessions] as (typeof talks)[number]
    const [id, turnId] = [newId(), newId()]
    insert('runs', run, {
      id,
      session_id: into.id,
      root_run_id: id,
      created_at: now,
      finished_at: now,
      requested_at: now,
    })
    insert('turns', turn, { id: turnId, run_id: id, timestamp: now })
    const place = { segment_id: into.segment, depth: ++into.depth, parent_turn_id: into.head || null }
    insert('threads', thread, { ...place, turn_id: turnId, has_children: 1, context_start: 0 })
    insert('inbox', item, { id: newId(), session_id: into.id, run_id: id, consumed_by_turn: turnId, created_at: now })
    insert('steps', step, { run_id: id, at: now })
    insert('usage', used, { run_id: id, root_run_id: id, at: now })
    if (end - now < eventsKept) for (const event of events) insert('events', event, { subject: `run:${id}`, at: now })
    into.head = turnId
    if (chance() < (2 * some) / turns) {
      turnIds.push(turnId)
      runIds.push(id)
    }
  }
  for (const { id, segment, at, head } of talks) {
    insert('segments', { parent_id: null, fork_depth: 0 }, { id: segment })
    const named = { id, folder, label: `talk-${at}`, segment_id: segment, head_turn_id: head }
    insert('sessions', talk, { ...named, updated_at: now })
  }
  db.exec('COMMIT')
  db.close()
  return { turnIds, runIds }
}

/** As a daemon has long done in a home that old. */
async function noteDown(home: string): Promise<void> {
  const store = await openHomeStore(home)
  const before = firstIdAt(clock.now() - 86_400_000)
  while (await store.write('prune', (tx) => indexTails(tx, before, 20_000)));
  await store.close()
}

function openHomeStore(home: string) {
  const place = { kind: 'sqlite' as const, file: homePaths(home).database, durability: 'normal' as const }
  return openStore(place, { clock, random, crash: () => undefined })
}

export async function openHome(home: string, model: Model): Promise<OwnerApp> {
  await ensureHome(home)
  const paths = homePaths(home)
  const config = await loadConfig(paths.config, {})
  const tools = { ...config.tools, ask: [] }
  const agent = { ...config.agent, default: '@coordinator' }
  const memory = { ...config.memory, narratives: false }
  return openOwnerApp({ paths, config: { ...config, agent, tools, memory, plans: 'auto' }, env: {}, models: [model] })
}
