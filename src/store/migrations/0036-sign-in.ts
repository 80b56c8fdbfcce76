import { tokenKinds } from '../../domain/access/user.ts'
import type { ColumnTypes } from '../dialect.ts'
import type { Migration } from '../migration.ts'
import { oneOf } from './one-of.ts'

/** Kinds of tokens: those that people hand to programs, one-time codes of links, and signed-in browsers. The owner has them, too. */
export const kindsOfTokens: Migration = {
  id: 36,
  name: 'sign_in',
  up: (types) => (types.altersColumns ? alterTable(types) : rebuildTable(types)),
}

const kindColumn = ({ text }: ColumnTypes) =>
  `kind ${text} NOT NULL DEFAULT 'token' CHECK ${oneOf('kind', [...tokenKinds])}`

function alterTable(types: ColumnTypes): string[] {
  return [`ALTER TABLE tokens ALTER COLUMN user_id DROP NOT NULL`, `ALTER TABLE tokens ADD COLUMN ${kindColumn(types)}`]
}

function rebuildTable(types: ColumnTypes): string[] {
  const { int, text, sequenceKey, strict } = types
  const columns = 'id, user_id, hash, scopes_json, created_at, expires_at, revoked_at'
  return [
    `CREATE TABLE tokens_with_kinds (
      id          ${sequenceKey},
      user_id     ${text} REFERENCES users (id),
      hash        ${text} NOT NULL UNIQUE,
      scopes_json ${text},
      created_at  ${int} NOT NULL,
      expires_at  ${int},
      revoked_at  ${int},
      ${kindColumn(types)}
    )${strict}`,
    `INSERT INTO tokens_with_kinds (${columns}) SELECT ${columns} FROM tokens`,
    `DROP TABLE tokens`,
    `ALTER TABLE tokens_with_kinds RENAME TO tokens`,
    `CREATE INDEX tokens_by_user ON tokens (user_id)`,
  ]
}
