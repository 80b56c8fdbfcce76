import type { Outcome } from '../domain/run.ts'
import type { ListPage, PageOptions } from './views/page.ts'

/** A sub-agent of `sessions_spawn` as a line of a list. */
export interface SubagentLine {
  runId: string
  sessionKey: string
  /** Label of the session that spawned it; null if that session is gone. */
  requesterKey: string | null
  label: string
  task: string
  /** Null while it is not known: it will be the default model. */
  model: string | null
  status: 'running' | Outcome
  startedAt: string
  finishedAt?: string
  durationMs?: number
}

/** A sub-agent with what became of it. */
export interface SubagentView extends SubagentLine {
  /** Its newest run, if it went on after results of its own sub-agents. */
  lastRunId: string
  resultId?: number
  result?: string
  error?: string
}

/** Sub-agents of `sessions_spawn`. They are cancelled and retried like all runs. */
export interface SubagentApp {
  /** Those that work, or with `all` the newest of all; newest first, older ones follow `next`. */
  subagents(filter?: PageOptions & { all?: boolean }): Promise<ListPage<SubagentLine>>
  /** By its run, or the start or end of that run's id. */
  subagent(reference: string): Promise<SubagentView>
}
