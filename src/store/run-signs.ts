import { sql } from 'kysely'
import type { Millis } from '../domain/clock.ts'
import { firstIdAt } from '../domain/id.ts'
import type { Message } from '../domain/message.ts'
import type { Outcome } from '../domain/run.ts'
import { statement } from './statement.ts'
import type { Reading } from './store.ts'

/** When a run last wrote something down: a step, what a call costs, or that it waits. */
export async function lastSign(rows: Reading, runId: string): Promise<Millis | undefined> {
  const signs = [
    await rows.first(lastStep({ runId })),
    await rows.first(lastCall({ runId })),
    await rows.first(lastPause({ subject: `run:${runId}` })),
  ].flatMap((sign) => sign?.at ?? [])
  return signs.length === 0 ? undefined : Math.max(...signs)
}

/** The last call of a run that was answered: by which model, and how much it was given to read. */
export async function lastAnswered(
  rows: Reading,
  runId: string,
): Promise<{ model: string; inputTokens: number } | undefined> {
  const row = await rows.first(answeredOf({ runId }))
  return row && { model: row.model, inputTokens: row.input_tokens }
}

/** A turn that a run left, and where. */
export interface LeftTurn {
  turnId: string
  runId: string
  session: string
  status: Outcome
  /** What a person asked for, else what was answered. */
  about: string
  at: Millis
}

/**
 * The last turns that requests left in a folder since a moment, oldest first. Hand-made and imported ones are nobody's
 * work, and those of agents that worked for others are part of another's.
 */
export async function turnsLeftSince(rows: Reading, folder: string, since: Millis, limit: number): Promise<LeftTurn[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('turns')
      .innerJoin('runs', 'runs.id', 'turns.run_id')
      .innerJoin('sessions', 'sessions.id', 'runs.session_id')
      .select(['turns.id', 'turns.run_id', 'turns.status', 'turns.timestamp'])
      .select(['turns.query_messages_json', 'turns.response_message_json'])
      .select('sessions.label')
      // Ids begin with their time: the newest are found without looking at the rest.
      .where('turns.id', '>', firstIdAt(since))
      .where('turns.timestamp', '>', since)
      .where('runs.kind', '<>', 'import')
      .where('runs.via', '<>', 'narrator')
      .where('runs.depth', '=', 0)
      .where('sessions.folder', '=', folder)
      .orderBy('turns.id', 'desc')
      .limit(limit),
  )
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

const answeredOf = statement((db, arg: { runId: string }) =>
  db
    .selectFrom('usage')
    .select(['model', 'input_tokens'])
    .where('run_id', '=', arg.runId)
    // One that broke off has answered, too, unless another did so wholly.
    .where('state', 'in', ['spent', 'estimated'])
    .orderBy('state', 'desc')
    .orderBy('call', 'desc')
    .limit(1),
)

const lastStep = statement((db, arg: { runId: string }) =>
  db.selectFrom('steps').select('at').where('run_id', '=', arg.runId).orderBy('seq', 'desc').limit(1),
)

const lastCall = statement((db, arg: { runId: string }) =>
  db.selectFrom('usage').select('at').where('run_id', '=', arg.runId).orderBy('call', 'desc').limit(1),
)

const lastPause = statement((db, arg: { subject: string }, { events }) =>
  db
    .selectFrom('events')
    .select('at')
    .where('subject', '=', arg.subject)
    // As the index has it.
    .where(sql<boolean>`kind IN ('run.waiting', 'run.fallback')`)
    .orderBy(events.newestFirst)
    .limit(1),
)
