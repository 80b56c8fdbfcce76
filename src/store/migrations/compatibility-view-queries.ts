import type { ColumnTypes } from '../dialect.ts'

/** Where the columns of a subagent come from; its first run is `first`. */
interface SubagentColumns {
  label: string
  model: string
}

/** The model of a subagent's newest call, else the one that was asked for. */
export const modelOfSubagent = `coalesce(
    (SELECT usage.model FROM runs AS caller JOIN usage ON usage.run_id = caller.id
     WHERE caller.session_id = first.session_id AND caller.parent_run_id IS NOT NULL
     ORDER BY caller.id DESC, usage.call DESC LIMIT 1),
    first.model_requested)`

const firstSubagentColumns: SubagentColumns = { label: 'cast(NULL AS TEXT)', model: 'first.model_requested' }

/**
 * Views with the tables of the designs Heddle grew from, column by column: of Nexus, Koshi and goclaw. For people who
 * query the database; Heddle itself reads none of them. Each adds to a row only what an index finds by the row's keys.
 */
export function compatibilityViewQueries(
  types: ColumnTypes,
  subagent: Partial<SubagentColumns> = {},
): Record<string, string> {
  return {
    nexus_turns: turns(types),
    nexus_threads: threads(types),
    nexus_sessions: `SELECT label, head_turn_id AS thread_id, persona_id, updated_at
FROM sessions`,
    koshi_tasks: tasks(types),
    koshi_agent_results: results(types),
    subagent_runs: subagentRuns(types, { ...firstSubagentColumns, ...subagent }),
  }
}

/** A turn's tool calls are stored as places in its run's journal; the view has them with input and output. */
function turns({ json, jsonEntries, jsonArray }: ColumnTypes): string {
  const field = (name: string, value: string) => `'"${name}":' || ${value}`
  const value = (step: string, name: string) => `coalesce(${json(`${step}.payload_json`)} -> '${name}', 'null')`
  const call = [
    field('id', `(entry.value -> 'id')`),
    field('name', `(entry.value -> 'name')`),
    field('input', value('begun', 'input')),
    field('output', value('ended', 'output')),
    field('status', `(entry.value -> 'status')`),
  ].join(` || ',' || `)
  const step = (name: string) => `LEFT JOIN steps AS ${name}
      ON ${name}.run_id = turns.run_id AND ${name}.seq = cast(entry.value ->> '${name}' AS BIGINT)`
  const calls = jsonArray({
    item: `'{' || ${call} || '}'`,
    from: `${jsonEntries('turns.tool_calls_json')}
    ${step('begun')}
    ${step('ended')}`,
    order: 'entry.key',
  })
  return `SELECT turns.id, threads.parent_turn_id, turns.query_messages_json, turns.response_message_json, turns.model,
  turns.thinking_config_json,
  CASE WHEN turns.tool_calls_json = '[]' THEN '[]' ELSE ${calls} END AS tool_calls_json,
  turns.token_count, turns.timestamp, threads.has_children = 1 AS has_children
FROM turns JOIN threads ON threads.turn_id = turns.id`
}

/** The ancestors of a turn are a stretch of each segment between its own and the root's. */
function threads({ jsonArray }: ColumnTypes): string {
  const ancestry = jsonArray({
    item: `'"' || ancestor.turn_id || '"'`,
    from: `(
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
  ) AS ancestor`,
    order: 'ancestor.depth',
  })
  return `SELECT threads.turn_id, ${ancestry} AS ancestry_json, threads.total_tokens, threads.depth, threads.persona_id,
  prompts.text AS system_prompt, threads.segment_id || '/' || threads.depth AS thread_key
FROM threads
JOIN turns ON turns.id = threads.turn_id
LEFT JOIN prompts ON prompts.hash = turns.prompt_hash`
}

/** Tasks that a new revision of their plan dropped are left out, as in Heddle's own lists. */
function tasks({ dateTime }: ColumnTypes): string {
  return `SELECT id, cast(project_id AS TEXT) AS project_id, title, context, skill, depends_on, status,
  agent_result_id, ${dateTime('created_at')} AS created_at
FROM tasks
WHERE dropped_in IS NULL`
}

function results({ dateTime }: ColumnTypes): string {
  return `SELECT id, task_id, coalesce(skill_used, '') AS skill_used, output, ${dateTime('created_at')} AS created_at,
  processed, memory_ids
FROM agent_results`
}

/**
 * One row for each agent that `sessions_spawn` started: its first run, with the end of its last one. An agent that waits
 * for agents of its own, or goes on with their results, has runs that ended and no result yet: it is still running.
 */
function subagentRuns({ json }: ColumnTypes, { label, model }: SubagentColumns): string {
  return `SELECT first.id, session.label AS session_key, requester.label AS requester_key,
  ${json('input.payload_json')} ->> 'content' AS task,
  ${label} AS label,
  ${model} AS model,
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
  SELECT min(earlier.id) FROM runs AS earlier WHERE earlier.session_id = first.session_id AND earlier.parent_run_id IS NOT NULL)`
}
