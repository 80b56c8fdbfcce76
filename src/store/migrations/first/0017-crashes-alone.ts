import type { Migration } from '../../migration.ts'

/** Crashes that count towards quarantine. Earlier crashes all count. */
export const crashesAlone: Migration = {
  id: 17,
  name: 'crashes_alone',
  up: ({ int }) => [
    `ALTER TABLE runs ADD COLUMN crashes_alone ${int} NOT NULL DEFAULT 0`,
    `UPDATE runs SET crashes_alone = crashes WHERE crashes > 0`,
  ],
}
