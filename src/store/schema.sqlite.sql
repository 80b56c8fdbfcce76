CREATE TABLE events (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  xid          INTEGER NOT NULL DEFAULT 0,
  at           INTEGER NOT NULL,
  kind         TEXT NOT NULL,
  subject      TEXT NOT NULL,
  payload_json TEXT NOT NULL
) STRICT;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE migrations (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE personas (
  id                        TEXT PRIMARY KEY,
  identity_json             TEXT NOT NULL,
  permissions_json          TEXT NOT NULL,
  default_model_config_json TEXT,
  updated_at                INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE prompts (
  hash TEXT NOT NULL PRIMARY KEY,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE runs (
  id          TEXT PRIMARY KEY,
  kind        TEXT NOT NULL CHECK (kind = 'turn' OR kind = 'task' OR kind = 'spawn' OR kind = 'delegate' OR kind = 'cron' OR kind = 'import'),
  state       TEXT NOT NULL CHECK (state = 'queued' OR state = 'running' OR state = 'waiting' OR state = 'completed' OR state = 'failed' OR state = 'timeout' OR state = 'cancelled'),
  session_id  TEXT,
  created_at  INTEGER NOT NULL,
  finished_at INTEGER,
  CHECK ((finished_at IS NULL) = (state = 'queued' OR state = 'running' OR state = 'waiting'))
) STRICT, WITHOUT ROWID;

CREATE TABLE segments (
  id         TEXT PRIMARY KEY,
  parent_id  TEXT REFERENCES segments (id) DEFERRABLE,
  fork_depth INTEGER NOT NULL CHECK (fork_depth >= 0),
  CHECK ((parent_id IS NULL) = (fork_depth = 0))
) STRICT, WITHOUT ROWID;

CREATE INDEX segments_by_fork ON segments (parent_id, fork_depth);

CREATE TABLE sessions (
  id           TEXT PRIMARY KEY,
  folder       TEXT NOT NULL,
  label        TEXT NOT NULL,
  segment_id   TEXT NOT NULL UNIQUE REFERENCES segments (id) DEFERRABLE,
  head_turn_id TEXT REFERENCES threads (turn_id) DEFERRABLE,
  persona_id   TEXT REFERENCES personas (id) DEFERRABLE,
  updated_at   INTEGER NOT NULL,
  archived_at  INTEGER,
  UNIQUE (folder, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE steps (
  run_id       TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  seq          INTEGER NOT NULL CHECK (seq > 0),
  kind         TEXT NOT NULL CHECK (kind = 'reply' OR kind = 'begun' OR kind = 'ended'),
  payload_json TEXT NOT NULL,
  PRIMARY KEY (run_id, seq)
) STRICT;

CREATE TABLE threads (
  segment_id     TEXT NOT NULL REFERENCES segments (id) DEFERRABLE,
  depth          INTEGER NOT NULL CHECK (depth > 0),
  turn_id        TEXT NOT NULL UNIQUE REFERENCES turns (id) DEFERRABLE,
  parent_turn_id TEXT REFERENCES threads (turn_id) DEFERRABLE,
  total_tokens   INTEGER NOT NULL CHECK (total_tokens >= 0),
  has_children   INTEGER NOT NULL CHECK (has_children IN (0, 1)),
  context_start  INTEGER NOT NULL CHECK (context_start BETWEEN 0 AND depth),
  persona_id     TEXT,
  PRIMARY KEY (segment_id, depth),
  CHECK ((parent_turn_id IS NULL) = (depth = 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
  id                    TEXT NOT NULL PRIMARY KEY,
  run_id                TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  type                  TEXT NOT NULL CHECK (type IN ('normal', 'compaction')),
  status                TEXT NOT NULL CHECK (status = 'completed' OR status = 'failed' OR status = 'timeout' OR status = 'cancelled'),
  query_messages_json   TEXT NOT NULL,
  response_message_json TEXT NOT NULL,
  model_requested       TEXT,
  model                 TEXT,
  thinking_config_json  TEXT,
  tool_calls_json       TEXT NOT NULL,
  token_count           INTEGER NOT NULL CHECK (token_count >= 0),
  input_tokens          INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens         INTEGER NOT NULL CHECK (output_tokens >= 0),
  cached_tokens         INTEGER NOT NULL CHECK (cached_tokens >= 0),
  cost_usd              REAL NOT NULL CHECK (cost_usd >= 0),
  compaction_json       TEXT,
  prompt_hash           TEXT REFERENCES prompts (hash) DEFERRABLE,
  integrity             TEXT NOT NULL CHECK (integrity IN ('trusted', 'untrusted')),
  sources_json          TEXT NOT NULL,
  timestamp             INTEGER NOT NULL,
  CHECK ((type = 'compaction') = (compaction_json IS NOT NULL))
) STRICT;
