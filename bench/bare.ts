import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TurnDraft } from '../src/domain/draft.ts'
import { idSource } from '../src/domain/id.ts'
import type { Model, ModelMessage } from '../src/domain/model.ts'
import { noUsage, type Turn } from '../src/domain/turn.ts'
import { systemClock as clock, systemRandom as random } from '../src/system.ts'
import type { Scratch } from './scratch.ts'

/** A program that holds conversations by hand: what a turn costs when nothing is done but the turn. */
export interface Bare {
  /** The input in one durable commit, the path read and parsed, the model asked, the turn in another commit. */
  turn(label: string, content: string): Promise<void>
  /** Adds turns without asking anybody, all in one commit. */
  grow(label: string, turns: number, draft: TurnDraft): void
  close(): void
}

/** It has the durability of ours: WAL, synchronous FULL. Its turns are the same JSON as ours. */
export function openBare({ directory }: Scratch, name: string, model: Model): Bare {
  const newId = idSource(clock, random)
  const db = new DatabaseSync(join(directory, `${name}.db`), { timeout: 0 })
  db.exec(`PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE sessions (label TEXT PRIMARY KEY, head TEXT);
    CREATE TABLE inbox (id TEXT PRIMARY KEY, label TEXT NOT NULL, content TEXT NOT NULL, turn TEXT);
    CREATE TABLE turns (id TEXT PRIMARY KEY, parent TEXT, json TEXT NOT NULL)`)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const headOf = db.prepare('SELECT head FROM sessions WHERE label = ?')
  const moveHead = db.prepare(`INSERT INTO sessions (label, head) VALUES (?, ?)
    ON CONFLICT (label) DO UPDATE SET head = excluded.head`)
  const accept = db.prepare('INSERT INTO inbox (id, label, content) VALUES (?, ?, ?)')
  const consume = db.prepare('UPDATE inbox SET turn = ? WHERE id = ?')
  const insert = db.prepare('INSERT INTO turns (id, parent, json) VALUES (?, ?, ?)')
  const path = db.prepare(`
    WITH RECURSIVE path (id, parent, json, step) AS (
      SELECT id, parent, json, 0 FROM turns WHERE id = ?
      UNION ALL
      SELECT turns.id, turns.parent, turns.json, step + 1 FROM path JOIN turns ON turns.id = path.parent
    )
    SELECT json FROM path ORDER BY step DESC`)
  const head = (label: string) => (headOf.get(label)?.['head'] as string | undefined) ?? null
  const add = (label: string, turn: Turn) => {
    insert.run(turn.id, turn.parentTurnId, JSON.stringify(turn))
    moveHead.run(label, turn.id)
  }

  return {
    async turn(label, content) {
      const item = newId()
      begin.run()
      accept.run(item, label, content)
      commit.run()

      const parent = head(label)
      const turns = path.all(parent).map(({ json }) => JSON.parse(json as string) as Turn)
      const reply = await model.reply(
        {
          id: item,
          system: '',
          messages: [...turns.flatMap(told), { role: 'user', content }],
          tools: [],
          maxOutputTokens: 8192,
          signal: new AbortController().signal,
        },
        () => undefined,
      )

      const turn = turnOf(newId(), parent, { id: item, content }, reply.text)
      begin.run()
      add(label, turn)
      consume.run(turn.id, item)
      commit.run()
    },
    grow(label, turns, { query: [input], response }) {
      begin.run()
      for (let number = 0; number < turns; number++)
        add(label, turnOf(newId(), head(label), { id: newId(), content: input?.content ?? '' }, response.content))
      commit.run()
    },
    close: () => db.close(),
  }
}

function told({ queryMessages, responseMessage }: Turn): ModelMessage[] {
  return [
    ...queryMessages.map(({ content }): ModelMessage => ({ role: 'user', content })),
    { role: 'assistant', content: responseMessage.content, calls: [] },
  ]
}

function turnOf(id: string, parent: string | null, input: { id: string; content: string }, text: string): Turn {
  const timestamp = clock.now()
  return {
    id,
    parentTurnId: parent,
    type: 'normal',
    status: 'completed',
    queryMessages: [{ id: input.id, role: 'user', source: 'human', content: input.content, timestamp }],
    responseMessage: { id, role: 'assistant', content: text, timestamp },
    model: { requested: null, actual: 'zero-latency' },
    thinkingConfig: null,
    settings: null,
    toolCalls: [],
    tokenCount: 0,
    usage: noUsage,
    compaction: null,
    promptHash: null,
    label: { integrity: 'trusted', sources: [] },
    runId: input.id,
    timestamp,
  }
}
