import type { Agent } from './agent.ts'
import type { Decision } from './approval.ts'
import type { ApprovalView, GrantView } from './approval-views.ts'
import type { Millis } from './clock.ts'
import type { TurnDraft } from './draft.ts'
import type { Event } from './event.ts'
import type { Label } from './label.ts'
import type { LiveSign } from './live.ts'
import type { FileSearch, MemoryApp, MemoryView, Reminded, RemindedPassage } from './memory-views.ts'
import type { Message, Part, ThinkingConfig } from './message.ts'
import type { NarrativeView } from './narrative-views.ts'
import type { Persona } from './persona.ts'
import type { PlanStatus, TaskChange, TaskStatus } from './plan.ts'
import type { PlanLine, PlanView, ResultLine, TaskLine, TaskView } from './plan-views.ts'
import type { Outcome, RunError, RunKind, RunOrigin, RunState, StepKind } from './run.ts'
import type { SmartRoute } from './smart-route.ts'
import type { Spending } from './spending.ts'
import type { StatusView } from './status-view.ts'
import type { UnsafeCall } from './touched.ts'
import type { Compaction, ToolCall, TurnType, Usage } from './turn.ts'
import type { WhyView } from './why.ts'

export type { ApprovalView, GrantView, Spending }

/** A turn in a list. Times are ISO 8601 UTC here and in every other view. */
export interface TurnLine {
  id: string
  parentId: string | null
  depth: number
  type: TurnType
  status: Outcome
  model: string | null
  tokens: number
  timestamp: string
  preview: string
  /** Labels of the sessions whose head this is. */
  session?: string
  hasChildren: boolean
  requestId: string
}

export interface SessionView {
  label: string
  folder: string
  headTurnId: string | null
  depth: number
  persona: string | null
  updatedAt: string
  archived: boolean
}

export interface TurnView {
  kind: 'turn'
  id: string
  parentId: string | null
  depth: number
  type: TurnType
  status: Outcome
  query: Message[]
  response: Message
  toolCalls: ToolCall[]
  model: { requested: string | null; actual: string | null }
  thinkingConfig: ThinkingConfig | null
  tokenCount: number
  usage: Usage
  compaction: Compaction | null
  promptHash: string | null
  label: Label
  runId: string
  timestamp: string
  hasChildren: boolean
  sessions: string[]
  /** What its run was reminded of. */
  remindedOf: Reminded[]
  /** Likewise, of the files in the home. */
  remindedOfFiles: RemindedPassage[]
  /** Where things stood when its session began, as its run was told. */
  beganWith: { id: number; summary: string } | null
  thread: ThreadView
}

/** The same turn seen with all before it. */
export interface ThreadView {
  threadKey: string
  totalTokens: number
  persona: string | null
  systemPrompt: string | null
  /** Ids from the root to this turn. */
  ancestry: string[]
}

export interface RunView {
  kind: 'run'
  id: string
  runKind: RunKind
  state: RunState
  session: string | null
  folder: string | null
  depth: number
  agent?: string
  via: RunOrigin
  model: { requested: string | null; actual: string | null }
  doing: string
  silentForSeconds: number
  ageSeconds: number
  tokens: number
  costUsd: number
  estimatedUsd: number
  lostUsd: number
  waitingFor?: string
  rootRunId: string
  parentRunId: string | null
  /** The beginning of what it answers. */
  asked: string
  createdAt: string
  finishedAt: string | null
  epoch: number
  crashes: number
  tries: number
  effectiveTools: string[]
  label: Label
  usage: Spending
  /** What its whole request may cost, and has cost so far; `request` has every figure. */
  budget: { usd: number; tokens: number; steps: number; spentUsd: number; spentTokens: number; request: Spending }
  /** What the last call that ended was given to read; null before the first. */
  promptTokens: number | null
  /** The turn it left; null while it has not ended. */
  turnId: string | null
  /** What it handed to the run that began it. */
  result?: { id: number; status: Outcome; summary: string }
  error?: RunError
  /** Files that it changed, from the session's folder on, and the hash it left each with; null for one it removed. */
  files: { path: string; sha256: string | null; undone: boolean }[]
  /** Calls that undo does not take back, with what they were seen to change. */
  commands: UnsafeCall[]
  /** `at` is null for a step whose time is no longer kept. */
  steps: { seq: number; kind: StepKind; name?: string; status?: string; at: string | null }[]
}

/** A file that a run wrote. */
export interface Artifact {
  /** From the session's folder on. */
  path: string
  /** Of its content as the run left it. */
  sha256: string
  /** Null where nobody looked. */
  bytes: number | null
  /** Whether the file on the disk was so when the run ended. */
  verified: boolean
}

/** The durable output of a run that another one began. */
export interface ResultView extends ResultLine {
  kind: 'result'
  output: string
  artifacts: Artifact[]
  memoryIds: number[]
}

