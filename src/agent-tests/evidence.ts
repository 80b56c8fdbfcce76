import type { RunState } from '../domain/run.ts'
import type { ToolCall } from '../domain/turn.ts'
import type { FolderState } from './folder-state.ts'

/** Result of a command, or why commands cannot run here. */
export type CommandEnd = { code: number | null; output: string } | { obstacle: string }

/** A task of a plan, as the checks see it. */
export interface PlannedTask {
  id: number
  key: string
  title: string
  skill: string
  dependsOn: number[]
  context: string
}

/** Everything that an agent's run left behind, for the checks. */
export interface Evidence {
  folder: string
  /** The folder's files before the run, and after it. */
  before: FolderState
  after: FolderState
  state: RunState
  /** Why it did not complete. */
  why: string
  /** Its answer. */
  text: string
  calls: readonly Pick<ToolCall, 'name' | 'status'>[]
  modelCalls: number
  /** The tools of the agent's file. */
  tools: readonly string[]
  /** Tasks of each plan that it made. */
  plans: readonly PlannedTask[][]
  /** Runs a command in the folder, in the sandbox. */
  run(command: string): Promise<CommandEnd>
}
