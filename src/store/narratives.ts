import type { Selectable } from 'kysely'
import type { Millis } from '../domain/clock.ts'
import type { Label } from '../domain/label.ts'
import type { Reading, Tx } from './store.ts'
import type { Tables } from './tables.ts'

/** Where a line of work stands, told in a few sentences; each goes on from the one before. */
export interface Narrative {
  id: number
  summary: string
  topic: string | null
  folder: string
  /** The session it tells of, and the last turn of it; null where nobody noted that. */
  sessionId: string | null
  memoryIds: number[]
  previousId: number | null
  runId: string | null
  turnId: string | null
  label: Label
  createdAt: Millis
}

export async function insertNarrative(tx: Tx, narrative: Omit<Narrative, 'id'>): Promise<number> {
  const row = await tx.first(
    tx.build
      .insertInto('narratives')
      .values({
        summary: narrative.summary,
        topic: narrative.topic,
        folder: narrative.folder,
        session_id: narrative.sessionId,
        memory_ids: JSON.stringify(narrative.memoryIds),
        previous_narrative_id: narrative.previousId,
        run_id: narrative.runId,
        turn_id: narrative.turnId,
        integrity: narrative.label.integrity,
        sources_json: JSON.stringify(narrative.label.sources),
        created_at: narrative.createdAt,
      })
      .returning('id'),
  )
  const id = Number(row?.id)
  if (narrative.memoryIds.length > 0)
    await tx.run(
      tx.build
        .updateTable('memories')
        .set({ narrative_id: id })
        .where('id', 'in', narrative.memoryIds)
        .where('narrative_id', 'is', null),
    )
  return id
}

export async function findNarrative(rows: Reading, id: number): Promise<Narrative | undefined> {
  const row = await rows.first(rows.build.selectFrom('narratives').selectAll().where('id', '=', id))
  return row && narrativeFrom(row)
}

/** The newest of a folder; of a topic, if one is named. */
export async function latestNarrative(rows: Reading, folder: string, topic?: string): Promise<Narrative | undefined> {
  let query = rows.build
    .selectFrom('narratives')
    .selectAll()
    .where('folder', '=', folder)
    .orderBy('id', 'desc')
    .limit(1)
  if (topic !== undefined) query = query.where('topic', '=', topic)
  const row = await rows.first(query)
  return row && narrativeFrom(row)
}

/** The newest that tells of a session. */
export async function latestOfSession(rows: Reading, sessionId: string): Promise<Narrative | undefined> {
  const query = rows.build.selectFrom('narratives').selectAll().where('session_id', '=', sessionId)
  const row = await rows.first(query.orderBy('id', 'desc').limit(1))
  return row && narrativeFrom(row)
}

/** Runs that write one in a folder, or will as soon as there is room: not one that waits for something. */
export async function narratingIn(rows: Reading, folder: string, label?: string): Promise<string[]> {
  let query = rows.build
    .selectFrom('runs')
    .innerJoin('sessions', 'sessions.id', 'runs.session_id')
    .select('runs.id')
    .where('runs.finished_at', 'is', null)
    .where('runs.state', '<>', 'waiting')
    .where('runs.via', '=', 'narrator')
    .where('sessions.folder', '=', folder)
  if (label !== undefined) query = query.where('sessions.label', '=', label)
  return (await rows.all(query)).map(({ id }) => id)
}

/** Those of a folder, newest first. */
export async function listNarratives(rows: Reading, folder: string, limit: number): Promise<Narrative[]> {
  const query = rows.build.selectFrom('narratives').selectAll().where('folder', '=', folder)
  return (await rows.all(query.orderBy('id', 'desc').limit(limit))).map(narrativeFrom)
}

/** Notes that a run began with it. */
export async function noteBegunWith(tx: Tx, runId: string, narrativeId: number): Promise<void> {
  await tx.run(
    tx.build
      .insertInto('narrative_recalls')
      .values({ run_id: runId, narrative_id: narrativeId })
      .onConflict((taken) => taken.column('run_id').doNothing()),
  )
}

/** The one that a run began with. */
export async function begunWith(rows: Reading, runId: string): Promise<Narrative | undefined> {
  const row = await rows.first(
    rows.build
      .selectFrom('narratives')
      .innerJoin('narrative_recalls', 'narrative_recalls.narrative_id', 'narratives.id')
      .selectAll('narratives')
      .where('narrative_recalls.run_id', '=', runId),
  )
  return row && narrativeFrom(row)
}

/** Narratives that cite a memory. */
export async function narrativesCiting(rows: Reading, memoryId: number): Promise<number[]> {
  const likely = await rows.all(
    rows.build.selectFrom('narratives').select(['id', 'memory_ids']).where('memory_ids', 'like', `%${memoryId}%`),
  )
  return likely.filter(({ memory_ids }) => JSON.parse(memory_ids).includes(memoryId)).map(({ id }) => id)
}

function narrativeFrom(row: Selectable<Tables['narratives']>): Narrative {
  return {
    id: row.id,
    summary: row.summary,
    topic: row.topic,
    folder: row.folder,
    sessionId: row.session_id,
    memoryIds: JSON.parse(row.memory_ids),
    previousId: row.previous_narrative_id,
    runId: row.run_id,
    turnId: row.turn_id,
    label: { integrity: row.integrity, sources: JSON.parse(row.sources_json) },
    createdAt: row.created_at,
  }
}
