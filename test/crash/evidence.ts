import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

// This file and the checker share no code with src: what they know is the schema and the logs, as an auditor would.

/** What a cycle left behind. */
export interface Evidence {
  rows: Rows
  provider: ProviderLine[]
  tools: { name: string; effect: string; runId: string; callId: string }[]
  accepted: { accepted: string; content: string }[]
  cancelled: { cancelled: string; state: string }[]
  kills: number
  /** Where kills were asked for, `point#n`. */
  at: string[]
  /** Files with which owners show that they live. */
  locks: string[]
}

export type Row = Record<string, string | number | null>

export interface Rows {
  runs: Row[]
  turns: Row[]
  threads: Row[]
  sessions: Row[]
  inbox: Row[]
  steps: Row[]
  usage: Row[]
  owners: Row[]
  events: Row[]
}

export interface ProviderLine {
  n: number
  run: string | null
  kind: 'received' | 'answered' | 'refused' | 'broken' | 'lost'
  usage?: { inputTokens: number; outputTokens: number; cachedTokens: number } | null
  body?: { messages: WireMessage[] }
}

export interface WireMessage {
  role: string
  content: unknown
  tool_calls?: { id: string }[]
  tool_call_id?: string
}

const orders = {
  runs: 'id',
  turns: 'id',
  threads: 'segment_id, depth',
  sessions: 'id',
  inbox: 'id',
  steps: 'run_id, seq',
  usage: 'run_id, call',
  owners: 'id',
  events: 'seq',
}

export async function readEvidence(file: string): Promise<Evidence> {
  const given = JSON.parse(readFileSync(file, 'utf8'))
  return {
    rows: given.database === 'sqlite' ? rowsOfFile(join(given.home, 'heddle.db')) : await rowsOfServer(given.database),
    provider: lines(given.providerLog),
    tools: lines(given.toolLog),
    accepted: given.said.filter((each: object) => 'accepted' in each),
    cancelled: given.said.filter((each: object) => 'cancelled' in each),
    kills: given.kills,
    at: given.at,
    locks: readdirSync(join(given.home, 'run')).filter((name) => /^owner-.*\.lock$/.test(name)),
  }
}

function rowsOfFile(file: string): Rows {
  const database = new DatabaseSync(file, { readOnly: true })
  const [integrity] = database.prepare('PRAGMA integrity_check').all()
  if (integrity?.['integrity_check'] !== 'ok') throw new Error(`the file is damaged: ${JSON.stringify(integrity)}`)
  const found = Object.entries(orders).map(([table, order]) => [
    table,
    database.prepare(`SELECT * FROM ${table} ORDER BY ${order}`).all(),
  ])
  database.close()
  return Object.fromEntries(found)
}

async function rowsOfServer(url: string): Promise<Rows> {
  const schema = new URL(url).searchParams.get('schema')
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, '') })
  // Counts and times are far below what a number holds.
  client.setTypeParser(20, Number)
  await client.connect()
  await client.query('BEGIN READ ONLY')
  const found: [string, Row[]][] = []
  for (const [table, order] of Object.entries(orders)) {
    const { rows } = await client.query(`SELECT * FROM ${schema}.${table} ORDER BY ${order}`)
    found.push([table, rows])
  }
  await client.end()
  return Object.fromEntries(found) as unknown as Rows
}

function lines<T>(file: string): T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
