import type { Millis } from '../../../domain/clock.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'

/** A request as its sender can name it again. */
export interface KeyedRequest {
  /** Text form of the principal. */
  principal: string
  key: string
  /** Hash of the whole request. */
  hash: string
}

/** A request that came before, with its answer; null if it was begun and its answer is not known. */
export interface EarlierRequest {
  hash: string
  answerJson: string | null
}

export async function findRequest(
  rows: Reading,
  { principal, key }: KeyedRequest,
): Promise<EarlierRequest | undefined> {
  const row = await rows.first(byKey({ principal, key }))
  return row && { hash: row.request_hash, answerJson: row.answer_json }
}

/** Stores a request, with its answer once that is known. False if there is one with this key already. */
export async function insertRequest(
  tx: Tx,
  { principal, key, hash }: KeyedRequest,
  answerJson: string | null,
  at: Millis,
): Promise<boolean> {
  const row = { principal, key, request_hash: hash, answer_json: answerJson, at }
  const query = tx.build.insertInto('idempotency').values(row)
  return (await tx.run(query.onConflict((conflict) => conflict.columns(['principal', 'key']).doNothing()))) > 0
}

export async function setAnswer(tx: Tx, { principal, key }: KeyedRequest, answerJson: string): Promise<void> {
  const query = tx.build.updateTable('idempotency').set({ answer_json: answerJson })
  await tx.run(query.where('principal', '=', principal).where('key', '=', key))
}

/** Frees the key of a request that was refused: it did nothing, and may be sent again. */
export async function deleteRequest(tx: Tx, { principal, key }: KeyedRequest): Promise<void> {
  await tx.run(tx.build.deleteFrom('idempotency').where('principal', '=', principal).where('key', '=', key))
}

export async function pruneRequests(tx: Tx, before: Millis): Promise<void> {
  await tx.run(tx.build.deleteFrom('idempotency').where('at', '<', before))
}

const byKey = statement((db, arg: { principal: string; key: string }) =>
  db
    .selectFrom('idempotency')
    .select(['request_hash', 'answer_json'])
    .where('principal', '=', arg.principal)
    .where('key', '=', arg.key),
)
