import type { Migration } from '../migration.ts'
import { compatibilityViewQueries, modelOfSubagent } from './compatibility-view-queries.ts'

/** The view `subagent_runs` tells the model that was used, not only one that was asked for. */
export const modelsOfSubagents: Migration = {
  id: 34,
  name: 'models-of-subagents',
  up: () => [],
  views: (types) => compatibilityViewQueries(types, { label: 'first.title', model: modelOfSubagent }),
}
