import type { Migration } from '../migration.ts'

/** Few plans are refused: whether one was needs no look at all approvals. */
export const indexOfRefusedPlans: Migration = {
  id: 40,
  name: 'refused-plans',
  up: () => [`CREATE INDEX approvals_refused_plans ON approvals (run_id) WHERE tool = 'run_project' AND answer = 'no'`],
}
