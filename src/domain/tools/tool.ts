import type { Action } from '../access/actions.ts'
import type { Coverage, Fact } from '../approval.ts'
import type { Millis } from '../clock.ts'
import type { Label } from '../label.ts'
import type { ToolSpec } from '../model.ts'
import type { SandboxPermissions } from '../persona.ts'
import type { CallStatus } from '../turn.ts'
import type { FetchResult, SafeFetch } from './fetch.ts'
import type { FileIdentity, FileLocation, PathHandle, ProtectedPlaces } from './path-handle.ts'
import type { CommandVersions, Touched } from './touched.ts'

/**
 * Recovery after a crash in the middle of a call: `pure` and `idempotent` calls run again, `transactional` ones only write
 * our rows and commit them with their end, an `unsafe` one without an end has an unknown outcome.
 */
const effects = ['pure', 'idempotent', 'transactional', 'unsafe'] as const
export type Effect = (typeof effects)[number]

/** Outcome of a tool call. Text tools return text, all others one JSON value. */
export interface ToolOutcome {
  status: CallStatus
  output: unknown
  label?: Label
  /** Not made: the same call failed too often. */
  repeated?: true
  /** Not made: too many such calls in this turn. */
  overLimit?: true
  /** Ends the turn: the reply's text is the answer, and the awaited runs wake the session. */
  ends?: AwaitedRuns
  /** Files whose content the model knows after this call. Stored with the call, never shown. */
  seen?: SeenFile[]
  /** File changes of the call that the journal does not record. Stored likewise. */
  touched?: Touched
  /** The same with the contents. Stored as versions of the files, not with the call. */
  versions?: CommandVersions
  /** What else the answer shows of files: they label it. Not stored. */
  shows?: ShownFiles
}

/** Files of which an answer shows a part, and those of which it shows only the name, relative to the folder. */
interface ShownFiles {
  parts?: SeenFile[]
  names?: string[]
}

/** The runs that a turn waits for when it ends by waiting. */
export interface AwaitedRuns {
  /** Some of the runs that this one started; all of them by default. */
  runIds?: string[]
}

/** Preview of a call's effects. */
export interface Preview {
  /** Statements of the runtime: never text from a model or a file, except names and paths. */
  facts: Fact[]
  /** Text from a model or a file: the exact command, a diff, the input. Invisible characters are escaped. */
  change: string
  /** Everything outside the input that determines the call's effect; must be unchanged when the call is made. */
  frozen: unknown
  /** Packed state of the folder's files, for `changedSince` to compare with. */
  baseline?: string
}

/** Files that a request changed itself, by path relative to the folder: the hashes it left, or null if unknown. */
export type OwnChanges = Record<string, string[] | null>

export interface SeenFile {
  /** From the folder on. */
  path: string
  /** Hash of the whole content; null if it was too large. */
  sha256: string | null
  /** Of the file, if the call wrote it. */
  identity?: FileIdentity
}

/**
 * Changes a file: refuses if it differs from what this run saw last, and stores the old and the new content durably before
 * writing. `make` must be deterministic; a repeated call whose change is already made does not call it. `keepsRest`: the
 * new content has parts of the old one, and its label.
 */
export type ChangeFile = (
  handle: PathHandle,
  make: (place: FileLocation) => Buffer,
  keepsRest: boolean,
) => Promise<SeenFile & { sha256: string }>

/** Context of a tool call. */
export interface CallContext {
  runId: string
  callId: string
  signal: AbortSignal
  /** The session's folder: base of relative paths, and no path leads out of it. */
  folder: string
  /** Label of everything that led to this call; runs that it starts inherit it. */
  label?: Label
  /** Paths that no tool may change, or even see, even inside the folder. */
  protect: ProtectedPlaces
  /** Limits on commands that the call runs; without it those of the configuration. */
  sandbox?: SandboxPermissions
  /** The only credentials that its commands see; without it all that the configuration gives out. */
  credentials?: readonly string[]
  /** Without it the call has no network access. */
  network?: SafeFetch
  /** Without it the call cannot change files. */
  change?: ChangeFile
  /** What the engine knows of the calling run in this transaction, for its own tools. */
  caller?: unknown
}

/** Context passed to a tool's `run`. */
export interface Call extends Omit<CallContext, 'network'> {
  /** Handle of a path parameter; the folder if the parameter was omitted. */
  handle(parameter: string): PathHandle
  /** Fetches the URL in a URL parameter. */
  fetch(parameter: string): Promise<FetchResult>
}

/**
 * What a call reaches beyond the folder: `network` and `channel` send its input elsewhere; `schedule`, `config`, `agents`
 * (agent files) and `memory` (trusted memory) change what later runs obey. A run that has read untrusted content makes
 * such a call only if the user typed all its destinations, or approves it. Starting an agent is none: the run's label and
 * ceiling go with it.
 */
const sinks = ['network', 'channel', 'schedule', 'config', 'agents', 'memory'] as const
export type Sink = (typeof sinks)[number]

/** The sink that one call reaches. */
export interface SinkCall {
  sink: Sink
  /** Addresses or recipients that decide where it goes. Without any, the user cannot have typed them. */
  destinations?: readonly string[]
}

/**
 * A tool that an agent can call. A transactional one writes only through the transaction it is given.
 */
export type Tool<T = unknown> = ToolSpec & {
  /** Validates the input; the reason goes to the model. */
  parse(input: unknown): { ok: true; value: T } | { ok: false; why: string }
  /** Timeout of a call; ten minutes by default. */
  deadlineMs?: Millis
  /** What a call with this input reaches beyond the folder. */
  sink?(input: T): SinkCall | undefined
  /** Starts an agent: limited per turn. */
  startsAgent?: true
  /** Reads and changes any file of the folder, and reports what it changed (`touched`). */
  touchesFolder?: true
  /** What it does to our own state: checked before each call with the rights of the run's principal. */
  action?: Action
  /** Runs after all other calls of the same reply, since it waits for what they started. */
  runsLast?: true
  /** Reason why this call needs approval regardless of the configured lists. */
  asks?(input: T, call: CallContext): Promise<string | undefined>
  /** Instruction for the model after a denial; by default, not to try the same in another way. */
  denialHint?: string
} & (
    | {
        effect: Exclude<Effect, 'transactional'>
        /** Path parameters: the runtime resolves them, and the tool gets handles. */
        paths?: readonly string[]
        /** URL parameters: the runtime fetches these, and nothing else for the tool. */
        urls?: readonly string[]
        /**
         * The call's changes and their preconditions: shown in the approval, and compared before the call is made. Has no
         * side effects; throws the error with which the call would be refused.
         */
        preview?(input: T, call: Call): Promise<Preview>
        /** Changes in the folder since a preview, one line each; own changes count only in files that the call names. */
        changedSince?(baseline: string, input: T, call: Call, own: OwnChanges): Promise<string[]>
        /** The calls that a grant for this one covers; by default exactly this call. */
        covers?(input: T, call: Call): Promise<Coverage>
        run(input: T, call: Call): Promise<ToolOutcome>
      }
    | {
        effect: 'transactional'
        /** Takes the locks of the run's session and of its requester's first, which guard its rows. */
        guarded?: true
        /** As above; only reads rows. */
        preview?(input: T, call: CallContext): Promise<Preview>
        write(tx: unknown, input: T, call: CallContext): Promise<ToolOutcome>
      }
  )
