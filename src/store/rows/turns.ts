import { sql } from 'kysely'
import type { Turn, UnreportedUsage, Usage } from '../../domain/turn.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'

/** Content of a turn without its position in the tree, which determines `parentTurnId`. */
export type TurnContent = Omit<Turn, 'parentTurnId'>

export type TurnRow = Tables['turns']

export async function insertTurn(tx: Tx, turn: TurnContent): Promise<void> {
  tx.send(insert(turnRow(turn)))
}

/** Stores a prompt's text once, for all turns that used it. */
export async function savePrompt(tx: Tx, hash: string, text: string): Promise<void> {
  tx.send(insertPrompt({ hash, text }))
}

export async function promptText(rows: Reading, hash: string): Promise<string | undefined> {
  return (await rows.first(rows.build.selectFrom('prompts').select('text').where('hash', '=', hash)))?.text
}

/** Whether a turn answers its inputs: completed, and not a compaction. */
export function isAnswer({ type, status }: Pick<Turn, 'type' | 'status'>): boolean {
  return type === 'normal' && status === 'completed'
}

/** Whether the run of a turn may have called tools; as the statements of threads.ts tell it (`calledTools`). */
export function hasCalls({ type, toolCalls, status }: Pick<Turn, 'type' | 'toolCalls' | 'status'>): boolean {
  return type === 'normal' && (toolCalls.length > 0 || status !== 'completed')
}

export async function hasAnswered(rows: Reading, id: string): Promise<boolean> {
  const row = await rows.first(rows.build.selectFrom('turns').select(['type', 'status']).where('id', '=', id))
  return row !== undefined && isAnswer(row)
}

export async function countTurns(rows: Reading): Promise<number> {
  const [row] = await rows.all(rows.build.selectFrom('turns').select(sql<number>`count(*)`.as('count')))
  return row?.count ?? 0
}

const insertPrompt = statement((db, arg: { hash: string; text: string }) =>
  db
    .insertInto('prompts')
    .values({ hash: arg.hash, text: arg.text })
    .onConflict((conflict) => conflict.column('hash').doNothing()),
)

export function turnFrom(row: TurnRow, parentTurnId: string | null): Turn {
  return {
    id: row.id,
    parentTurnId,
    type: row.type,
    status: row.status,
    queryMessages: JSON.parse(row.query_messages_json),
    responseMessage: JSON.parse(row.response_message_json),
    model: {
      requested: row.model_requested,
      actual: row.model,
      ...(row.model_clamp_json !== null && { clamped: JSON.parse(row.model_clamp_json) }),
    },
    thinkingConfig: row.thinking_config_json === null ? null : JSON.parse(row.thinking_config_json),
    settings: row.settings_json === null ? null : JSON.parse(row.settings_json),
    toolCalls: row.tool_calls_json === '[]' ? [] : JSON.parse(row.tool_calls_json),
    tokenCount: row.token_count,
    usage: {
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      cachedTokens: row.cached_tokens,
      costUsd: row.cost_usd,
      ...(row.unsure_json !== null && (JSON.parse(row.unsure_json) as UnreportedUsage)),
    },
    compaction: row.compaction_json === null ? null : JSON.parse(row.compaction_json),
    promptHash: row.prompt_hash,
    label: { integrity: row.integrity, sources: row.sources_json === '[]' ? [] : JSON.parse(row.sources_json) },
    runId: row.run_id,
    timestamp: row.timestamp,
  }
}

function turnRow(turn: TurnContent): TurnRow {
  return {
    id: turn.id,
    run_id: turn.runId,
    type: turn.type,
    status: turn.status,
    query_messages_json: JSON.stringify(turn.queryMessages),
    response_message_json: JSON.stringify(turn.responseMessage),
    model_requested: turn.model.requested,
    model: turn.model.actual,
    thinking_config_json: turn.thinkingConfig && JSON.stringify(turn.thinkingConfig),
    tool_calls_json: JSON.stringify(turn.toolCalls),
    token_count: turn.tokenCount,
    input_tokens: turn.usage.inputTokens,
    output_tokens: turn.usage.outputTokens,
    cached_tokens: turn.usage.cachedTokens,
    cost_usd: turn.usage.costUsd,
    compaction_json: turn.compaction && JSON.stringify(turn.compaction),
    prompt_hash: turn.promptHash,
    integrity: turn.label.integrity,
    sources_json: JSON.stringify(turn.label.sources),
    timestamp: turn.timestamp,
    unsure_json: unsureJson(turn.usage),
    settings_json: turn.settings && JSON.stringify(turn.settings),
    model_clamp_json: turn.model.clamped ? JSON.stringify(turn.model.clamped) : null,
  }
}

/** Estimated and lost parts of a turn's cost; null when there are none. */
function unsureJson(usage: Usage): string | null {
  const { estimatedInputTokens = 0, estimatedOutputTokens = 0, estimatedUsd = 0 } = usage
  const { lostInputTokens = 0, lostOutputTokens = 0, lostUsd = 0 } = usage
  const unsure: UnreportedUsage = {
    ...{ estimatedInputTokens, estimatedOutputTokens, estimatedUsd },
    ...{ lostInputTokens, lostOutputTokens, lostUsd },
  }
  return Object.values(unsure).every((figure) => figure === 0) ? null : JSON.stringify(unsure)
}

const insert = statement((db, row: TurnRow) =>
  db.insertInto('turns').values({
    id: row.id,
    run_id: row.run_id,
    type: row.type,
    status: row.status,
    query_messages_json: row.query_messages_json,
    response_message_json: row.response_message_json,
    model_requested: row.model_requested,
    model: row.model,
    thinking_config_json: row.thinking_config_json,
    tool_calls_json: row.tool_calls_json,
    token_count: row.token_count,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    cached_tokens: row.cached_tokens,
    cost_usd: row.cost_usd,
    compaction_json: row.compaction_json,
    prompt_hash: row.prompt_hash,
    integrity: row.integrity,
    sources_json: row.sources_json,
    timestamp: row.timestamp,
    unsure_json: row.unsure_json,
    settings_json: row.settings_json,
    model_clamp_json: row.model_clamp_json,
  }),
)
