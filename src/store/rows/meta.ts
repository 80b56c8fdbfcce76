import type { Reading, Tx } from '../store.ts'

/** Reads a fact about the database itself. */
export async function metaValue(rows: Reading, key: MetaKey): Promise<string | undefined> {
  return (await rows.first(rows.build.selectFrom('meta').select('value').where('key', '=', key)))?.value
}

/** Sets the id of the database, unless another process already has: event cursors are valid in one database only. */
export async function setDatabaseId(tx: Tx, id: string): Promise<void> {
  await tx.run(
    tx.build
      .insertInto('meta')
      .values({ key: 'database_id', value: id })
      .onConflict((conflict) => conflict.column('key').doNothing()),
  )
}

export async function setMeta(tx: Tx, key: MetaKey, value: string): Promise<void> {
  await tx.run(
    tx.build
      .insertInto('meta')
      .values({ key, value })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ value })),
  )
}

export async function clearMeta(tx: Tx, key: MetaKey): Promise<void> {
  await tx.run(tx.build.deleteFrom('meta').where('key', '=', key))
}

export type MetaKey =
  | 'database_id'
  | 'events_floor'
  | 'tails_before'
  | 'replaced_to_review'
  | 'words_to_fold'
  | 'jobs_held'
  | 'policies_shipped'
