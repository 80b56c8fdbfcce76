import type { InboxItem } from '../../../domain/inbox.ts'
import type { Message } from '../../../domain/message.ts'
import type { Step } from '../../../domain/run.ts'
import type { Reading, Tx } from '../../store.ts'

/** A turn's texts, in the segment that its session wrote. */
interface TurnTexts {
  id: string
  runId: string
  query: Message[]
  response: Message
  /** Hash of a prompt that only this session's runs have; null for one that others share. */
  ownPrompt: string | null
}

/** The texts of all turns of a segment. Sub-agents have prompts of their own, since these name their session. */
export async function readTexts(rows: Reading, segmentId: string): Promise<TurnTexts[]> {
  const found = await rows.all(
    rows.build
      .selectFrom('threads')
      .innerJoin('turns', 'turns.id', 'threads.turn_id')
      .innerJoin('runs', 'runs.id', 'turns.run_id')
      .select(['turns.id', 'turns.run_id', 'turns.query_messages_json', 'turns.response_message_json'])
      .select(['turns.prompt_hash', 'runs.share_mode'])
      .where('threads.segment_id', '=', segmentId)
      .orderBy('threads.depth'),
  )
  return found.map((row) => ({
    id: row.id,
    runId: row.run_id,
    query: JSON.parse(row.query_messages_json),
    response: JSON.parse(row.response_message_json),
    ownPrompt: row.share_mode === null ? null : row.prompt_hash,
  }))
}

/** Replaces the texts of a turn. The one exception to the rule that a turn never changes. */
export async function replaceTexts(tx: Tx, turn: Pick<TurnTexts, 'id' | 'query' | 'response'>): Promise<void> {
  await tx.run(
    tx.build
      .updateTable('turns')
      .set({
        query_messages_json: JSON.stringify(turn.query),
        response_message_json: JSON.stringify(turn.response),
      })
      .where('id', '=', turn.id),
  )
}

export async function replaceStep(tx: Tx, { runId, seq, payload }: Step): Promise<void> {
  const now = { payload_json: JSON.stringify(payload) }
  await tx.run(tx.build.updateTable('steps').set(now).where('run_id', '=', runId).where('seq', '=', seq))
}

/** Replaces the content of an answered input; its attachments go. */
export async function replaceInput(
  tx: Tx,
  { id, toolCallId, options }: Pick<InboxItem, 'id' | 'toolCallId' | 'options'>,
  content: string,
): Promise<void> {
  const payload = JSON.stringify({
    content,
    parts: [],
    wishes: options,
    ...(toolCallId !== undefined && { toolCallId }),
  })
  await tx.run(tx.build.updateTable('inbox').set({ payload_json: payload }).where('id', '=', id))
}

export async function replacePrompt(tx: Tx, hash: string, text: string): Promise<void> {
  await tx.run(tx.build.updateTable('prompts').set({ text }).where('hash', '=', hash))
}
