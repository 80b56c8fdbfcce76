import type { Artifact } from '../../domain/artifact.ts'
import type { UnsafeCall } from '../../domain/tools/touched.ts'
import type { ResultLine } from './plan.ts'

/** An artifact with its current state. */
export interface ArtifactNow extends Artifact {
  /** Later changes of the file, in words; absent if it is as the run left it. */
  since?: string
}

/** Durable output of a run that another run started. */
export interface ResultView extends ResultLine {
  kind: 'result'
  output: string
  artifacts: ArtifactNow[]
  memoryIds: number[]
}

/** Result of an undo, or of its dry run. */
export interface UndoReport {
  /** True if nothing was refused. */
  ok: boolean
  /** Absolute paths of the files that were restored. */
  restored: string[]
  /** Files that were already in their old state. */
  unchanged: string[]
  refused: { path: string; why: string }[]
  /** Calls that cannot be undone, with their observed file changes. */
  cannotUndo: (UnsafeCall & { runId: string })[]
}
