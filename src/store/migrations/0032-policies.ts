import type { Migration } from '../migration.ts'
import { oneOf } from './one-of.ts'

/** Profiles, the registry of agents and pins: one record each, with every version that it had. */
export const policies: Migration = {
  id: 32,
  name: 'policies',
  up: ({ int, text, strict }) => [
    `CREATE TABLE policies (
      resource_type ${text} NOT NULL CHECK ${oneOf('resource_type', ['policy', 'profile'])},
      resource_id   ${text} NOT NULL,
      version       ${int} NOT NULL CHECK (version > 0),
      value_json    ${text} NOT NULL,
      updated_at    ${int} NOT NULL,
      updated_by    ${text} NOT NULL,
      PRIMARY KEY (resource_type, resource_id)
    )${strict}`,
    // A version without a value is a removal.
    `CREATE TABLE policy_versions (
      resource_type ${text} NOT NULL,
      resource_id   ${text} NOT NULL,
      version       ${int} NOT NULL,
      value_json    ${text},
      at            ${int} NOT NULL,
      by_principal  ${text} NOT NULL,
      PRIMARY KEY (resource_type, resource_id, version)
    )${strict}`,
  ],
}
