import type { Generated } from 'kysely'
import type { UserRole } from '../domain/access/principal.ts'
import type { TokenKind } from '../domain/access/user.ts'
import type { Answer, Confinement } from '../domain/approval.ts'
import type { EventKind } from '../domain/event.ts'
import type { InboxKind } from '../domain/inbox.ts'
import type { Integrity } from '../domain/label.ts'
import type { Source } from '../domain/message.ts'
import type { PlanStatus, TaskStatus } from '../domain/plan.ts'
import type { Lane, Outcome, RunKind, RunOrigin, RunState, StepKind, Wait } from '../domain/run.ts'
import type { SessionKind } from '../domain/session.ts'
import type { CostState } from '../domain/spending.ts'
import type { Cleanup, ShareMode } from '../domain/subagent.ts'
import type { TurnType } from '../domain/turn.ts'
import type { JobTables } from './job-tables.ts'
import type { KnowledgeTables } from './knowledge-tables.ts'
import type { PolicyTables } from './policy-tables.ts'
import type { SearchTables } from './search-tables.ts'

/** Row types, the same in both databases. Columns named `…_json` are text; 0 and 1 are booleans. */
export interface Tables extends JobTables, KnowledgeTables, PolicyTables, SearchTables {
  meta: { key: string; value: string }
  personas: {
    id: string
    identity_json: string
    permissions_json: string
    default_model_config_json: string | null
    updated_at: number
  }
  prompts: { hash: string; text: string }
  segments: { id: string; parent_id: string | null; fork_depth: number }
  sessions: {
    id: string
    folder: string
    label: string
    segment_id: string
    head_turn_id: string | null
    persona_id: string | null
    updated_at: number
    archived_at: number | null
    /** Whose session it is. */
    principal_id: Generated<string>
    kind: SessionKind
    narrates_id: string | null
    /** When it is archived or its transcript is removed; null if neither is due. */
    tidy_at: Generated<number | null>
    removed_at: Generated<number | null>
    system_prompt_hash: string | null
    /** Personas whose permissions bind it besides its own's; null for none. */
    bound_by_json: string | null
  }
  runs: {
    id: string
    kind: RunKind
    state: RunState
    session_id: string | null
    created_at: number
    finished_at: number | null
    via: RunOrigin
    lane: Lane
    root_run_id: string
    parent_run_id: string | null
    depth: number
    tool_call_id: string | null
    requester_session_id: string | null
    agent: string | null
    model_requested: string | null
    options_json: string
    /** Of the options, for the order of the queue. */
    priority: number
    requested_at: number
    owner_id: string | null
    epoch: number
    crashes: number
    crashes_alone: Generated<number>
    tries: number
    active_ms: number
    /** Of the options, to find late runs. */
    deadline: number | null
    waiting_for: Wait | null
    wake_at: number | null
    cancel_reason: string | null
    effective_tools_json: string
    ceiling_json: Generated<string>
    integrity: Integrity
    sources_json: string
    error_json: string | null
    task_id: number | null
    principal: Generated<string>
    /** Set for sub-agents of `sessions_spawn`, as the next two. */
    title: Generated<string | null>
    cleanup: Generated<Cleanup | null>
    share_mode: Generated<ShareMode | null>
    /** Both or none. */
    profile_id: Generated<string | null>
    profile_version: Generated<number | null>
    model_clamp_json: Generated<string | null>
  }
  owners: { id: string; pid: number; started_at: number; beat_at: number }
  inbox: {
    id: string
    session_id: string
    kind: InboxKind
    payload_json: string
    source: Source
    integrity: Integrity
    sources_json: string
    wake: number
    dedupe_key: string | null
    root_run_id: string | null
    run_id: string | null
    consumed_by_turn: string | null
    created_at: number
    /** Order of a session's unanswered items: greater than that of all items before it. */
    seq: Generated<number>
    result_id: number | null
    outer_ref: string | null
    principal: Generated<string>
  }
  agent_results: {
    id: Generated<number>
    run_id: string
    task_id: number | null
    skill_used: string | null
    status: Outcome
    summary: string
    output: string
    artifacts_json: string
    memory_ids: string
    processed: number
    created_at: number
  }
  projects: {
    id: Generated<number>
    title: string
    goal: string | null
    status: PlanStatus
    session_id: string
    root_run_id: string
    planned_by: string
    started_by: string | null
    revision: number
    created_at: number
    finished_at: number | null
  }
  tasks: {
    id: Generated<number>
    project_id: number
    key: string
    title: string
    context: string
    skill: string
    /** Ids as JSON, for external readers; `task_edges` is authoritative. */
    depends_on: string
    status: TaskStatus
    priority: number
    attempts: number
    agent_result_id: number | null
    run_id: string | null
    reason: string | null
    revision: number
    /** Plan revision that dropped the task; null while it is part of the plan. */
    dropped_in: number | null
    created_at: number
  }
  task_edges: { task_id: number; needs_id: number }
  joins: {
    id: string
    session_id: string
    root_run_id: string
    fired_at: number | null
    created_at: number
    /** The run whose end opened the join; null in the oldest rows. */
    run_id: string | null
  }
  join_members: { run_id: string; join_id: string; session_id: string; done_at: number | null }
  approvals: {
    id: Generated<number>
    run_id: string
    call_id: string
    tool: string
    input_json: string
    facts_json: string
    change_text: string
    reason: string
    hash: string
    /** Description of what a grant would cover; `coverage_json` is authoritative. */
    pattern: string
    coverage_json: string | null
    asked_again: number
    /** Packed listing of the folder's files at the time of the question. Large: read it only to compare. */
    baseline: string | null
    integrity: Integrity
    sources_json: string
    asked_at: number
    answer: Answer | null
    answer_reason: string | null
    answered_at: number | null
    answered_by: string | null
  }
  grants: {
    id: Generated<number>
    scope: 'session' | 'agent'
    session_id: string | null
    agent: string
    folder: string
    tool: string
    cwd: string
    pattern: string
    confinement: Confinement | null
    approval_id: number
    created_at: number
    revoked_at: number | null
    /** Reason for a grant that ended without being revoked by a user. */
    lapsed_why: string | null
    granted_by: Generated<string>
  }
  /** Changes made by a run's tool call, or by an undo (no run). */
  file_changes: {
    id: Generated<number>
    run_id: string | null
    call_id: string | null
    folder: string
    path: string
    /** Content hashes; null where the file did not exist or was deleted. */
    before_hash: string | null
    after_hash: string | null
    mode: number | null
    at: number
    undone_at: number | null
    /** Which lines are of the version before; null where it was not computed. */
    line_map: Generated<string | null>
    /** Hashes of the lines that earlier rows of the file do not have; null where they were not computed. */
    line_hashes: Generated<string | null>
    /** When the replaced file was last changed, and its content modified; null where there was none, or it was not recorded. */
    before_changed_at: Generated<number | null>
    before_modified_at: Generated<number | null>
    /** Of the replaced file. */
    before_identity: Generated<string | null>
  }
  /** Changes of files that the surveys around a command saw. A hash is empty where the content was not read. */
  command_changes: {
    id: Generated<number>
    run_id: string
    call_id: string
    folder: string
    path: string
    before_hash: string | null
    after_hash: string | null
    /** The file that it was moved or copied from; its lines are those that the map is about. */
    origin_path: string | null
    origin_hash: string | null
    line_map: string | null
    line_hashes: Generated<string | null>
    before_changed_at: Generated<number | null>
    before_modified_at: Generated<number | null>
    before_identity: Generated<string | null>
    /** When the content was last modified, and the identity of the file; null where there is none, or it was not recorded. */
    modified_at: Generated<number | null>
    identity: Generated<string | null>
    /** Newest row of `file_changes` at that time. */
    follows: number
    since: number
    at: number
    /** 1 for a file as the command found it, which was not recorded before. */
    found: Generated<number>
  }
  /** Contents that runs wrote after they had read untrusted content. */
  untrusted_files: {
    path: string
    /** Empty for a content that was too large to be read. */
    sha256: string
    sources_json: string
    created: number
    run_id: string
    at: number
  }
  /** Commands of such runs whose changes no survey saw, or has not seen yet. */
  untrusted_commands: {
    run_id: string
    call_id: string
    folder: string
    sources_json: string
    since: number
    until: number | null
  }
  file_contents: { hash: string; bytes: number; packed: string }
  usage: {
    run_id: string
    call: number
    root_run_id: string
    model: string
    state: CostState
    input_tokens: number
    output_tokens: number
    cached_tokens: number
    cost_usd: number
    at: number
    counted: Generated<number>
    price_assumed: Generated<number>
    principal: Generated<string>
  }
  request_totals: { root_run_id: string; tokens: number; cost_usd: number; steps: number }
  steps: {
    run_id: string
    seq: number
    kind: StepKind
    payload_json: string
    at: number | null
    /** Folder in which the ended call changed files, or may have. */
    touched_folder: string | null
  }
  turns: {
    id: string
    run_id: string
    type: TurnType
    status: Outcome
    query_messages_json: string
    response_message_json: string
    model_requested: string | null
    model: string | null
    thinking_config_json: string | null
    tool_calls_json: string
    token_count: number
    input_tokens: number
    output_tokens: number
    cached_tokens: number
    cost_usd: number
    compaction_json: string | null
    prompt_hash: string | null
    integrity: Integrity
    sources_json: string
    timestamp: number
    /** Estimated and lost parts of the cost; null when all of it is known. */
    unsure_json: string | null
    /** Settings of its model calls and its permissions; null where they are the defaults. */
    settings_json: string | null
    model_clamp_json: string | null
  }
  threads: {
    segment_id: string
    depth: number
    turn_id: string
    parent_turn_id: string | null
    total_tokens: number
    has_children: number
    context_start: number
    persona_id: string | null
    system_prompt_hash: string | null
    bound_by_json: string | null
  }
  id_tails: { tail: string; id: string }
  events: {
    seq: Generated<number>
    xid: Generated<string | number>
    at: number
    kind: EventKind
    subject: string
    payload_json: string
    session_id: string | null
    root_run_id: string | null
  }
  users: {
    id: string
    role: UserRole
    trusted: number
    /** Tool names and patterns instead of those of the role; null for those. */
    tools_json: string | null
    /** Folder of the user's sessions. */
    folder: string
    per_day_usd: number | null
    created_at: number
    removed_at: number | null
  }
  tokens: {
    id: Generated<number>
    /** Null for the owner. */
    user_id: string | null
    /** SHA-256 of the token, which is not stored. */
    hash: string
    scopes_json: string | null
    created_at: number
    expires_at: number | null
    revoked_at: number | null
    kind: Generated<TokenKind>
  }
  audit: {
    seq: Generated<number>
    at: number
    principal: string
    action: string
    resource: string | null
    outcome: string
    /** Lengths and hashes of free text. */
    detail: string | null
  }
  /** `answer_json` is null while the request is under way. */
  idempotency: { principal: string; key: string; request_hash: string; answer_json: string | null; at: number }
  migrations: { id: number; name: string; applied_at: number }
}
