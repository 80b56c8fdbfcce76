import type { TurnDraft } from '../domain/draft.ts'
import type { Persona } from '../domain/persona.ts'
import type { SessionKind } from '../domain/session.ts'
import type { ApprovalView } from './views/approval.ts'
import type { MemoryView } from './views/memory.ts'
import type { NarrativeView } from './views/narrative.ts'
import type { ListPage, PageOptions } from './views/page.ts'
import type { PlanView, TaskView } from './views/plan.ts'
import type { ResultView } from './views/result.ts'
import type { RunView } from './views/run.ts'
import type { ImportReport, SessionDetails } from './views/session.ts'
import type { ThreadDiff, TreeTurn, TurnLine, TurnView, WindowTurn } from './views/turn.ts'
import type { WhyView } from './views/why.ts'

/** View of anything that a reference can name. */
export type ShowResult =
  | TurnView
  | RunView
  | ({ kind: 'approval' } & ApprovalView)
  | ResultView
  | PlanView
  | TaskView
  | MemoryView
  | NarrativeView
  | ({ kind: 'session' } & SessionDetails)
  | ({ kind: 'persona' } & Persona)

/** The tree of turns, and views of anything that a reference can name. `folder` is the caller's working directory. */
export interface TurnApp {
  append(
    folder: string,
    input: { session: string; draft: TurnDraft; parent?: string; persona?: string },
  ): Promise<{ turnId: string; session: string; depth: number }>
  fork(
    folder: string,
    input: { turn: string; label?: string; persona?: string; systemPrompt?: string | null },
  ): Promise<{ session: string; headTurnId: string }>
  /** The path to a session's head or a turn, or all turns. Oldest first. */
  log(folder: string, query: { of?: string; all?: boolean; limit?: number }): Promise<TurnLine[]>
  /**
   * The last turns of the path to a session's head or a turn, with their words, oldest first; `next` leads to earlier ones.
   * `session` instead of `of` names a session of this folder and of no other: one that has not begun has no turns.
   */
  turnWindow(folder: string, query: PageOptions & { of?: string; session?: string }): Promise<ListPage<WindowTurn>>
  /**
   * The newest turns of a folder, or of all, newest first; without a limit 200. `of` names a session of the folder or a turn: only
   * turns of its tree, with all forks.
   */
  turnTree(query?: PageOptions & { folder?: string; kind?: SessionKind; of?: string }): Promise<ListPage<TreeTurn>>
  /** Turns without children, whether a session points at them or not. */
  tips(): Promise<TurnLine[]>
  /** The turns that a model would get as context here. */
  context(folder: string, of: string): Promise<TurnLine[]>
  show(folder: string, reference: string): Promise<ShowResult>
  /** Explains why something exists, back to the user's words; `forward` adds its consequences. */
  why(folder: string, reference: string, options?: { forward?: boolean }): Promise<WhyView>
  diff(folder: string, a: string, b: string): Promise<ThreadDiff>
  /** One JSON text per turn, with everything; parents before children. */
  exportTurns(folder: string, session?: string): AsyncIterable<string>
  importTurns(lines: AsyncIterable<string>): Promise<ImportReport>
}
