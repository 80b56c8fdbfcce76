import type { PathAddress } from '../../domain/tools/path-handle.ts'
import type { Baseline, BaselineComparison, FrozenCommand } from '../guard/baseline.ts'
import type {
  GuardedState,
  GuardRequest,
  guardedState,
  undoHiddenChanges,
  VetRequest,
  vetGuardedState,
} from '../guard/exec-guard.ts'
import type { HiddenMarks, HiddenPaths } from '../guard/hidden-files.ts'
import type { Listing } from './listing.ts'
import type { FileRead, FilesToRead } from './read-contents.ts'
import type { FileMatches, Search, SearchScope } from './search.ts'
import type { Comparison, survey, touchedSince } from './survey.ts'

/** Work on files that may never end, and therefore runs in a worker thread that can be stopped. */
export type FileJob =
  | { list: PathAddress }
  | { search: Search }
  | { survey: PathAddress }
  | { compare: Comparison }
  | { contents: FilesToRead }
  | { hiddenMarks: HiddenPaths }
  | { guard: GuardRequest }
  | { vet: VetRequest }
  | { undoHiddenChanges: GuardRequest & { before: GuardedState } }
  | { freeze: FrozenCommand }
  | { compareFrozen: BaselineComparison }

/** Result of a job. */
export type JobResult<J extends FileJob> = J extends { list: unknown }
  ? Listing
  : J extends { search: unknown }
    ? SearchScope
    : J extends { survey: unknown }
      ? Awaited<ReturnType<typeof survey>>
      : J extends { compare: unknown }
        ? Awaited<ReturnType<typeof touchedSince>>
        : J extends { contents: unknown }
          ? FileRead[]
          : J extends { hiddenMarks: unknown }
            ? HiddenMarks | 'tooMany'
            : J extends { guard: unknown }
              ? Awaited<ReturnType<typeof guardedState>>
              : J extends { vet: unknown }
                ? Awaited<ReturnType<typeof vetGuardedState>>
                : J extends { undoHiddenChanges: unknown }
                  ? Awaited<ReturnType<typeof undoHiddenChanges>>
                  : J extends { freeze: unknown }
                    ? Baseline
                    : string[]

/** Message of a worker thread: ready once, then each match, and finally the result or the failure. */
export type ThreadMessage =
  | { ready: true }
  | { found: FileMatches }
  | { done: JobResult<FileJob> }
  | { failed: { message: string; known?: { code: string; remedy: string } } }
