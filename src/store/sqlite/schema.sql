-- Schema 46

CREATE TABLE migrations (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE segments (
  id         TEXT PRIMARY KEY,
  parent_id  TEXT REFERENCES segments (id) DEFERRABLE,
  fork_depth INTEGER NOT NULL CHECK (fork_depth >= 0),
  CHECK ((parent_id IS NULL) = (fork_depth = 0))
) STRICT, WITHOUT ROWID;

CREATE INDEX segments_by_fork ON segments (parent_id, fork_depth);

CREATE TABLE runs (
  id          TEXT PRIMARY KEY,
  kind        TEXT NOT NULL CHECK (kind = 'turn' OR kind = 'task' OR kind = 'spawn' OR kind = 'delegate' OR kind = 'cron' OR kind = 'import'),
  state       TEXT NOT NULL CHECK (state = 'queued' OR state = 'running' OR state = 'waiting' OR state = 'completed' OR state = 'failed' OR state = 'timeout' OR state = 'cancelled'),
  session_id  TEXT,
  created_at  INTEGER NOT NULL,
  finished_at INTEGER, via TEXT NOT NULL DEFAULT 'import', root_run_id TEXT NOT NULL DEFAULT '', parent_run_id TEXT, depth INTEGER NOT NULL DEFAULT 0, tool_call_id TEXT, requester_session_id TEXT, agent TEXT, model_requested TEXT, priority INTEGER NOT NULL DEFAULT 0, requested_at INTEGER NOT NULL DEFAULT 0, owner_id TEXT CHECK ((state = 'running') = (owner_id IS NOT NULL)), epoch INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0, active_ms INTEGER NOT NULL DEFAULT 0, deadline INTEGER, waiting_for TEXT CHECK ((state = 'waiting') = (waiting_for IS NOT NULL)), wake_at INTEGER, cancel_reason TEXT, effective_tools_json TEXT NOT NULL DEFAULT '[]', integrity TEXT NOT NULL DEFAULT 'trusted' CHECK (integrity = 'trusted' OR integrity = 'untrusted'), sources_json TEXT NOT NULL DEFAULT '[]', error_json TEXT, task_id INTEGER REFERENCES tasks (id) DEFERRABLE, crashes_alone INTEGER NOT NULL DEFAULT 0, options_json TEXT NOT NULL DEFAULT '{}', lane TEXT NOT NULL DEFAULT 'main'
  CHECK (lane = 'main' OR lane = 'agents' OR lane = 'subagents' OR lane = 'cron' OR lane = 'background'), principal TEXT NOT NULL DEFAULT 'owner', ceiling_json TEXT NOT NULL DEFAULT '{}', title TEXT, cleanup TEXT CHECK (cleanup = 'delete' OR cleanup = 'keep'), share_mode TEXT
  CHECK (share_mode = 'isolated' OR share_mode = 'handoff' OR share_mode = 'inherit-readonly'), profile_id TEXT, profile_version INTEGER
  CHECK ((profile_id IS NULL) = (profile_version IS NULL)), model_clamp_json TEXT,
  CHECK ((finished_at IS NULL) = (state = 'queued' OR state = 'running' OR state = 'waiting'))
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_by_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

CREATE INDEX runs_by_requester ON runs (requester_session_id, finished_at)
WHERE requester_session_id IS NOT NULL;

CREATE INDEX runs_by_task ON runs (task_id) WHERE task_id IS NOT NULL;

CREATE INDEX runs_failed ON runs (id) WHERE state IN ('failed', 'timeout');

CREATE UNIQUE INDEX runs_live ON runs (session_id) WHERE finished_at IS NULL;

CREATE INDEX runs_of_children ON runs (session_id) WHERE parent_run_id IS NOT NULL;

CREATE INDEX runs_of_subagents ON runs (id) WHERE share_mode IS NOT NULL;

CREATE INDEX runs_owned ON runs (owner_id) WHERE owner_id IS NOT NULL;

CREATE INDEX runs_queued ON runs (priority DESC, requested_at, created_at, id, lane, root_run_id)
WHERE state = 'queued';

CREATE INDEX runs_unfinished ON runs (root_run_id) WHERE finished_at IS NULL;

CREATE INDEX runs_waking ON runs (wake_at) WHERE wake_at IS NOT NULL;

CREATE INDEX runs_with_deadline ON runs (deadline) WHERE deadline IS NOT NULL AND finished_at IS NULL;

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
  timestamp             INTEGER NOT NULL, unsure_json TEXT, model_clamp_json TEXT, settings_json TEXT,
  CHECK ((type = 'compaction') = (compaction_json IS NOT NULL))
) STRICT;

CREATE TABLE threads (
  segment_id     TEXT NOT NULL REFERENCES segments (id) DEFERRABLE,
  depth          INTEGER NOT NULL CHECK (depth > 0),
  turn_id        TEXT NOT NULL UNIQUE REFERENCES turns (id) DEFERRABLE,
  parent_turn_id TEXT REFERENCES threads (turn_id) DEFERRABLE,
  total_tokens   INTEGER NOT NULL CHECK (total_tokens >= 0),
  has_children   INTEGER NOT NULL CHECK (has_children IN (0, 1)),
  context_start  INTEGER NOT NULL CHECK (context_start BETWEEN 0 AND depth),
  persona_id     TEXT, system_prompt_hash TEXT REFERENCES prompts (hash) DEFERRABLE, bound_by_json TEXT,
  PRIMARY KEY (segment_id, depth),
  CHECK ((parent_turn_id IS NULL) = (depth = 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  id           TEXT PRIMARY KEY,
  folder       TEXT NOT NULL,
  label        TEXT NOT NULL,
  segment_id   TEXT NOT NULL UNIQUE REFERENCES segments (id) DEFERRABLE,
  head_turn_id TEXT REFERENCES threads (turn_id) DEFERRABLE,
  persona_id   TEXT REFERENCES personas (id) DEFERRABLE,
  updated_at   INTEGER NOT NULL,
  archived_at  INTEGER, kind TEXT NOT NULL DEFAULT 'person'
  CHECK (kind = 'person' OR kind = 'agent' OR kind = 'narrator' OR kind = 'cron' OR kind = 'hook'), narrates_id TEXT CHECK (narrates_id IS NULL OR kind = 'narrator'), principal_id TEXT NOT NULL DEFAULT 'owner', system_prompt_hash TEXT REFERENCES prompts (hash) DEFERRABLE, bound_by_json TEXT, tidy_at INTEGER, removed_at INTEGER,
  UNIQUE (folder, label)
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_kind ON sessions (folder, kind) WHERE archived_at IS NULL;

CREATE UNIQUE INDEX sessions_by_narrated ON sessions (narrates_id) WHERE narrates_id IS NOT NULL;

CREATE INDEX sessions_by_principal ON sessions (principal_id, updated_at) WHERE principal_id <> 'owner';

CREATE INDEX sessions_to_tidy ON sessions (tidy_at) WHERE tidy_at IS NOT NULL;

CREATE TABLE events (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  xid          INTEGER NOT NULL DEFAULT 0,
  at           INTEGER NOT NULL,
  kind         TEXT NOT NULL,
  subject      TEXT NOT NULL,
  payload_json TEXT NOT NULL
, session_id TEXT, root_run_id TEXT) STRICT;

CREATE INDEX events_of_pauses ON events (subject) WHERE kind IN ('run.waiting', 'run.fallback');

CREATE TABLE owners (
  id         TEXT PRIMARY KEY,
  pid        INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  beat_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (
  id               TEXT PRIMARY KEY,
  session_id       TEXT NOT NULL REFERENCES sessions (id) DEFERRABLE,
  kind             TEXT NOT NULL CHECK (kind = 'message' OR kind = 'result' OR kind = 'join' OR kind = 'trigger' OR kind = 'steer' OR kind = 'system'),
  payload_json     TEXT NOT NULL,
  source           TEXT NOT NULL,
  integrity        TEXT NOT NULL,
  sources_json     TEXT NOT NULL,
  wake             INTEGER NOT NULL CHECK (wake IN (0, 1)),
  dedupe_key       TEXT UNIQUE,
  root_run_id      TEXT,
  run_id           TEXT REFERENCES runs (id) DEFERRABLE,
  consumed_by_turn TEXT REFERENCES turns (id) DEFERRABLE,
  created_at       INTEGER NOT NULL, seq INTEGER NOT NULL DEFAULT 0, result_id INTEGER REFERENCES agent_results (id) DEFERRABLE, outer_ref TEXT CHECK (length(outer_ref) BETWEEN 1 AND 200), principal TEXT NOT NULL DEFAULT 'owner',
  CHECK (consumed_by_turn IS NULL OR run_id IS NOT NULL)
) STRICT;

CREATE INDEX inbox_by_request ON inbox (root_run_id) WHERE root_run_id IS NOT NULL;

CREATE INDEX inbox_by_run ON inbox (run_id);

CREATE INDEX inbox_waiting ON inbox (session_id, seq, id) WHERE consumed_by_turn IS NULL;

CREATE TABLE joins (
  id          TEXT NOT NULL PRIMARY KEY,
  session_id  TEXT NOT NULL REFERENCES sessions (id) DEFERRABLE,
  root_run_id TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  fired_at    INTEGER,
  created_at  INTEGER NOT NULL
, run_id TEXT) STRICT;

CREATE INDEX joins_by_run ON joins (run_id) WHERE fired_at IS NULL;

CREATE INDEX joins_open ON joins (session_id) WHERE fired_at IS NULL;

CREATE TABLE join_members (
  run_id  TEXT NOT NULL PRIMARY KEY REFERENCES runs (id) DEFERRABLE,
  join_id TEXT NOT NULL REFERENCES joins (id) DEFERRABLE
, session_id TEXT NOT NULL DEFAULT '', done_at INTEGER) STRICT, WITHOUT ROWID;

CREATE INDEX join_members_by_session ON join_members (session_id) WHERE done_at IS NULL;

CREATE INDEX join_members_open ON join_members (join_id) WHERE done_at IS NULL;

CREATE TABLE "steps" (
  run_id       TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  seq          INTEGER NOT NULL CHECK (seq > 0),
  kind         TEXT NOT NULL CHECK (kind = 'reply' OR kind = 'begun' OR kind = 'ended' OR kind = 'steer' OR kind = 'compact'),
  payload_json TEXT NOT NULL,
  at           INTEGER, touched_folder TEXT,
  PRIMARY KEY (run_id, seq)
) STRICT;

CREATE INDEX steps_that_touched ON steps (touched_folder, at) WHERE touched_folder IS NOT NULL;

CREATE INDEX steps_unsurveyed ON steps (touched_folder, at) WHERE kind = 'begun' AND touched_folder IS NOT NULL;

CREATE TABLE approvals (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id        TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  call_id       TEXT NOT NULL,
  tool          TEXT NOT NULL,
  input_json    TEXT NOT NULL,
  change_text   TEXT NOT NULL,
  reason        TEXT NOT NULL,
  hash          TEXT NOT NULL,
  pattern       TEXT NOT NULL,
  integrity     TEXT NOT NULL,
  sources_json  TEXT NOT NULL,
  asked_at      INTEGER NOT NULL,
  answer        TEXT CHECK (answer = 'once' OR answer = 'session' OR answer = 'agent' OR answer = 'no'),
  answer_reason TEXT,
  answered_at   INTEGER, facts_json TEXT NOT NULL DEFAULT '[]', coverage_json TEXT, asked_again INTEGER NOT NULL DEFAULT 0, baseline TEXT, answered_by TEXT,
  UNIQUE (run_id, call_id),
  CHECK ((answer IS NULL) = (answered_at IS NULL))
) STRICT;

CREATE INDEX approvals_open ON approvals (run_id) WHERE answer IS NULL;

CREATE INDEX approvals_refused_plans ON approvals (run_id) WHERE tool = 'run_project' AND answer = 'no';

CREATE TABLE grants (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  scope       TEXT NOT NULL CHECK (scope = 'session' OR scope = 'agent'),
  session_id  TEXT REFERENCES sessions (id) DEFERRABLE,
  agent       TEXT NOT NULL,
  folder      TEXT NOT NULL,
  tool        TEXT NOT NULL,
  pattern     TEXT NOT NULL,
  approval_id INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  revoked_at  INTEGER, cwd TEXT NOT NULL DEFAULT '', confinement TEXT CHECK (confinement = 'sandbox' OR confinement = 'network' OR confinement = 'none'), lapsed_why TEXT, granted_by TEXT NOT NULL DEFAULT 'owner',
  CHECK ((scope = 'session') = (session_id IS NOT NULL))
) STRICT;

CREATE INDEX grants_standing ON grants (tool) WHERE revoked_at IS NULL;

CREATE TABLE file_changes (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id      TEXT REFERENCES runs (id) DEFERRABLE,
  call_id     TEXT,
  folder      TEXT NOT NULL,
  path        TEXT NOT NULL,
  before_hash TEXT,
  after_hash  TEXT,
  mode        INTEGER,
  at          INTEGER NOT NULL,
  undone_at   INTEGER
, line_map TEXT, line_hashes TEXT, before_changed_at INTEGER, before_modified_at INTEGER, before_identity TEXT) STRICT;

CREATE INDEX file_changes_by_content ON file_changes (after_hash);

CREATE INDEX file_changes_by_folder ON file_changes (folder, at);

CREATE INDEX file_changes_by_path ON file_changes (folder, path, id);

CREATE INDEX file_changes_by_run ON file_changes (run_id);

CREATE TABLE file_contents (
  hash   TEXT PRIMARY KEY,
  bytes  INTEGER NOT NULL,
  packed TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE projects (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  title       TEXT NOT NULL,
  goal        TEXT,
  status      TEXT NOT NULL CHECK (status = 'proposed' OR status = 'running' OR status = 'completed' OR status = 'failed' OR status = 'cancelled'),
  session_id  TEXT NOT NULL REFERENCES sessions (id) DEFERRABLE,
  root_run_id TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  planned_by  TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  started_by  TEXT REFERENCES runs (id) DEFERRABLE,
  revision    INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  finished_at INTEGER
) STRICT;

CREATE INDEX projects_by_request ON projects (root_run_id);

CREATE INDEX projects_by_session ON projects (session_id);

CREATE TABLE task_edges (
  task_id  INTEGER NOT NULL REFERENCES tasks (id) DEFERRABLE,
  needs_id INTEGER NOT NULL REFERENCES tasks (id) DEFERRABLE,
  PRIMARY KEY (task_id, needs_id),
  CHECK (task_id <> needs_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_edges_by_need ON task_edges (needs_id);

CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, 
content       TEXT NOT NULL,
tags_json     TEXT NOT NULL,
keywords_json TEXT NOT NULL,
score         INTEGER NOT NULL,
source        TEXT NOT NULL,
integrity     TEXT NOT NULL,
sources_json  TEXT NOT NULL,
run_id        TEXT,
turn_id       TEXT,
task_id       INTEGER,
result_id     INTEGER,
narrative_id  INTEGER,
created_at    INTEGER NOT NULL,
recalled_at   INTEGER NOT NULL,
superseded_by INTEGER,
forgotten_at  INTEGER, said_at INTEGER) STRICT;

CREATE INDEX memories_by_result ON memories (result_id) WHERE result_id IS NOT NULL;

CREATE INDEX memories_by_run ON memories (run_id) WHERE run_id IS NOT NULL;

CREATE INDEX memories_by_turn ON memories (turn_id) WHERE turn_id IS NOT NULL;

CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE memories_archive (id INTEGER NOT NULL PRIMARY KEY, 
content       TEXT NOT NULL,
tags_json     TEXT NOT NULL,
keywords_json TEXT NOT NULL,
score         INTEGER NOT NULL,
source        TEXT NOT NULL,
integrity     TEXT NOT NULL,
sources_json  TEXT NOT NULL,
run_id        TEXT,
turn_id       TEXT,
task_id       INTEGER,
result_id     INTEGER,
narrative_id  INTEGER,
created_at    INTEGER NOT NULL,
recalled_at   INTEGER NOT NULL,
superseded_by INTEGER,
forgotten_at  INTEGER, said_at INTEGER) STRICT;

CREATE INDEX memories_archive_by_run ON memories_archive (run_id) WHERE run_id IS NOT NULL;

CREATE INDEX memories_archive_superseded ON memories_archive (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE memory_words (
  word      TEXT NOT NULL,
  memory_id INTEGER NOT NULL,
  hits      INTEGER NOT NULL,
  PRIMARY KEY (word, memory_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_words_by_memory ON memory_words (memory_id);

CREATE TABLE memory_recalls (
  run_id    TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  memory_id INTEGER NOT NULL,
  rank      REAL NOT NULL,
  words     TEXT NOT NULL,
  PRIMARY KEY (run_id, memory_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_recalls_by_memory ON memory_recalls (memory_id);

CREATE TABLE narratives (
  id                    INTEGER PRIMARY KEY AUTOINCREMENT,
  summary               TEXT NOT NULL,
  topic                 TEXT,
  folder                TEXT NOT NULL,
  memory_ids            TEXT NOT NULL,
  previous_narrative_id INTEGER REFERENCES narratives (id) DEFERRABLE,
  run_id                TEXT,
  turn_id               TEXT,
  integrity             TEXT NOT NULL,
  sources_json          TEXT NOT NULL,
  created_at            INTEGER NOT NULL
, session_id TEXT) STRICT;

CREATE INDEX narratives_by_folder ON narratives (folder, id);

CREATE INDEX narratives_by_previous ON narratives (previous_narrative_id) WHERE previous_narrative_id IS NOT NULL;

CREATE INDEX narratives_by_run ON narratives (run_id) WHERE run_id IS NOT NULL;

CREATE INDEX narratives_by_session ON narratives (session_id, id) WHERE session_id IS NOT NULL;

CREATE INDEX narratives_by_turn ON narratives (turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE request_totals (
  root_run_id TEXT PRIMARY KEY NOT NULL REFERENCES runs (id) DEFERRABLE,
  tokens      INTEGER NOT NULL,
  cost_usd    REAL NOT NULL
, steps INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;

CREATE TABLE narrative_recalls (
  run_id       TEXT PRIMARY KEY NOT NULL REFERENCES runs (id) DEFERRABLE,
  narrative_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX narrative_recalls_by_narrative ON narrative_recalls (narrative_id);

CREATE TABLE id_tails (
  tail TEXT NOT NULL,
  id   TEXT NOT NULL,
  PRIMARY KEY (tail, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE home_files (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  path        TEXT NOT NULL UNIQUE,
  size        INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  hash        TEXT NOT NULL,
  passages    INTEGER NOT NULL CHECK (passages >= 0),
  indexed_at  INTEGER NOT NULL
, home TEXT NOT NULL DEFAULT '') STRICT;

CREATE INDEX home_files_by_home ON home_files (home, path);

CREATE TABLE passages (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  file_id INTEGER NOT NULL REFERENCES home_files (id) DEFERRABLE,
  line    INTEGER NOT NULL,
  heading TEXT,
  text    TEXT NOT NULL,
  digest  TEXT NOT NULL
) STRICT;

CREATE INDEX passages_by_file ON passages (file_id);

CREATE TABLE passage_words (
  word       TEXT NOT NULL,
  passage_id INTEGER NOT NULL,
  hits       INTEGER NOT NULL,
  PRIMARY KEY (word, passage_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX passage_words_by_passage ON passage_words (passage_id);

CREATE TABLE passage_recalls (
  run_id     TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  passage_id INTEGER NOT NULL,
  path       TEXT NOT NULL,
  line       INTEGER NOT NULL,
  rank       REAL NOT NULL,
  words      TEXT NOT NULL,
  PRIMARY KEY (run_id, passage_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE embedders (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL UNIQUE,
  dimensions INTEGER NOT NULL CHECK (dimensions > 0),
  yardstick  TEXT NOT NULL,
  used_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE memory_vectors (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  embedder_id INTEGER NOT NULL REFERENCES embedders (id) DEFERRABLE,
  memory_id   INTEGER NOT NULL,
  vector      TEXT NOT NULL,
  UNIQUE (memory_id, embedder_id)
) STRICT;

CREATE INDEX memory_vectors_by_embedder ON memory_vectors (embedder_id, seq);

CREATE TABLE "usage" (
  run_id        TEXT NOT NULL,
  call          INTEGER NOT NULL,
  root_run_id   TEXT NOT NULL,
  model         TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state = 'reserved' OR state = 'spent' OR state = 'estimated' OR state = 'lost' OR state = 'free'),
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  cost_usd      REAL NOT NULL,
  at            INTEGER NOT NULL,
  counted       INTEGER NOT NULL DEFAULT 0 CHECK (counted = 0 OR state <> 'reserved'), price_assumed INTEGER NOT NULL DEFAULT 0 CHECK (price_assumed IN (0, 1)), principal TEXT NOT NULL DEFAULT 'owner',
  PRIMARY KEY (run_id, call)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_by_principal ON usage (principal, at, cost_usd) WHERE principal <> 'owner';

CREATE INDEX usage_by_request ON usage (root_run_id, counted);

CREATE INDEX usage_by_time ON usage (at, cost_usd);

CREATE TABLE users (
  id          TEXT PRIMARY KEY,
  role        TEXT NOT NULL CHECK (role = 'public' OR role = 'operator' OR role = 'admin'),
  trusted     INTEGER NOT NULL DEFAULT 0 CHECK (trusted IN (0, 1)),
  tools_json  TEXT,
  folder      TEXT NOT NULL,
  per_day_usd REAL,
  created_at  INTEGER NOT NULL,
  removed_at  INTEGER
) STRICT;

CREATE TABLE audit (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  at        INTEGER NOT NULL,
  principal TEXT NOT NULL,
  action    TEXT NOT NULL,
  resource  TEXT,
  outcome   TEXT NOT NULL,
  detail    TEXT
) STRICT;

CREATE TABLE idempotency (
  principal    TEXT NOT NULL,
  key          TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  answer_json  TEXT,
  at           INTEGER NOT NULL,
  PRIMARY KEY (principal, key)
) STRICT;

CREATE INDEX idempotency_by_age ON idempotency (at);

CREATE TABLE narrative_tasks (
  narrative_id INTEGER NOT NULL REFERENCES narratives (id) DEFERRABLE,
  task_id      INTEGER NOT NULL REFERENCES tasks (id) DEFERRABLE,
  PRIMARY KEY (narrative_id, task_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX narrative_tasks_by_task ON narrative_tasks (task_id);

CREATE TABLE "tasks" (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id      INTEGER NOT NULL REFERENCES projects (id) DEFERRABLE,
  key             TEXT NOT NULL,
  title           TEXT NOT NULL,
  context         TEXT NOT NULL CHECK (context <> ''),
  skill           TEXT NOT NULL,
  depends_on      TEXT NOT NULL DEFAULT '[]',
  status          TEXT NOT NULL DEFAULT 'pending'
    CHECK (status = 'pending' OR status = 'blocked' OR status = 'running' OR status = 'completed' OR status = 'failed' OR status = 'skipped' OR status = 'cancelled'),
  priority        INTEGER NOT NULL,
  attempts        INTEGER NOT NULL,
  agent_result_id INTEGER REFERENCES agent_results (id) DEFERRABLE,
  run_id          TEXT REFERENCES runs (id) DEFERRABLE,
  reason          TEXT,
  revision        INTEGER NOT NULL,
  dropped_in      INTEGER,
  created_at      INTEGER NOT NULL,
  CHECK (status <> 'running' OR run_id IS NOT NULL)
) STRICT;

CREATE UNIQUE INDEX tasks_by_key ON tasks (project_id, key) WHERE dropped_in IS NULL;

CREATE INDEX tasks_to_do ON tasks (project_id) WHERE status IN ('pending', 'running') AND dropped_in IS NULL;

CREATE INDEX tasks_undone ON tasks (project_id) WHERE status IN ('failed', 'blocked') AND dropped_in IS NULL;

CREATE TABLE "agent_results" (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id          TEXT NOT NULL UNIQUE REFERENCES runs (id) DEFERRABLE,
  task_id         INTEGER REFERENCES tasks (id) DEFERRABLE,
  skill_used      TEXT,
  status          TEXT NOT NULL CHECK (status = 'completed' OR status = 'failed' OR status = 'timeout' OR status = 'cancelled'),
  summary         TEXT NOT NULL,
  output          TEXT NOT NULL,
  artifacts_json  TEXT NOT NULL,
  memory_ids      TEXT NOT NULL DEFAULT '[]',
  processed       INTEGER NOT NULL DEFAULT 0 CHECK (processed IN (0, 1)),
  created_at      INTEGER NOT NULL
) STRICT;

CREATE INDEX agent_results_by_task ON agent_results (task_id) WHERE task_id IS NOT NULL;

CREATE INDEX agent_results_unprocessed ON agent_results (id) WHERE processed = 0;

CREATE TABLE untrusted_files (
  path         TEXT NOT NULL,
  sha256       TEXT NOT NULL,
  sources_json TEXT NOT NULL,
  created      INTEGER NOT NULL CHECK (created IN (0, 1)),
  run_id       TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  at           INTEGER NOT NULL,
  PRIMARY KEY (path, sha256)
) STRICT, WITHOUT ROWID;

CREATE INDEX untrusted_files_by_content ON untrusted_files (sha256);

CREATE TABLE untrusted_commands (
  run_id       TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  call_id      TEXT NOT NULL,
  folder       TEXT NOT NULL,
  sources_json TEXT NOT NULL,
  since        INTEGER NOT NULL,
  until        INTEGER,
  PRIMARY KEY (run_id, call_id)
) STRICT;

CREATE INDEX untrusted_commands_by_folder ON untrusted_commands (folder);

CREATE TABLE cron_jobs (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  name            TEXT NOT NULL,
  kind            TEXT NOT NULL CHECK (kind = 'at' OR kind = 'every' OR kind = 'cron' OR kind = 'event'),
  spec            TEXT NOT NULL,
  timezone        TEXT,
  starts_at       INTEGER NOT NULL,
  active_json     TEXT,
  folder          TEXT NOT NULL,
  session_json    TEXT NOT NULL,
  payload         TEXT NOT NULL CHECK (payload = 'systemEvent' OR payload = 'agentTurn'),
  content         TEXT NOT NULL,
  options_json    TEXT NOT NULL,
  deliver_json    TEXT NOT NULL,
  missed          TEXT NOT NULL CHECK (missed = 'skip' OR missed = 'once'),
  cleanup         TEXT NOT NULL CHECK (cleanup = 'keep' OR cleanup = 'disable' OR cleanup = 'delete'),
  max_failures    INTEGER NOT NULL,
  failures        INTEGER NOT NULL,
  enabled         INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  disabled_reason TEXT,
  next_at         INTEGER CHECK (next_at IS NULL OR enabled = 1),
  last_at         INTEGER,
  last_status     TEXT,
  principal       TEXT NOT NULL,
  integrity       TEXT NOT NULL,
  sources_json    TEXT NOT NULL,
  version         INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  removed_at      INTEGER,
  CHECK (removed_at IS NULL OR enabled = 0)
) STRICT;

CREATE INDEX cron_jobs_by_event ON cron_jobs (spec) WHERE kind = 'event' AND enabled = 1;

CREATE INDEX cron_jobs_due ON cron_jobs (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE cron_fires (
  job_id       INTEGER NOT NULL REFERENCES cron_jobs (id),
  scheduled_at INTEGER NOT NULL,
  outcome      TEXT NOT NULL CHECK (outcome = 'fired' OR outcome = 'skipped' OR outcome = 'missed'),
  at           INTEGER NOT NULL,
  reason       TEXT,
  item_id      TEXT UNIQUE,
  root_run_id  TEXT,
  status       TEXT CHECK (status IS NULL OR (status = 'completed' OR status = 'failed' OR status = 'timeout' OR status = 'cancelled')),
  ended_at     INTEGER,
  PRIMARY KEY (job_id, scheduled_at),
  CHECK ((item_id IS NOT NULL) = (outcome = 'fired'))
) STRICT;

CREATE INDEX cron_fires_by_request ON cron_fires (root_run_id) WHERE status IS NULL AND root_run_id IS NOT NULL;

CREATE INDEX cron_fires_open ON cron_fires (job_id) WHERE outcome = 'fired' AND status IS NULL;

CREATE TABLE outbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  kind         TEXT NOT NULL CHECK (kind = 'session' OR kind = 'notify' OR kind = 'file' OR kind = 'webhook'),
  target       TEXT NOT NULL,
  title        TEXT NOT NULL,
  content      TEXT NOT NULL,
  integrity    TEXT NOT NULL,
  sources_json TEXT NOT NULL,
  principal    TEXT NOT NULL,
  folder       TEXT NOT NULL,
  job_id       INTEGER REFERENCES cron_jobs (id),
  run_id       TEXT,
  state        TEXT NOT NULL CHECK (state = 'queued' OR state = 'sending' OR state = 'sent' OR state = 'dead'),
  attempts     INTEGER NOT NULL,
  next_at      INTEGER,
  last_error   TEXT,
  dedupe_key   TEXT NOT NULL UNIQUE,
  created_at   INTEGER NOT NULL,
  sent_at      INTEGER,
  CHECK ((next_at IS NOT NULL) = (state = 'queued' OR state = 'sending'))
) STRICT;

CREATE INDEX outbox_dead ON outbox (id) WHERE state = 'dead';

CREATE INDEX outbox_due ON outbox (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE search_documents (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT NOT NULL CHECK (kind = 'turn' OR kind = 'result' OR kind = 'file'),
  ref        TEXT NOT NULL,
  run_id     TEXT,
  session_id TEXT,
  principal  TEXT CHECK (principal <> 'owner'),
  at         INTEGER NOT NULL,
  indexed    INTEGER NOT NULL DEFAULT 0 CHECK (indexed IN (0, 1))
) STRICT;

CREATE INDEX search_documents_by_principal ON search_documents (principal) WHERE principal IS NOT NULL;

CREATE INDEX search_documents_by_session ON search_documents (session_id, id) WHERE indexed = 1;

CREATE INDEX search_documents_unindexed ON search_documents (id) WHERE indexed = 0;

CREATE TABLE search_words (
  word        TEXT NOT NULL,
  document_id INTEGER NOT NULL,
  kind        INTEGER NOT NULL,
  principal   TEXT,
  PRIMARY KEY (word, document_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX search_words_by_principal ON search_words (principal, word, document_id, kind)
WHERE principal IS NOT NULL;

CREATE TABLE search_files (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  path       TEXT NOT NULL UNIQUE,
  folder     TEXT NOT NULL,
  size       INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  hash       TEXT NOT NULL,
  look_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX search_files_due ON search_files (look_at);

CREATE TABLE search_passages (
  document_id INTEGER NOT NULL PRIMARY KEY,
  file_id     INTEGER NOT NULL,
  line        INTEGER NOT NULL,
  heading     TEXT,
  text        TEXT NOT NULL,
  digest      TEXT NOT NULL
) STRICT;

CREATE INDEX search_passages_by_file ON search_passages (file_id);

CREATE TABLE policies (
  resource_type TEXT NOT NULL CHECK (resource_type = 'policy' OR resource_type = 'profile'),
  resource_id   TEXT NOT NULL,
  version       INTEGER NOT NULL CHECK (version > 0),
  value_json    TEXT NOT NULL,
  updated_at    INTEGER NOT NULL,
  updated_by    TEXT NOT NULL,
  PRIMARY KEY (resource_type, resource_id)
) STRICT;

CREATE TABLE policy_versions (
  resource_type TEXT NOT NULL,
  resource_id   TEXT NOT NULL,
  version       INTEGER NOT NULL,
  value_json    TEXT,
  at            INTEGER NOT NULL,
  by_principal  TEXT NOT NULL,
  PRIMARY KEY (resource_type, resource_id, version)
) STRICT;

CREATE TABLE "tokens" (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id     TEXT REFERENCES users (id),
  hash        TEXT NOT NULL UNIQUE,
  scopes_json TEXT,
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER,
  revoked_at  INTEGER,
  kind TEXT NOT NULL DEFAULT 'token' CHECK (kind = 'token' OR kind = 'link' OR kind = 'browser')
) STRICT;

CREATE INDEX tokens_by_user ON tokens (user_id);

CREATE TABLE command_changes (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id      TEXT NOT NULL REFERENCES runs (id) DEFERRABLE,
  call_id     TEXT NOT NULL,
  folder      TEXT NOT NULL,
  path        TEXT NOT NULL,
  before_hash TEXT,
  after_hash  TEXT,
  origin_path TEXT,
  origin_hash TEXT,
  line_map    TEXT,
  follows     INTEGER NOT NULL,
  since       INTEGER NOT NULL,
  at          INTEGER NOT NULL, found INTEGER NOT NULL DEFAULT 0 CHECK (found = 0 OR found = 1), line_hashes TEXT, before_changed_at INTEGER, before_modified_at INTEGER, modified_at INTEGER, before_identity TEXT, identity TEXT,
  CHECK ((origin_path IS NULL) = (origin_hash IS NULL))
) STRICT;

CREATE INDEX command_changes_by_content ON command_changes (after_hash);

CREATE INDEX command_changes_by_path ON command_changes (folder, path, id);

CREATE INDEX command_changes_by_run ON command_changes (run_id);

CREATE VIEW nexus_turns AS
SELECT turns.id, threads.parent_turn_id, turns.query_messages_json, turns.response_message_json, turns.model,
  turns.thinking_config_json,
  CASE WHEN turns.tool_calls_json = '[]' THEN '[]' ELSE (SELECT '[' || coalesce(group_concat(item), '') || ']' FROM (SELECT '{' || '"id":' || (entry.value -> 'id') || ',' || '"name":' || (entry.value -> 'name') || ',' || '"input":' || coalesce(begun.payload_json -> 'input', 'null') || ',' || '"output":' || coalesce(ended.payload_json -> 'output', 'null') || ',' || '"status":' || (entry.value -> 'status') || '}' AS item FROM json_each(turns.tool_calls_json) AS entry
    LEFT JOIN steps AS begun
      ON begun.run_id = turns.run_id AND begun.seq = cast(entry.value ->> 'begun' AS BIGINT)
    LEFT JOIN steps AS ended
      ON ended.run_id = turns.run_id AND ended.seq = cast(entry.value ->> 'ended' AS BIGINT) ORDER BY entry.key)) END AS tool_calls_json,
  turns.token_count, turns.timestamp, threads.has_children = 1 AS has_children
FROM turns JOIN threads ON threads.turn_id = turns.id;

CREATE VIEW nexus_threads AS
SELECT threads.turn_id, (SELECT '[' || coalesce(group_concat(item), '') || ']' FROM (SELECT '"' || ancestor.turn_id || '"' AS item FROM (
    WITH RECURSIVE line (segment_id, low, high) AS (
      SELECT segments.id, segments.fork_depth, threads.depth FROM segments WHERE segments.id = threads.segment_id
      UNION ALL
      SELECT parent.id, parent.fork_depth, line.low
      FROM line
      JOIN segments AS child ON child.id = line.segment_id
      JOIN segments AS parent ON parent.id = child.parent_id
    )
    SELECT above.turn_id, above.depth
    FROM line CROSS JOIN threads AS above
    WHERE above.segment_id = line.segment_id AND above.depth > line.low AND above.depth <= line.high
  ) AS ancestor ORDER BY ancestor.depth)) AS ancestry_json, threads.total_tokens, threads.depth, threads.persona_id,
  prompts.text AS system_prompt, threads.segment_id || '/' || threads.depth AS thread_key
FROM threads
JOIN turns ON turns.id = threads.turn_id
LEFT JOIN prompts ON prompts.hash = turns.prompt_hash;

CREATE VIEW nexus_sessions AS
SELECT label, head_turn_id AS thread_id, persona_id, updated_at
FROM sessions;

CREATE VIEW koshi_tasks AS
SELECT id, cast(project_id AS TEXT) AS project_id, title, context, skill, depends_on, status,
  agent_result_id, datetime(created_at / 1000, 'unixepoch') AS created_at
FROM tasks
WHERE dropped_in IS NULL;

CREATE VIEW koshi_agent_results AS
SELECT id, task_id, coalesce(skill_used, '') AS skill_used, output, datetime(created_at / 1000, 'unixepoch') AS created_at,
  processed, memory_ids
FROM agent_results;

CREATE VIEW subagent_runs AS
SELECT first.id, session.label AS session_key, requester.label AS requester_key,
  input.payload_json ->> 'content' AS task,
  first.title AS label,
  coalesce(
    (SELECT usage.model FROM runs AS caller JOIN usage ON usage.run_id = caller.id
     WHERE caller.session_id = first.session_id AND caller.parent_run_id IS NOT NULL
     ORDER BY caller.id DESC, usage.call DESC LIMIT 1),
    first.model_requested) AS model,
  CASE WHEN result.status IS NULL THEN 'running' WHEN result.status = 'cancelled' THEN 'failed' ELSE result.status END AS status,
  CASE WHEN result.status = 'completed' THEN result.output END AS result,
  CASE WHEN result.status <> 'completed' THEN result.summary END AS error,
  first.created_at AS started_at,
  result.created_at AS finished_at,
  result.created_at - first.created_at AS duration_ms
FROM runs AS first
JOIN sessions AS session ON session.id = first.session_id
JOIN sessions AS requester ON requester.id = first.requester_session_id
LEFT JOIN inbox AS input ON input.id = coalesce(
  (SELECT min(taken.id) FROM inbox AS taken WHERE taken.run_id = first.id),
  (SELECT min(waiting.id) FROM inbox AS waiting
   WHERE waiting.session_id = first.session_id AND waiting.consumed_by_turn IS NULL))
LEFT JOIN agent_results AS result ON result.run_id = (
  SELECT max(later.id) FROM runs AS later WHERE later.session_id = first.session_id AND later.parent_run_id IS NOT NULL)
WHERE first.via = 'sessions_spawn' AND first.id = (
  SELECT min(earlier.id) FROM runs AS earlier WHERE earlier.session_id = first.session_id AND earlier.parent_run_id IS NOT NULL);
