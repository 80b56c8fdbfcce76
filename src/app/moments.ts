import { unverifiedArtifacts } from '../engine/files/artifacts.ts'
import { changeFor } from '../engine/files/change.ts'
import { checkFiles } from '../engine/files/check-files.ts'
import { watchFiles } from '../engine/files/file-labels.ts'
import { closeFires } from '../engine/jobs/close-fire.ts'
import { notesFor } from '../engine/knowledge/reminders.ts'
import { storeNarrative } from '../engine/knowledge/store-narrative.ts'
import { cancelPlansOf } from '../engine/plans/give-up-plan.ts'
import { askForMissingPlan } from '../engine/plans/missing-plan.ts'
import { advancePlan, planOutcome } from '../engine/plans/plan-progress.ts'
import type { RunMoments } from '../engine/run/moments.ts'
import type { Engine } from '../engine/runtime.ts'

/** Wires the engine's rooms to the moments of a run. */
export const runMoments: RunMoments<Engine> = {
  onStart: notesFor,
  changeFiles: changeFor,
  watchFiles,
  beforeAnswer: askForMissingPlan,
  beforeSettle: checkFiles,
  inSettle: storeNarrative,
  afterSettle: closeFires,
  filesOf: unverifiedArtifacts,
  onResult: advancePlan,
  onCancelRequest: cancelPlansOf,
  outcomeOf: planOutcome,
}
