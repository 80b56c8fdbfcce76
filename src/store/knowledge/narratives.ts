import type { Selectable } from 'kysely'
import type { Millis } from '../../domain/clock.ts'
import type { Label } from '../../domain/label.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import { insertNarrativeTasks } from './narrative-tasks.ts'

/** Summary of where a line of work stands; each continues the previous one. */
export interface Narrative {
  id: number
  summary: string
  topic: string | null
  folder: string
  /** Session that it summarizes; null in the oldest rows. */
  sessionId: string | null
  memoryIds: number[]
  previousId: number | null
  runId: string | null
  turnId: string | null
  label: Label
  createdAt: Millis
}

/** Inserts a narrative with links to the memories that it is based on and the tasks that it tells of. */
export async function insertNarrative(
  tx: Tx,
  narrative: Omit<Narrative, 'id'> & { taskIds?: readonly number[] },
): Promise<number> {
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
    for (const table of ['memories', 'memories_archive'] as const)
      await tx.run(
        tx.build
          // Both have the same columns.
          .updateTable(table as 'memories')
          .set({ narrative_id: id })
          .where('id', 'in', narrative.memoryIds)
          .where('narrative_id', 'is', null),
      )
  await insertNarrativeTasks(tx, id, narrative.taskIds ?? [])
  return id
}

export async function findNarrative(rows: Reading, id: number): Promise<Narrative | undefined> {
  const row = await rows.first(rows.build.selectFrom('narratives').selectAll().where('id', '=', id))
  return row && narrativeFrom(row)
}

/** Newest narrative of a folder, optionally of one topic. */
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

/** Newest narrative of a session. */
export async function latestOfSession(rows: Reading, sessionId: string): Promise<Narrative | undefined> {
  const query = rows.build.selectFrom('narratives').selectAll().where('session_id', '=', sessionId)
  const row = await rows.first(query.orderBy('id', 'desc').limit(1))
  return row && narrativeFrom(row)
}

/** Narrator runs of a folder, or for one of its sessions, that are queued or running, not waiting. */
export async function activeNarratorRunIds(rows: Reading, folder: string, sessionId?: string): Promise<string[]> {
  let query = rows.build
    .selectFrom('runs')
    .innerJoin('sessions', 'sessions.id', 'runs.session_id')
    .select('runs.id')
    .where('runs.finished_at', 'is', null)
    .where('runs.state', '<>', 'waiting')
    .where('runs.via', '=', 'narrator')
    .where('sessions.folder', '=', folder)
  if (sessionId !== undefined) query = query.where('sessions.narrates_id', '=', sessionId)
  return (await rows.all(query)).map(({ id }) => id)
}

/** Narratives of a folder, newest first. */
export async function listNarratives(
  rows: Reading,
  folder: string,
  limit: number,
  { trustedOnly = false } = {},
): Promise<Narrative[]> {
  const all = rows.build.selectFrom('narratives').selectAll().where('folder', '=', folder)
  const query = trustedOnly ? all.where('integrity', '=', 'trusted') : all
  return (await rows.all(query.orderBy('id', 'desc').limit(limit))).map(narrativeFrom)
}

/** Records that a run was given this narrative. */
export async function recordNarrativeRecall(tx: Tx, runId: string, narrativeId: number): Promise<void> {
  await tx.run(
    tx.build
      .insertInto('narrative_recalls')
      .values({ run_id: runId, narrative_id: narrativeId })
      .onConflict((taken) => taken.column('run_id').doNothing()),
  )
}

/** Narrative that a run was given. */
export async function narrativeRecalledBy(rows: Reading, runId: string): Promise<Narrative | undefined> {
  const row = await rows.first(
    rows.build
      .selectFrom('narratives')
      .innerJoin('narrative_recalls', 'narrative_recalls.narrative_id', 'narratives.id')
      .selectAll('narratives')
      .where('narrative_recalls.run_id', '=', runId),
  )
  return row && narrativeFrom(row)
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
