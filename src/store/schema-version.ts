import { HeddleError } from '../domain/errors.ts'
import type { Migration } from './migration.ts'
import { principals } from './migrations/0021-principals.ts'
import { idempotency } from './migrations/0022-idempotency.ts'
import { ceilings } from './migrations/0023-ceilings.ts'
import { compatibilityViews } from './migrations/0024-compatibility-views.ts'
import { untrustedFiles } from './migrations/0025-untrusted-files.ts'
import { threadConfig } from './migrations/0026-thread-config.ts'
import { jobs } from './migrations/0027-jobs.ts'
import { outbox } from './migrations/0028-outbox.ts'
import { subagents } from './migrations/0029-subagents.ts'
import { sessionsByKind } from './migrations/0030-sessions-by-kind.ts'
import { searchTables } from './migrations/0031-search.ts'
import { policies } from './migrations/0032-policies.ts'
import { runProfiles } from './migrations/0033-run-profiles.ts'
import { modelsOfSubagents } from './migrations/0034-models-of-subagents.ts'
import { foldedWords } from './migrations/0035-folded-words.ts'
import { kindsOfTokens } from './migrations/0036-sign-in.ts'
import { commandChanges } from './migrations/0037-command-changes.ts'
import { commandsWithoutSurvey } from './migrations/0038-unsurveyed-commands.ts'
import { indexOfFailedRuns } from './migrations/0039-failed-runs.ts'
import { indexOfRefusedPlans } from './migrations/0040-refused-plans.ts'
import { narrowIndexes } from './migrations/0041-narrow-indexes.ts'
import { foundFiles } from './migrations/0042-found-files.ts'
import { lineHashes } from './migrations/0043-line-hashes.ts'
import { saidAgain } from './migrations/0044-said-again.ts'
import { fileIdentities } from './migrations/0045-file-identities.ts'
import { splitCapitals } from './migrations/0046-split-capitals.ts'
import { tree } from './migrations/first/0001-tree.ts'
import { runs } from './migrations/first/0002-runs.ts'
import { compaction } from './migrations/first/0003-compaction.ts'
import { inboxOrder } from './migrations/first/0004-inbox-order.ts'
import { approvalsAndFileChanges } from './migrations/first/0005-approvals-and-file-changes.ts'
import { plans } from './migrations/first/0006-plans.ts'
import { memory } from './migrations/first/0007-memory.ts'
import { requestTotals } from './migrations/first/0008-request-totals.ts'
import { narrator } from './migrations/first/0009-narrator.ts'
import { lookupIndexes } from './migrations/first/0010-lookup-indexes.ts'
import { homeFileTables } from './migrations/first/0011-home-files.ts'
import { memoryVectorTables } from './migrations/first/0012-memory-vectors.ts'
import { approvals } from './migrations/first/0013-approvals.ts'
import { clientKeys } from './migrations/first/0014-client-keys.ts'
import { replacedMemories } from './migrations/first/0015-replaced-memories.ts'
import { money } from './migrations/first/0016-money.ts'
import { crashesAlone } from './migrations/first/0017-crashes-alone.ts'
import { assumedPrices } from './migrations/first/0018-assumed-prices.ts'
import { runOptionsAndLanes } from './migrations/first/0019-run-options-and-lanes.ts'
import { kindsAndScopes } from './migrations/first/0020-kinds-and-scopes.ts'

/** All migrations, in order. */
export const migrations: readonly Migration[] = [
  tree,
  runs,
  compaction,
  inboxOrder,
  approvalsAndFileChanges,
  plans,
  memory,
  requestTotals,
  narrator,
  lookupIndexes,
  homeFileTables,
  memoryVectorTables,
  approvals,
  clientKeys,
  replacedMemories,
  money,
  crashesAlone,
  assumedPrices,
  runOptionsAndLanes,
  kindsAndScopes,
  principals,
  idempotency,
  ceilings,
  compatibilityViews,
  untrustedFiles,
  threadConfig,
  jobs,
  outbox,
  subagents,
  sessionsByKind,
  searchTables,
  policies,
  runProfiles,
  modelsOfSubagents,
  foldedWords,
  kindsOfTokens,
  commandChanges,
  commandsWithoutSurvey,
  indexOfFailedRuns,
  indexOfRefusedPlans,
  narrowIndexes,
  foundFiles,
  lineHashes,
  saidAgain,
  fileIdentities,
  splitCapitals,
]

/** Migrations that a database at this version lacks; throws for a version newer than this program. */
export function missingMigrations(version: number, known: readonly Migration[], location: string): Migration[] {
  if (version > newest(known))
    throw new HeddleError(
      'schema_newer',
      `${location} was written by a newer heddle (schema ${version}; this one supports up to ${newest(known)})`,
      'use that newer version, or go back with: heddle restore FILE (a backup was made before the upgrade)',
    )
  return known.filter(({ id }) => id > version)
}

/** Migrations up to the schema of a backup; throws for a schema newer than this program. */
export function migrationsUpTo(version: number, known: readonly Migration[], backup: string): Migration[] {
  if (version > newest(known))
    throw new HeddleError(
      'schema_newer',
      `${backup} was written by a newer heddle (schema ${version}; this one supports up to ${newest(known)})`,
      'restore it with that newer version; nothing was changed',
    )
  return known.filter(({ id }) => id <= version)
}

function newest(known: readonly Migration[]): number {
  return known.at(-1)?.id ?? 0
}