/** What taking back a run's changes came to, or would come to. */
export interface Undone {
  /** Whether nothing was refused. */
  ok: boolean
  /** Whole paths of the files that are again as they were before the run. */
  restored: string[]
  /** Those that are so already, whoever saw to it. */
  unchanged: string[]
  refused: { path: string; why: string }[]
  /** Calls that are not taken back, with what they were seen to change. */
  cannotUndo: (UnsafeCall & { runId: string })[]
}

/** A run in a list. */
export interface RunLine {
  id: string
  kind: RunKind
  state: RunState
  session: string | null
  folder: string | null
  parentRunId: string | null
  rootRunId: string
  depth: number
  agent?: string
  /** The file that its agent is made of, by name. */
  skill?: string
  taskId?: number
  /** The session that it tells of, for one that nobody asked for. */
  tellsOf?: string
  via: RunOrigin
  model: { requested: string | null; actual: string | null }
  /** What it is at: the last step of its journal. */
  doing: string
  /** Since the last thing it wrote down: a start, a step, a pause, its end. */
  silentForSeconds: number
  ageSeconds: number
  tokens: number
  costUsd: number
  estimatedUsd: number
  lostUsd: number
  waitingFor?: string
}

export interface Question {
  session: string
  content: string
  /** Pictures and files; refused where the model cannot be given one. */
  parts?: Part[]
  /** `steer` reaches a run that is under way at its next step; without one it is a message like any other. */
  kind?: 'message' | 'steer' | 'interrupt'
  model?: string
  /** A turn to start a new session from. */
  from?: string
  /** How much the model shall think before it answers. */
  thinking?: ThinkingConfig
  /** Who shall answer, by name; without one, the configured default. */
  agent?: string
  /** Somebody watches and can be asked before a plan is carried out. */
  attended?: boolean
  /** Somebody waits for the answer: when a budget is spent they are asked, and the run does not fail. */
  waitsForBudget?: boolean
  priority?: number
  timeoutSeconds?: number
  dedupeKey?: string
}

/** What came of a question. */
/** What was taken in. */
export interface Submitted {
  itemId: string
  /** The run that will answer, if it is known already. */
  runId: string | null
  session: string
  /** The run that is under way in the session; what was taken in waits for its end. */
  queuedBehind?: string
}

export interface Answered {
  ok: boolean
  status: Outcome | 'accepted' | 'waiting'
  text: string
  turnId: string | null
  turns: string[]
  runId: string | null
  session: string
  folder: string
  model: { requested: string | null; actual: string | null }
  usage: Usage
  error?: RunError
  /** Questions without whose answers nothing of it goes on; it is `waiting` then. */
  approvals?: number[]
  /** The same with the hash of what each is about: a yes must name it. */
  questions?: { id: number; hash: string; tool: string; reason: string }[]
  /** Told while no run has taken the input: its id, and the run that it waits behind. */
  itemId?: string
  queuedBehind?: string
}

export const spendingKeys = ['model', 'session', 'agent', 'run', 'day'] as const
/** What spending can be summed up by. */
export type SpendingKey = (typeof spendingKeys)[number]

export type Shown =
  | TurnView
  | RunView
  | ({ kind: 'approval' } & ApprovalView)
  | ResultView
  | PlanView
  | TaskView
  | MemoryView
  | NarrativeView
  | ({ kind: 'session' } & SessionView)
  | ({ kind: 'persona' } & Persona)

export interface ImportReport {
  imported: number
  skipped: number
  /** Sessions that the imported turns brought along, under the labels they have now. */
  sessions: { folder: string; label: string }[]
}

/** A process at work. */
export interface WorkInProgress {
  /** Runs that a dead process had left, and that this one goes on with. */
  resumed: string[]
  /** Runs that a dead process had left in sessions that this one does not work for: they are queued again. */
  queued: string[]
  quarantined: string[]
  /** Calls of those runs that are told as unknown: they began, may not be repeated, and nobody saw their end. */
  unknownCalls: number
  /** Calls of those runs that ended more than once. */
  doubledCalls: number
  /** Resolves when it is noted where the talks of a folder stand, as far as that goes on by itself, or the signal comes. */
  narrated(folder: string, signal: AbortSignal): Promise<void>
  /** Ends what was waited for so and took too long. */
  giveUpNarrating(folder: string): Promise<void>
  /** Gives back what is under way and resolves when nothing runs here any more. */
  stop(): Promise<void>
}

