import type { Migration } from '../migration.ts'

/** Which version of which profile a run has, and why it has another model than the one that was asked for. */
export const runProfiles: Migration = {
  id: 33,
  name: 'run-profiles',
  up: ({ int, text }) => [
    `ALTER TABLE runs ADD COLUMN profile_id ${text}`,
    `ALTER TABLE runs ADD COLUMN profile_version ${int}
      CHECK ((profile_id IS NULL) = (profile_version IS NULL))`,
    `ALTER TABLE runs ADD COLUMN model_clamp_json ${text}`,
    // So far only the turn of a run said why.
    `UPDATE runs SET model_clamp_json = turns.model_clamp_json FROM turns
      WHERE turns.run_id = runs.id AND turns.model_clamp_json IS NOT NULL`,
  ],
}
