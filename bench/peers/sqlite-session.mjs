import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** A Session of @openai/agents over SQLite, with the tables and statements of the one that its Python sister brings. */
export function openSessions(file, synchronous) {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${synchronous};
    CREATE TABLE agent_sessions (
      session_id TEXT PRIMARY KEY,
      created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
      updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
    );
    CREATE TABLE agent_messages (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      session_id TEXT NOT NULL REFERENCES agent_sessions (session_id) ON DELETE CASCADE,
      message_data TEXT NOT NULL,
      created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
    );
    CREATE INDEX idx_agent_messages_session_id ON agent_messages (session_id, id);`)
  const begin = db.prepare('INSERT OR IGNORE INTO agent_sessions (session_id) VALUES (?)')
  const add = db.prepare('INSERT INTO agent_messages (session_id, message_data) VALUES (?, ?)')
  const touch = db.prepare('UPDATE agent_sessions SET updated_at = CURRENT_TIMESTAMP WHERE session_id = ?')
  const read = db.prepare('SELECT message_data FROM agent_messages WHERE session_id = ? ORDER BY id')
  const readLast = db.prepare('SELECT message_data FROM agent_messages WHERE session_id = ? ORDER BY id DESC LIMIT ?')
  const takeLast = db.prepare(`DELETE FROM agent_messages
    WHERE id = (SELECT max(id) FROM agent_messages WHERE session_id = ?) RETURNING message_data`)
  const forget = db.prepare('DELETE FROM agent_messages WHERE session_id = ?')
  const item = ({ message_data }) => JSON.parse(message_data)

  return {
    session: (id) => ({
      getSessionId: async () => id,
      getItems: async (limit) =>
        limit === undefined ? read.all(id).map(item) : readLast.all(id, limit).map(item).reverse(),
      async addItems(items) {
        db.exec('BEGIN IMMEDIATE')
        begin.run(id)
        for (const each of items) add.run(id, JSON.stringify(each))
        touch.run(id)
        db.exec('COMMIT')
      },
      async popItem() {
        const row = takeLast.get(id)
        return row && item(row)
      },
      clearSession: async () => void forget.run(id),
    }),
    bytes() {
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      return statSync(file).size
    },
  }
}