/** Everything a person or program can ask of a heddle, whichever door they come through. `folder` is where they stand. */
export interface App extends MemoryApp, FileSearch {
  sessions(filter?: { folder?: string }): Promise<SessionView[]>
  /** The session that a message belongs to by its words: of this folder, or of `all`. */
  routeSmart(folder: string, message: string, options?: { all?: boolean }): Promise<SmartRoute>
  renameSession(folder: string, session: string, label: string): Promise<SessionView>
  archiveSession(folder: string, session: string, archived: boolean): Promise<SessionView>
  append(
    folder: string,
    input: { session: string; draft: TurnDraft; parent?: string; persona?: string },
  ): Promise<{ turnId: string; session: string; depth: number }>
  fork(
    folder: string,
    input: { turn: string; label?: string; persona?: string },
  ): Promise<{ session: string; headTurnId: string }>
  /** The path to a session's head or a turn, or every turn there is. Oldest first. */
  log(folder: string, query: { of?: string; all?: boolean; limit?: number }): Promise<TurnLine[]>
  /** Turns that nobody has continued, whether a session points at them or not. */
  tips(): Promise<TurnLine[]>
  /** What a model would be given next at this place. */
  context(folder: string, of: string): Promise<TurnLine[]>
  show(folder: string, reference: string): Promise<Shown>
  /** Why there is such a thing, back to what somebody said; `forward` tells what came of it, too. */
  why(folder: string, reference: string, options?: { forward?: boolean }): Promise<WhyView>
  diff(folder: string, a: string, b: string): Promise<{ ancestor: string | null; a: string[]; b: string[] }>
  /** One JSON text per turn, with everything; parents before children. */
  exportTurns(folder: string, session?: string): AsyncIterable<string>
  importTurns(lines: AsyncIterable<string>): Promise<ImportReport>
  personas(): Promise<Persona[]>
  setPersona(persona: Persona): Promise<void>
  events(query: { after?: string; limit?: number }): Promise<Event[]>
  follow(query: { after?: string; signal: AbortSignal }): AsyncIterable<Event>
  /** The cursor of the newest event: whoever follows from here hears what happens from now on. Null before the first. */
  cursor(): Promise<string | null>
  /** Forgets events that are older than the configured retention. */
  prune(): Promise<{ events: number }>
  /** Takes an input in: durable when this resolves, whether anything runs or not. */
  submit(folder: string, question: Question): Promise<Submitted>
  /** Resolves when everything the input caused is done; answers `waiting` when the signal or a question comes first. */
  answer(folder: string, itemId: string, signal: AbortSignal): Promise<Answered>
  /** Tells what the runs of this process say while they say it, until the returned function is called. */
  listen(listener: (sign: LiveSign) => void): () => void
  /** Runs what is queued, in this process: one session's, or everything; of the latter kind a home has only one. */
  work(options?: { folder: string; session: string }): Promise<WorkInProgress>
  runs(filter?: { all?: boolean }): Promise<RunLine[]>
  /** A run with all it began, a `task:` with its run, or a `plan:` with all its tasks. */
  cancel(reference: string, reason: string): Promise<{ id: string; state: RunState | TaskStatus | PlanStatus }>
  /** A run's inputs anew, or a `task:` that failed. */
  retry(reference: string): Promise<{ runId: string | null }>
  /** Everyone who can be given work here, those that are built in first. */
  agents(folder: string): Promise<Pick<Agent, 'name' | 'description'>[]>
  /** Refuses the name of an agent that is not there, or cannot be given work, and tells why. */
  checkAgent(folder: string, name: string): Promise<void>
  /** Plans, newest first: those of a folder, or all. */
  plans(filter?: { folder?: string }): Promise<PlanLine[]>
  tasks(filter?: { plan?: string; status?: TaskStatus }): Promise<TaskLine[]>
  /** What agents handed over, newest first. */
  results(filter?: { unprocessed?: boolean }): Promise<ResultLine[]>
  /** Decides about a task. Edits of a plan that waits for its start change what its question shows. */
  changeTask(task: string, change: TaskChange): Promise<{ id: number; status: TaskStatus; runId: string | null }>
  /** What waits for somebody's word, oldest first. */
  approvals(): Promise<ApprovalView[]>
  /** Answers one of those; the run goes on as soon as a process has a slot for it. `itemId` is the request's input. */
  decide(
    approval: string,
    said: Decision,
  ): Promise<{ id: number; runId: string; session: string; folder: string; itemId: string }>
  grants(): Promise<GrantView[]>
  revokeGrant(id: number): Promise<void>
  /** Puts the files that a run and everything it began have changed back to what they were before. */
  undo(run: string, options?: { dryRun?: boolean }): Promise<Undone>
  usage(
    by: SpendingKey,
    options?: { today?: boolean },
  ): Promise<{ rows: (Spending & { key: string })[]; total: Spending }>
  /** Where a folder stands, and what happened in it since a moment. */
  status(folder: string, since: Millis): Promise<StatusView>
  backup(file: string): Promise<{ bytes: number; turns: number }>
  close(): Promise<void>
}
