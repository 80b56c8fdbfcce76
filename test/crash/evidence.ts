import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { type ChatBody, chatBody } from './chat-body.ts'
import type { Kept } from './said.ts'

// This file and the checker share no code with src: what they know is the schema and the logs, as an auditor would.

/** Where a cycle's rows and logs are. */
export interface Places {
  homes: string[]
  database: string
  providerLog: string
  toolLog: string
}

/** Rows and logs at one moment. */
export interface Moment {
  /** Whether somebody slept who would go on. */
  isAsleep: boolean
  rows: Rows
  provider: ProviderLine[]
  tools: ToolLine[]
}

/** What a cycle left behind. */
export interface Evidence extends Moment {
  accepted: { accepted: string; content: string }[]
  cancelled: { cancelled: string; state: string; at: number; asked: number }[]
  admitted: { admitted: string }[]
  scheduled: { scheduled: string }[]
  kept: Kept[]
  /** The folder in which files were written. */
  folder: string
  /** The configuration of the first home. */
  config: string
  tokens: { token: string; id: number; user: string }[]
  answers: { key: string; answer: unknown }[]
  revoked: { revoked: number; isGood: boolean }[]
  /** Kills and sleeps. */
  silences: number
  /** How often a living process had no heartbeat for nearly its lease. */
  stalls: number
  /** Whether locks tell who is dead; otherwise only leases do, and a busy machine looks like death. */
  isLockTold: boolean
  /** Where they were asked for, `point#n`. */
  at: string[]
  /** How runs may end: `state`, or `state:code`. */
  ends: string[]
  /** Tokens that a request may cost. */
  budget: number | undefined
  /** Files with which owners show that they live. */
  locks: string[]
  /** What there was in between, when a process was dead or asleep; oldest first. */
  moments: Moment[]
}

export type Row = Record<string, string | number | null>

const orders = {
  approvals: 'id',
  runs: 'id',
  turns: 'id',
  threads: 'segment_id, depth',
  sessions: 'id',
  segments: 'id',
  inbox: 'id',
  steps: 'run_id, seq',
  usage: 'run_id, call',
  request_totals: 'root_run_id',
  owners: 'id',
  events: 'seq',
  agent_results: 'id',
  joins: 'id',
  join_members: 'run_id',
  projects: 'id',
  tasks: 'id',
  task_edges: 'task_id, needs_id',
  users: 'id',
  tokens: 'id',
  audit: 'seq',
  idempotency: 'principal, key',
  cron_jobs: 'id',
  cron_fires: 'job_id, scheduled_at',
  outbox: 'id',
  personas: 'id',
  memories: 'id',
  memory_vectors: 'memory_id',
}
export type Rows = Record<keyof typeof orders, Row[]>

export interface ProviderLine {
  n: number
  run: string | null
  kind: 'received' | 'answered' | 'refused' | 'broken' | 'lost'
  usage?: { inputTokens: number; outputTokens: number; cachedTokens: number } | null
  body?: ChatBody
}

export interface ToolLine {
  name: string
  effect: string
  runId: string
  callId: string
  pid: number
}

/** Reads what a file of evidence names. */
export async function readEvidence(file: string): Promise<Evidence> {
  const given = JSON.parse(readFileSync(file, 'utf8'))
  const { database, homes } = given as Places
  return {
    isAsleep: false,
    rows: database === 'sqlite' ? rowsOfFile(join(homes[0] ?? '', 'heddle.db')) : await rowsOfServer(database),
    provider: providerLines(given.providerLog),
    tools: lines(given.toolLog),
    accepted: given.said.filter((each: object) => 'accepted' in each),
    cancelled: given.said.filter((each: object) => 'cancelled' in each),
    admitted: given.said.filter((each: object) => 'admitted' in each),
    scheduled: given.said.filter((each: object) => 'scheduled' in each),
    kept: given.said.filter((each: object) => 'kept' in each),
    folder: join(dirname(homes[0] ?? ''), 'work'),
    config: readFileSync(join(homes[0] ?? '', 'heddle.yaml'), 'utf8'),
    tokens: given.said.filter((each: object) => 'token' in each),
    answers: given.said.filter((each: object) => 'key' in each),
    revoked: given.said.filter((each: object) => 'revoked' in each),
    silences: given.silences,
    stalls: given.said.filter((each: object) => 'silentMs' in each).length,
    isLockTold: given.isLockTold,
    at: given.at,
    ends: given.ends,
    budget: given.budget,
    locks: homes.flatMap(locksIn),
    moments: given.moments.map((each: string) => JSON.parse(readFileSync(each, 'utf8'))),
  }
}

