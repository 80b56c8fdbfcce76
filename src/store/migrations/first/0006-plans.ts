import type { Migration } from '../../migration.ts'
import { oneOf } from '../one-of.ts'

/** Plans: tasks, their dependencies and their runs. */
export const plans: Migration = {
  id: 6,
  name: 'plans',
  up: ({ int, text, sequenceKey, clustered, strict }) => [
    `CREATE TABLE projects (
      id          ${sequenceKey},
      title       ${text} NOT NULL,
      goal        ${text},
      status      ${text} NOT NULL CHECK ${oneOf('status', ['proposed', 'running', 'completed', 'failed', 'cancelled'])},
      session_id  ${text} NOT NULL REFERENCES sessions (id) DEFERRABLE,
      root_run_id ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      planned_by  ${text} NOT NULL REFERENCES runs (id) DEFERRABLE,
      started_by  ${text} REFERENCES runs (id) DEFERRABLE,
      revision    ${int} NOT NULL,
      created_at  ${int} NOT NULL,
      finished_at ${int}
    )${strict}`,
    `CREATE INDEX projects_by_session ON projects (session_id)`,
    `CREATE INDEX projects_by_request ON projects (root_run_id)`,

    `CREATE TABLE tasks (
      id              ${sequenceKey},
      project_id      ${int} NOT NULL REFERENCES projects (id) DEFERRABLE,
      key             ${text} NOT NULL,
      title           ${text} NOT NULL,
      context         ${text} NOT NULL CHECK (context <> ''),
      skill           ${text} NOT NULL,
      depends_on      ${text} NOT NULL DEFAULT '[]',
      status          ${text} NOT NULL CHECK ${oneOf('status', ['pending', 'blocked', 'running', 'completed', 'failed', 'skipped', 'cancelled'])},
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
    `CREATE UNIQUE INDEX tasks_by_key ON tasks (project_id, key) WHERE dropped_in IS NULL`,
    // Read at the end of each task to decide whether the plan continues.
    `CREATE INDEX tasks_to_do ON tasks (project_id) WHERE status IN ('pending', 'running') AND dropped_in IS NULL`,
    `CREATE INDEX tasks_undone ON tasks (project_id) WHERE status IN ('failed', 'blocked') AND dropped_in IS NULL`,

    // Dependencies; authoritative over `depends_on`.
    `CREATE TABLE task_edges (
      task_id  ${int} NOT NULL REFERENCES tasks (id) DEFERRABLE,
      needs_id ${int} NOT NULL REFERENCES tasks (id) DEFERRABLE,
      PRIMARY KEY (task_id, needs_id),
      CHECK (task_id <> needs_id)
    )${clustered}`,
    `CREATE INDEX task_edges_by_need ON task_edges (needs_id)`,

    `ALTER TABLE runs ADD COLUMN task_id ${int} REFERENCES tasks (id) DEFERRABLE`,
    `CREATE INDEX runs_by_task ON runs (task_id) WHERE task_id IS NOT NULL`,
    `CREATE INDEX agent_results_by_task ON agent_results (task_id) WHERE task_id IS NOT NULL`,
    `CREATE INDEX agent_results_unprocessed ON agent_results (id) WHERE processed = 0`,
    // The result that an item delivers: marked as processed once a turn has answered the item.
    `ALTER TABLE inbox ADD COLUMN result_id ${int} REFERENCES agent_results (id) DEFERRABLE`,
  ],
}
