import type { ColumnTypes } from '../dialect.ts'
import type { Migration } from '../migration.ts'
import { compatibilityViewQueries } from './compatibility-view-queries.ts'
import { oneOf } from './one-of.ts'

/**
 * The tasks of a narrative; defaults of tasks and results, and the foreign key of a result's task; views with the tables
 * and columns that the designs Heddle grew from have.
 */
export const compatibilityViews: Migration = {
  id: 24,
  name: 'compatibility_views',
  up: (types) => [
    `CREATE TABLE narrative_tasks (
      narrative_id ${types.int} NOT NULL REFERENCES narratives (id) DEFERRABLE,
      task_id      ${types.int} NOT NULL REFERENCES tasks (id) DEFERRABLE,
      PRIMARY KEY (narrative_id, task_id)
    )${types.clustered}`,
    `CREATE INDEX narrative_tasks_by_task ON narrative_tasks (task_id)`,
    // No statement deletes a task; a database that lost one otherwise must still open.
    `UPDATE agent_results SET task_id = NULL
      WHERE task_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = agent_results.task_id)`,
    ...(types.altersColumns ? alterTables : rebuildTables(types)),
  ],
  views: compatibilityViewQueries,
}

const alterTables = [
  `ALTER TABLE tasks ALTER COLUMN status SET DEFAULT 'pending'`,
  `ALTER TABLE agent_results ALTER COLUMN memory_ids SET DEFAULT '[]'`,
  `ALTER TABLE agent_results ALTER COLUMN processed SET DEFAULT 0`,
  `ALTER TABLE agent_results ADD FOREIGN KEY (task_id) REFERENCES tasks (id) DEFERRABLE`,
]

function rebuildTables({ int, text, sequenceKey, strict }: ColumnTypes): string[] {
  return [
    `CREATE TABLE tasks_with_defaults (
      id              ${sequenceKey},
      project_id      ${int} NOT NULL REFERENCES projects (id) DEFERRABLE,
      key             ${text} NOT NULL,
      title           ${text} NOT NULL,
      context         ${text} NOT NULL CHECK (context <> ''),
      skill           ${text} NOT NULL,
      depends_on      ${text} NOT NULL DEFAULT '[]',
      status          ${text} NOT NULL DEFAULT 'pending'
        CHECK ${oneOf('status', ['pending', 'blocked', 'running', 'completed', 'failed', 'skipped', 'cancelled'])},
      priority        ${int} NOT NULL,
      attempts        ${int} NOT NULL,
      agent_result_id ${int} REFERENCES agent_results (id) DEFERRABLE,
      run_id          ${text} REFERENCES runs (id) DEFERRABLE,
      reason          ${text},
      revision        ${int} NOT NULL,
      dropped_in      ${int},
      created_at      ${int} NOT NULL,
      CHECK (status <> 'running' OR run_id IS NOT NULL)
    )${strict}`,
    `INSERT INTO tasks_with_defaults SELECT id, project_id, key, title, context, skill, depends_on, status, priority,
      attempts, agent_result_id, run_id, reason, revision, dropped_in, created_at FROM tasks`,
    `DROP TABLE tasks`,
    `ALTER TABLE tasks_with_defaults RENAME TO tasks`,
    `CREATE UNIQUE INDEX tasks_by_key ON tasks (project_id, key) WHERE dropped_in IS NULL`,
    `CREATE INDEX tasks_to_do ON tasks (project_id) WHERE status IN ('pending', 'running') AND dropped_in IS NULL`,
    `CREATE INDEX tasks_undone ON tasks (project_id) WHERE status IN ('failed', 'blocked') AND dropped_in IS NULL`,

    `CREATE TABLE results_with_defaults (
      id              ${sequenceKey},
      run_id          ${text} NOT NULL UNIQUE REFERENCES runs (id) DEFERRABLE,
      task_id         ${int} REFERENCES tasks (id) DEFERRABLE,
      skill_used      ${text},
      status          ${text} NOT NULL CHECK ${oneOf('status', ['completed', 'failed', 'timeout', 'cancelled'])},
      summary         ${text} NOT NULL,
      output          ${text} NOT NULL,
      artifacts_json  ${text} NOT NULL,
      memory_ids      ${text} NOT NULL DEFAULT '[]',
      processed       ${int} NOT NULL DEFAULT 0 CHECK (processed IN (0, 1)),
      created_at      ${int} NOT NULL
    )${strict}`,
    `INSERT INTO results_with_defaults SELECT id, run_id, task_id, skill_used, status, summary, output, artifacts_json,
      memory_ids, processed, created_at FROM agent_results`,
    `DROP TABLE agent_results`,
    `ALTER TABLE results_with_defaults RENAME TO agent_results`,
    `CREATE INDEX agent_results_by_task ON agent_results (task_id) WHERE task_id IS NOT NULL`,
    `CREATE INDEX agent_results_unprocessed ON agent_results (id) WHERE processed = 0`,
  ]
}
