import type { Selectable } from 'kysely'
import type { User } from '../../../domain/access/user.ts'
import type { Millis } from '../../../domain/clock.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'
import type { Tables } from '../../tables.ts'

type UserRow = Selectable<Tables['users']>

/** The user, removed or not. */
export async function findUser(rows: Reading, id: string): Promise<User | undefined> {
  const row = await rows.first(byId({ id }))
  return row && userFrom(row)
}

/** Users that were not removed, by id. */
export async function listUsers(rows: Reading): Promise<User[]> {
  const query = rows.build.selectFrom('users').selectAll().where('removed_at', 'is', null).orderBy('id')
  return (await rows.all(query)).map(userFrom)
}

/** Inserts a user; false if there is one with this id, removed or not. */
export async function insertUser(tx: Tx, user: User): Promise<boolean> {
  const query = tx.build.insertInto('users').values(userRow(user))
  return (await tx.run(query.onConflict((conflict) => conflict.column('id').doNothing()))) > 0
}

/** Replaces all that is known of a user. */
export async function updateUser(tx: Tx, user: User): Promise<void> {
  const { id, ...columns } = userRow(user)
  await tx.run(tx.build.updateTable('users').set(columns).where('id', '=', id))
}

/** Marks a user as removed: the row stays, since sessions, runs and the audit name it. */
export async function removeUser(tx: Tx, id: string, at: Millis): Promise<void> {
  await tx.run(tx.build.updateTable('users').set({ removed_at: at }).where('id', '=', id))
}

const byId = statement((db, arg: { id: string }) => db.selectFrom('users').selectAll().where('id', '=', arg.id))

function userRow(user: User): UserRow {
  return {
    id: user.id,
    role: user.role,
    trusted: user.isTrusted ? 1 : 0,
    tools_json: user.tools && JSON.stringify(user.tools),
    folder: user.folder,
    per_day_usd: user.perDayUsd,
    created_at: user.createdAt,
    removed_at: user.removedAt,
  }
}

function userFrom(row: UserRow): User {
  return {
    id: row.id,
    role: row.role,
    isTrusted: row.trusted === 1,
    tools: row.tools_json === null ? null : JSON.parse(row.tools_json),
    folder: row.folder,
    perDayUsd: row.per_day_usd,
    createdAt: row.created_at,
    removedAt: row.removed_at,
  }
}