/** Keeps rows and logs as they are now. A file is copied first: even looking at it would change what is beside it. */
export async function keepMoment(places: Places & { isAsleep: boolean }, file: string): Promise<void> {
  const { database, homes, providerLog, toolLog, isAsleep } = places
  const rows = database === 'sqlite' ? rowsOfCopy(join(homes[0] ?? '', 'heddle.db'), dirname(file)) : undefined
  const moment: Moment = {
    isAsleep,
    rows: rows ?? (await rowsOfServer(database)),
    provider: providerLines(providerLog),
    tools: lines(toolLog),
  }
  writeFileSync(file, JSON.stringify(moment))
}

function rowsOfCopy(file: string, directory: string): Rows {
  const copies = mkdtempSync(join(directory, 'copy-'))
  const there = existsSync(file) ? file : movedAside(file)
  for (const end of ['', '-wal'])
    if (existsSync(`${there}${end}`)) copyFileSync(`${there}${end}`, join(copies, `heddle.db${end}`))
  const isThere = existsSync(join(copies, 'heddle.db'))
  const rows = isThere ? rowsOfFile(join(copies, 'heddle.db')) : noRows()
  rmSync(copies, { recursive: true })
  return rows
}

/** Between the two renames of a restore the database has another name, and must still have all that was written. */
function movedAside(file: string): string {
  const names = readdirSync(dirname(file)).filter((name) => /^heddle\.db\.before-restore-[\d_-]+$/.test(name))
  return join(dirname(file), names.sort().at(-1) ?? 'heddle.db')
}

function rowsOfFile(file: string): Rows {
  const database = new DatabaseSync(file)
  const [integrity] = database.prepare('PRAGMA integrity_check').all()
  if (integrity?.['integrity_check'] !== 'ok') throw new Error(`the file is damaged: ${JSON.stringify(integrity)}`)
  const tables = new Set(
    database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all()
      .map(({ name }) => name),
  )
  const rows = noRows()
  for (const table of knownTables(tables))
    rows[table] = database.prepare(`SELECT * FROM ${table} ORDER BY ${orders[table]}`).all() as Row[]
  database.close()
  return rows
}

async function rowsOfServer(url: string): Promise<Rows> {
  const client = new pg.Client({ connectionString: url })
  // Counts and times are far below what a number holds.
  client.setTypeParser(20, Number)
  await client.connect()
  // One snapshot over all tables.
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const found = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'heddle'")
  const rows = noRows()
  for (const table of knownTables(new Set(found.rows.map(({ tablename }) => tablename))))
    rows[table] = (await client.query(`SELECT * FROM heddle.${table} ORDER BY ${orders[table]}`)).rows
  await client.end()
  return rows
}

/** Somebody who died while the schema was made has left a part of it, or nothing. */
function knownTables(there: ReadonlySet<unknown>): (keyof Rows)[] {
  return (Object.keys(orders) as (keyof Rows)[]).filter((table) => there.has(table))
}

function noRows(): Rows {
  return Object.fromEntries(Object.keys(orders).map((table) => [table, []])) as unknown as Rows
}

function locksIn(home: string): string[] {
  const folder = join(home, 'run')
  return existsSync(folder) ? readdirSync(folder).filter((name) => /^owner-.*\.lock$/.test(name)) : []
}

/** What was asked of models; embeddings belong to no run. */
function providerLines(file: string): ProviderLine[] {
  const all = lines<ProviderLine>(file)
  const others = new Set(all.filter(({ body }) => body && !('messages' in body)).map(({ n }) => n))
  return all
    .filter(({ n }) => !others.has(n))
    .map((line) => (line.body ? { ...line, body: chatBody(line.body) } : line))
}

function lines<T>(file: string): T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
