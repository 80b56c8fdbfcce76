import { userRoles } from '../../domain/access/principal.ts'
import type { Migration } from '../migration.ts'
import { oneOf } from './one-of.ts'

/**
 * On whose behalf rows were written. All earlier ones were written for the owner. The indexes leave out the owner's rows:
 * only others' lists and budgets look for a principal.
 */
export const principals: Migration = {
  id: 21,
  name: 'principals',
  up: ({ int, text, real, sequenceKey, strict }) => [
    `ALTER TABLE inbox ADD COLUMN principal ${text} NOT NULL DEFAULT 'owner'`,
    `ALTER TABLE runs ADD COLUMN principal ${text} NOT NULL DEFAULT 'owner'`,
    `ALTER TABLE sessions ADD COLUMN principal_id ${text} NOT NULL DEFAULT 'owner'`,
    `ALTER TABLE usage ADD COLUMN principal ${text} NOT NULL DEFAULT 'owner'`,
    `ALTER TABLE approvals ADD COLUMN answered_by ${text}`,
    `UPDATE approvals SET answered_by = 'owner' WHERE answer IS NOT NULL`,
    `ALTER TABLE grants ADD COLUMN granted_by ${text} NOT NULL DEFAULT 'owner'`,
    `CREATE INDEX sessions_by_principal ON sessions (principal_id, updated_at) WHERE principal_id <> 'owner'`,
    `CREATE INDEX usage_by_principal ON usage (principal, at, cost_usd) WHERE principal <> 'owner'`,

    `CREATE TABLE users (
      id          ${text} PRIMARY KEY,
      role        ${text} NOT NULL CHECK ${oneOf('role', [...userRoles])},
      trusted     ${int} NOT NULL DEFAULT 0 CHECK (trusted IN (0, 1)),
      tools_json  ${text},
      folder      ${text} NOT NULL,
      per_day_usd ${real},
      created_at  ${int} NOT NULL,
      removed_at  ${int}
    )${strict}`,
    `CREATE TABLE tokens (
      id          ${sequenceKey},
      user_id     ${text} NOT NULL REFERENCES users (id),
      hash        ${text} NOT NULL UNIQUE,
      scopes_json ${text},
      created_at  ${int} NOT NULL,
      expires_at  ${int},
      revoked_at  ${int}
    )${strict}`,
    `CREATE INDEX tokens_by_user ON tokens (user_id)`,
    `CREATE TABLE audit (
      seq       ${sequenceKey},
      at        ${int} NOT NULL,
      principal ${text} NOT NULL,
      action    ${text} NOT NULL,
      resource  ${text},
      outcome   ${text} NOT NULL,
      detail    ${text}
    )${strict}`,
  ],
}
