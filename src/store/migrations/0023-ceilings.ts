import type { Migration } from '../migration.ts'

/**
 * The most that a run and everything below it may have, set at each claim and only narrowed; `{}` limits nothing. Why a turn
 * was not answered by the model that was asked for.
 */
export const ceilings: Migration = {
  id: 23,
  name: 'ceilings',
  up: ({ text }) => [
    `ALTER TABLE runs ADD COLUMN ceiling_json ${text} NOT NULL DEFAULT '{}'`,
    `ALTER TABLE turns ADD COLUMN model_clamp_json ${text}`,
  ],
}
