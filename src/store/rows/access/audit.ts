import type { Selectable } from 'kysely'
import type { Reading, Tx } from '../../store.ts'
import type { Tables } from '../../tables.ts'
import type { PageQuery } from '../session-lists.ts'

type AuditRow = Selectable<Tables['audit']>

/** Inserts a line and returns its number. */
export async function insertAudit(tx: Tx, line: Omit<AuditRow, 'seq'>): Promise<number> {
  const row = await tx.first(tx.build.insertInto('audit').values(line).returning('seq'))
  return Number(row?.seq)
}

/** Sets what came of an action. */
export async function setAuditOutcome(tx: Tx, seq: number, outcome: string): Promise<void> {
  await tx.run(tx.build.updateTable('audit').set({ outcome }).where('seq', '=', seq))
}

/** Removes the line of a change that was not made. */
export async function deleteAudit(tx: Tx, seq: number): Promise<void> {
  await tx.run(tx.build.deleteFrom('audit').where('seq', '=', seq))
}

/** The newest lines, newest first; `after` is the number of one, and older ones follow it. */
export async function listAudit(rows: Reading, { limit, after }: PageQuery<number>): Promise<AuditRow[]> {
  const query = rows.build.selectFrom('audit').selectAll().orderBy('seq', 'desc').limit(limit)
  return rows.all(after === undefined ? query : query.where('seq', '<', after))
}
