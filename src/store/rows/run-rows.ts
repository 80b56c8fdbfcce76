import type { Selectable } from 'kysely'
import type { Run } from '../../domain/run.ts'
import type { RunOptions } from '../../domain/run-options.ts'
import type { Subagent } from '../../domain/subagent.ts'
import type { Tables } from '../tables.ts'

export type RunRow = Selectable<Tables['runs']>

/** Maps a run to its row. */
export function runRow(run: Run): RunRow {
  return {
    id: run.id,
    kind: run.kind,
    state: run.state,
    session_id: run.sessionId,
    created_at: run.createdAt,
    finished_at: run.finishedAt,
    via: run.via,
    lane: run.lane,
    root_run_id: run.rootRunId,
    parent_run_id: run.parentRunId,
    depth: run.depth,
    tool_call_id: run.toolCallId,
    requester_session_id: run.requesterSessionId,
    agent: run.agent,
    model_requested: run.modelRequested,
    ...optionColumns(run.options),
    requested_at: run.requestedAt,
    owner_id: run.workerId,
    epoch: run.epoch,
    crashes: run.crashes,
    crashes_alone: run.crashesAlone,
    tries: run.tries,
    active_ms: run.activeMs,
    waiting_for: run.waitingFor,
    wake_at: run.wakeAt,
    cancel_reason: run.cancelReason,
    effective_tools_json: JSON.stringify(run.effectiveTools),
    ceiling_json: JSON.stringify(run.ceiling),
    integrity: run.label.integrity,
    sources_json: JSON.stringify(run.label.sources),
    error_json: run.error && JSON.stringify(run.error),
    task_id: run.taskId,
    principal: run.principal,
    title: run.subagent?.title ?? null,
    cleanup: run.subagent?.cleanup ?? null,
    share_mode: run.subagent?.shareMode ?? null,
    ...claimColumns(run),
  }
}

/** The options of a run, whole and as columns that statements compare. */
export function optionColumns(options: RunOptions): Pick<RunRow, 'options_json' | 'priority' | 'deadline'> {
  return {
    options_json: JSON.stringify(options),
    priority: options.priority ?? 0,
    deadline: options.deadline ?? null,
  }
}

export function runFrom(row: RunRow): Run {
  return {
    id: row.id,
    kind: row.kind,
    via: row.via,
    lane: row.lane,
    state: row.state,
    sessionId: row.session_id,
    rootRunId: row.root_run_id,
    parentRunId: row.parent_run_id,
    depth: row.depth,
    toolCallId: row.tool_call_id,
    requesterSessionId: row.requester_session_id,
    agent: row.agent,
    modelRequested: row.model_requested,
    options: JSON.parse(row.options_json),
    requestedAt: row.requested_at,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
    workerId: row.owner_id,
    epoch: row.epoch,
    crashes: row.crashes,
    crashesAlone: row.crashes_alone,
    tries: row.tries,
    activeMs: row.active_ms,
    waitingFor: row.waiting_for,
    wakeAt: row.wake_at,
    cancelReason: row.cancel_reason,
    effectiveTools: JSON.parse(row.effective_tools_json),
    ceiling: JSON.parse(row.ceiling_json),
    label: { integrity: row.integrity, sources: JSON.parse(row.sources_json) },
    error: row.error_json === null ? null : JSON.parse(row.error_json),
    taskId: row.task_id,
    principal: row.principal,
    subagent: subagentFrom(row),
    profile: profileFrom(row),
    modelClamp: row.model_clamp_json === null ? null : JSON.parse(row.model_clamp_json),
  }
}

/** What a claim finds out about a run's profile and model. */
export function claimColumns({ profile, modelClamp }: Pick<Run, 'profile' | 'modelClamp'>) {
  return {
    profile_id: profile?.id ?? null,
    profile_version: profile?.version ?? null,
    model_clamp_json: modelClamp && JSON.stringify(modelClamp),
  }
}

function profileFrom({ profile_id: id, profile_version: version }: RunRow): Run['profile'] {
  return id === null || version === null ? null : { id, version }
}

function subagentFrom({ title, cleanup, share_mode: shareMode }: RunRow): Subagent | null {
  return title === null || cleanup === null || shareMode === null ? null : { title, cleanup, shareMode }
}
