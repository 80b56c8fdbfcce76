import type { Migration } from '../migration.ts'

/**
 * The step that begins an unsafe call names the folder in which it may change files, until its end is journalled with all
 * its changes recorded: whatever runs, was interrupted or was not surveyed is found by its folder.
 */
export const commandsWithoutSurvey: Migration = {
  id: 38,
  name: 'unsurveyed-commands',
  up: ({ json }) => [
    `CREATE INDEX steps_unsurveyed ON steps (touched_folder, at) WHERE kind = 'begun' AND touched_folder IS NOT NULL`,
    `UPDATE steps SET touched_folder = (
       SELECT sessions.folder FROM runs JOIN sessions ON sessions.id = runs.session_id WHERE runs.id = steps.run_id
     )
     WHERE kind = 'begun' AND ${json('payload_json')} ->> 'effect' = 'unsafe'
       AND run_id IN (SELECT id FROM runs WHERE state <> 'completed')
       AND NOT EXISTS (
         SELECT 1 FROM steps AS ended
         WHERE ended.run_id = steps.run_id AND ended.kind = 'ended'
           AND ${json('ended.payload_json')} ->> 'id' = ${json('steps.payload_json')} ->> 'id'
       )`,
  ],
}
