import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { idSource } from '../../src/domain/id.ts'
import { systemClock as clock, systemRandom as random } from '../../src/system.ts'
import { sizeNow } from '../scratch.ts'
import type { Conversation } from '../zero-latency.ts'
import { serve } from './serve.ts'

// The floor for children: a bare program that keeps of each child what ours keeps, in 38 statements, and commits as many
// children together as ours does. It has nothing to decide and nothing to recover.
const { directory, answer, task } = JSON.parse(process.argv[2] ?? '') as Conversation & { directory: string }
const file = join(directory, 'bare.db')
/** Bodies that share a commit at most, as in store/sqlite/writer.ts. */
const perCommit = 64

const newId = idSource(clock, random)
const db = new DatabaseSync(file, { timeout: 0 })
db.exec(`PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE sessions (id TEXT PRIMARY KEY, label TEXT UNIQUE, head TEXT, updated INTEGER);
  CREATE TABLE runs (id TEXT PRIMARY KEY, session TEXT, parent TEXT, state TEXT, owner TEXT, epoch INTEGER, json TEXT);
  CREATE INDEX runs_queued ON runs (state, id);
  CREATE TABLE inbox (id TEXT PRIMARY KEY, session TEXT, run TEXT, turn TEXT, json TEXT);
  CREATE INDEX inbox_session ON inbox (session);
  CREATE TABLE steps (run TEXT, seq INTEGER, json TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID;
  CREATE TABLE turns (id TEXT PRIMARY KEY, parent TEXT, json TEXT);
  CREATE TABLE usage (run TEXT, call INTEGER, reserved INTEGER, spent INTEGER, PRIMARY KEY (run, call)) WITHOUT ROWID;
  CREATE TABLE totals (request TEXT PRIMARY KEY, spent INTEGER);
  CREATE TABLE results (id INTEGER PRIMARY KEY, run TEXT UNIQUE, output TEXT);
  CREATE TABLE members (parent TEXT, run TEXT PRIMARY KEY, done INTEGER);
  CREATE INDEX members_parent ON members (parent, done);
  CREATE TABLE documents (id INTEGER PRIMARY KEY, ref TEXT, text TEXT);
  CREATE TABLE events (seq INTEGER PRIMARY KEY, kind TEXT, subject TEXT, json TEXT)`)

const statements = new Map<string, StatementSync>()
function run(sql: string, ...values: (string | number | null)[]): void {
  statement(sql).run(...values)
}
function read(sql: string, ...values: string[]): Record<string, unknown> | undefined {
  return statement(sql).get(...values)
}
function statement(sql: string): StatementSync {
  const known = statements.get(sql) ?? db.prepare(sql)
  statements.set(sql, known)
  return known
}

interface Child {
  id: string
  session: string
  item: string
  parent: string
}

/** Eight statements: session, run, input, member of the join, and who is told. */
function spawn(parent: string): Child {
  const child = { id: newId(), session: newId(), item: newId(), parent }
  read('SELECT state FROM runs WHERE id = ?', parent)
  run('INSERT INTO sessions VALUES (?, ?, NULL, ?)', child.session, `child-${child.id}`, clock.now())
  run('INSERT INTO runs VALUES (?, ?, ?, ?, NULL, 0, ?)', child.id, child.session, parent, 'queued', runJson)
  run('INSERT INTO inbox VALUES (?, ?, NULL, NULL, ?)', child.item, child.session, messageOf(task))
  run('INSERT INTO members VALUES (?, ?, 0)', parent, child.id)
  run('INSERT INTO steps VALUES (?, ?, ?)', parent, ++parentSteps, stepOf({ spawned: child.id }))
  run('INSERT INTO events (kind, subject, json) VALUES (?, ?, ?)', 'run.queued', child.id, '{}')
  run('UPDATE totals SET spent = spent + 0 WHERE request = ?', parent)
  return child
}

/** Eight statements: the next run, its inputs and path, and what its first call may cost. */
function claim({ id, session, item, parent }: Child): void {
  read('SELECT id, json FROM runs WHERE state = ? ORDER BY id LIMIT 1', 'queued')
  run('UPDATE runs SET state = ?, owner = ?, epoch = epoch + 1 WHERE id = ?', 'running', 'owner', id)
  run('UPDATE inbox SET run = ? WHERE id = ?', id, item)
  JSON.parse(String(read('SELECT json FROM inbox WHERE session = ?', session)?.['json']))
  read('SELECT head FROM sessions WHERE id = ?', session)
  read('SELECT spent FROM totals WHERE request = ?', parent)
  run('INSERT INTO usage VALUES (?, 1, 8192, NULL)', id)
  run('INSERT INTO events (kind, subject, json) VALUES (?, ?, ?)', 'run.started', id, '{}')
}

