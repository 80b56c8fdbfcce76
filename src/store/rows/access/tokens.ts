import type { Selectable } from 'kysely'
import type { Token } from '../../../domain/access/user.ts'
import type { Millis } from '../../../domain/clock.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'
import type { Tables } from '../../tables.ts'

/** Inserts a token by its hash and returns its id. */
export async function insertToken(tx: Tx, token: Omit<Token, 'id' | 'revokedAt'> & { hash: string }): Promise<number> {
  const row = await tx.first(
    tx.build
      .insertInto('tokens')
      .values({
        kind: token.kind,
        user_id: token.userId,
        hash: token.hash,
        scopes_json: token.scopes && JSON.stringify(token.scopes),
        created_at: token.createdAt,
        expires_at: token.expiresAt,
        revoked_at: null,
      })
      .returning('id'),
  )
  return Number(row?.id)
}

/** The token with this hash, revoked and expired ones included. */
export async function findToken(rows: Reading, hash: string): Promise<Token | undefined> {
  const row = await rows.first(byHash({ hash }))
  return row && tokenFrom(row)
}

/** All tokens and signed-in browsers, newest first; codes of links are left out. */
export async function listTokens(rows: Reading): Promise<Token[]> {
  const query = rows.build.selectFrom('tokens').selectAll().where('kind', '<>', 'link').orderBy('id', 'desc')
  return (await rows.all(query)).map(tokenFrom)
}

/** Deletes the link with this hash and returns it: of several who use it at once, one gets it. */
export async function takeLink(tx: Tx, hash: string): Promise<Token | undefined> {
  const query = tx.build.deleteFrom('tokens').where('hash', '=', hash).where('kind', '=', 'link').returningAll()
  const row = await tx.first(query)
  return row && tokenFrom(row)
}

/** Deletes links that were never used. */
export async function deleteExpiredLinks(tx: Tx, now: Millis): Promise<void> {
  await tx.run(tx.build.deleteFrom('tokens').where('kind', '=', 'link').where('expires_at', '<=', now))
}

/** Revokes a token; false if there is none or it was revoked before. */
export async function revokeToken(tx: Tx, id: number, at: Millis): Promise<boolean> {
  const query = tx.build.updateTable('tokens').set({ revoked_at: at }).where('id', '=', id)
  return (await tx.run(query.where('revoked_at', 'is', null))) === 1
}

/** Revokes all tokens of a user and returns how many. */
export async function revokeTokensOf(tx: Tx, userId: string, at: Millis): Promise<number> {
  const query = tx.build.updateTable('tokens').set({ revoked_at: at }).where('user_id', '=', userId)
  return tx.run(query.where('revoked_at', 'is', null))
}

const byHash = statement((db, arg: { hash: string }) =>
  db.selectFrom('tokens').selectAll().where('hash', '=', arg.hash),
)

function tokenFrom(row: Selectable<Tables['tokens']>): Token {
  return {
    id: row.id,
    kind: row.kind,
    userId: row.user_id,
    scopes: row.scopes_json === null ? null : JSON.parse(row.scopes_json),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }
}
