import type { Migration } from '../migration.ts'

/** Requests with a key of their sender's, and the answer that each was given; null while it is under way. */
export const idempotency: Migration = {
  id: 22,
  name: 'idempotency',
  up: ({ int, text, strict }) => [
    `CREATE TABLE idempotency (
      principal    ${text} NOT NULL,
      key          ${text} NOT NULL,
      request_hash ${text} NOT NULL,
      answer_json  ${text},
      at           ${int} NOT NULL,
      PRIMARY KEY (principal, key)
    )${strict}`,
    `CREATE INDEX idempotency_by_age ON idempotency (at)`,
  ],
}
