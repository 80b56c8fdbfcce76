import type { PathAddress } from '../domain/path-handle.ts'
import type { Baseline, BaselineComparison, FrozenCommand } from './baseline.ts'
import type { GuardedState, GuardRequest, guardedState, undoHiddenChanges, VetRequest, vetted } from './exec-guard.ts'
import type { HiddenMarks, HiddenPaths } from './hidden-files.ts'
import type { Listing } from './listing.ts'
import type { FoundFile, Search, Searched } from './search.ts'
import type { Comparison, survey, touchedSince } from './survey.ts'

/** Work on files that may take long, or for ever: it is done in a thread that can be stopped. */
export type FileJob =
  | { list: PathAddress }
  | { search: Search }
  | { survey: PathAddress }
  | { compare: Comparison }
  | { hiddenMarks: HiddenPaths }
  | { guard: GuardRequest }
  | { vet: VetRequest }
  | { undoHiddenChanges: GuardRequest & { before: GuardedState } }
  | { freeze: FrozenCommand }
  | { compareFrozen: BaselineComparison }

/** What comes of a job. */
export type JobResult<J extends FileJob> = J extends { list: unknown }
  ? Listing
  : J extends { search: unknown }
    ? Searched
    : J extends { survey: unknown }
      ? Awaited<ReturnType<typeof survey>>
      : J extends { compare: unknown }
        ? Awaited<ReturnType<typeof touchedSince>>
        : J extends { hiddenMarks: unknown }
          ? HiddenMarks | 'tooMany'
          : J extends { guard: unknown }
            ? Awaited<ReturnType<typeof guardedState>>
            : J extends { vet: unknown }
              ? Awaited<ReturnType<typeof vetted>>
              : J extends { undoHiddenChanges: unknown }
                ? Awaited<ReturnType<typeof undoHiddenChanges>>
                : J extends { freeze: unknown }
                  ? Baseline
                  : string[]

/** What a thread says: once that it is there, files as they are found, and in the end the result or why there is none. */
export type ThreadSays =
  | { ready: true }
  | { found: FoundFile }
  | { done: JobResult<FileJob> }
  | { failed: { message: string; known?: { code: string; remedy: string } } }
