import type { Millis } from '../../domain/clock.ts'
import { firstIdAt } from '../../domain/id.ts'
import type { Message } from '../../domain/message.ts'
import type { Outcome } from '../../domain/run.ts'
import { statement } from '../statement.ts'
import type { Reading } from '../store.ts'
import type { OwnedBy } from './access/own-sessions.ts'

/** Last answered model call of a run: the model and its input tokens. */
export async function lastAnsweredCall(
  rows: Reading,
  runId: string,
): Promise<{ model: string; inputTokens: number } | undefined> {
  const row = await rows.first(lastAnsweredOf({ runId }))
  return row && { model: row.model, inputTokens: row.input_tokens }
}

/** A turn of a finished request, with its session. */
interface FinishedTurn {
  turnId: string
  runId: string
  session: string
  status: Outcome
  /** The user's message, or the answer if there is none. */
  about: string
  at: Millis
}

/**
 * Newest turns of requests in a folder since a time, oldest first. Leaves out hand-made, imported and narrator turns and
 * those of child agents.
 */
export async function turnsFinishedSince(
  rows: Reading,
  { folder, since, limit, principal }: OwnedBy & { folder: string; since: Millis; limit: number },
): Promise<FinishedTurn[]> {
  const turns = rows.build
    .selectFrom('turns')
    .innerJoin('runs', 'runs.id', 'turns.run_id')
    .innerJoin('sessions', 'sessions.id', 'runs.session_id')
    .select(['turns.id', 'turns.run_id', 'turns.status', 'turns.timestamp'])
    .select(['turns.query_messages_json', 'turns.response_message_json'])
    .select('sessions.label')
    // Ids begin with their time: the range finds the newest by the primary key.
    .where('turns.id', '>', firstIdAt(since))
    .where('turns.timestamp', '>', since)
    .where('runs.kind', '<>', 'import')
    .where('runs.lane', '<>', 'background')
    .where('runs.depth', '=', 0)
    .where('sessions.folder', '=', folder)
    .orderBy('turns.id', 'desc')
    .limit(limit)
  const found = await rows.all(principal === undefined ? turns : turns.where('sessions.principal_id', '=', principal))
  return found.reverse().map((row) => ({
    turnId: row.id,
    runId: row.run_id,
    session: row.label,
    status: row.status,
    about: aboutOf(JSON.parse(row.query_messages_json), JSON.parse(row.response_message_json)),
    at: row.timestamp,
  }))
}

function aboutOf(query: Message[], response: Message): string {
  return (query.find(({ source }) => source === 'human') ?? response).content
}

const lastAnsweredOf = statement((db, arg: { runId: string }) =>
  db
    .selectFrom('usage')
    .select(['model', 'input_tokens'])
    .where('run_id', '=', arg.runId)
    // A partial reply counts as well, but complete ones come first.
    .where('state', 'in', ['spent', 'estimated'])
    .orderBy('state', 'desc')
    .orderBy('call', 'desc')
    .limit(1),
)