/** Eight statements in two bodies: the reply and its call begun; the call ended and the next reply reserved. */
function beginCall({ id }: Child): void {
  read('SELECT epoch FROM runs WHERE id = ? AND owner = ?', id, 'owner')
  run('UPDATE usage SET spent = 200 WHERE run = ? AND call = 1', id)
  run('INSERT INTO steps VALUES (?, 1, ?)', id, stepOf({ calls: [{ id: 'call-1', name: 'look_up' }] }))
  run('INSERT INTO steps VALUES (?, 2, ?)', id, stepOf({ begun: 'call-1', input: { about: 'it' } }))
}
function endCall({ id, parent }: Child): void {
  read('SELECT epoch FROM runs WHERE id = ? AND owner = ?', id, 'owner')
  run('INSERT INTO steps VALUES (?, 3, ?)', id, stepOf({ ended: 'call-1', output: 'It is as it was.' }))
  run('UPDATE totals SET spent = spent + 200 WHERE request = ?', parent)
  run('INSERT INTO usage VALUES (?, 2, 8192, NULL)', id)
}

/** Fourteen statements: the turn, its cost, the result, and the word to the parent. */
function settle({ id, session, item, parent }: Child): void {
  const turn = newId()
  read('SELECT head FROM sessions WHERE id = ?', session)
  run('UPDATE runs SET state = ?, owner = NULL WHERE id = ? AND owner = ?', 'completed', id, 'owner')
  run('UPDATE usage SET spent = 200 WHERE run = ? AND call = 2', id)
  run('UPDATE totals SET spent = spent + 200 WHERE request = ?', parent)
  run('INSERT INTO steps VALUES (?, 4, ?)', id, stepOf({ text: answer }))
  run('INSERT INTO turns VALUES (?, NULL, ?)', turn, messageOf(answer))
  run('UPDATE sessions SET head = ?, updated = ? WHERE id = ?', turn, clock.now(), session)
  run('UPDATE inbox SET turn = ? WHERE id = ?', turn, item)
  run('INSERT INTO results (run, output) VALUES (?, ?)', id, answer)
  run('INSERT INTO documents (ref, text) VALUES (?, ?)', id, answer)
  run('INSERT INTO inbox VALUES (?, ?, NULL, NULL, ?)', newId(), parent, messageOf(answer))
  run('UPDATE members SET done = 1 WHERE run = ?', id)
  read('SELECT count(*) AS open FROM members WHERE parent = ? AND done = 0', parent)
  run('INSERT INTO events (kind, subject, json) VALUES (?, ?, ?)', 'run.ended', id, '{}')
}

let parentSteps = 0
const runJson = JSON.stringify({ kind: 'agent', lane: 'subagents', options: {}, ceiling: {}, principal: 'owner' })

function stepOf(payload: object): string {
  return JSON.stringify({ at: clock.now(), ...payload })
}
function messageOf(content: string): string {
  return JSON.stringify({
    id: newId(),
    role: 'user',
    content,
    timestamp: clock.now(),
    label: 'trusted',
    runId: newId(),
  })
}

/** One body for each child; so many bodies share a commit. */
function together(children: Child[], body: (child: Child) => void): void {
  for (let from = 0; from < children.length; from += perCommit) {
    db.exec('BEGIN IMMEDIATE')
    for (const child of children.slice(from, from + perCommit)) body(child)
    db.exec('COMMIT')
  }
}

await serve({
  turns: () => Promise.reject(new Error('this program has only children')),
  async agents(count) {
    const started = performance.now()
    const parent = newId()
    parentSteps = 0
    db.exec('BEGIN IMMEDIATE')
    run('INSERT INTO totals VALUES (?, 0)', parent)
    const children = Array.from({ length: count }, () => spawn(parent))
    db.exec('COMMIT')
    for (const part of [claim, beginCall, endCall, settle]) {
      together(children, part)
      await new Promise(setImmediate)
    }
    return performance.now() - started
  },
  bytes: () => sizeNow(file),
})
