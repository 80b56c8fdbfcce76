import type { Coverage, Fact } from './approval.ts'
import type { Millis } from './clock.ts'
import type { Fetched, SafeFetch } from './fetch.ts'
import type { Label } from './label.ts'
import type { ToolSpec } from './model.ts'
import type { FilePlace, PathHandle, ProtectedPlaces } from './path-handle.ts'
import type { Touched } from './touched.ts'
import type { CallStatus } from './turn.ts'

/**
 * What a crash in the middle of a call means: `pure` and `idempotent` ones are run again, `transactional` ones only
 * write our rows and commit them with their end, an `unsafe` one without an end has an unknown outcome.
 */
export const effects = ['pure', 'idempotent', 'transactional', 'unsafe'] as const
export type Effect = (typeof effects)[number]

/** What a call came to. Text tools answer text, all others one JSON value. */
export interface ToolOutcome {
  status: CallStatus
  output: unknown
  label?: Label
  /** Not made, since it had led nowhere so often. */
  repeated?: true
  /** Not made, since there were so many like it in this turn. */
  overLimit?: true
  /** The turn ends with this call: the reply's words are the answer, and what is waited for wakes the session. */
  ends?: Rest
  /** Files whose content the model knows after this call. Kept with the call, never shown. */
  seen?: SeenFile[]
  /** What the call did to files that no change tells of. Kept likewise. */
  touched?: Touched
}

/** What a turn that ends by waiting waits for. */
export interface Rest {
  /** Exactly these runs, of those that this one began; without it, all of them. */
  runIds?: string[]
}

/** What a call would do, told before it does it. */
export interface Preview {
  /** What the runtime knows about it: never a word that a model or a file wrote, except names and paths. */
  facts: Fact[]
  /** The foreign text alone: the exact command, a diff, the input. Nothing invisible is left in it. */
  change: string
  /** Everything outside the input that decides what the call does: it must be the same when the call is made. */
  frozen: unknown
  /** The files of the folder as they are now, packed; `changedSince` compares with it. */
  baseline?: string
}

/** Files that a request has changed itself, by path from the folder on: the hashes it left, or null where none is known. */
export type OwnChanges = Record<string, string[] | null>

export interface SeenFile {
  /** From the folder on. */
  path: string
  /** Of the whole content; null when it was too large to tell. */
  sha256: string | null
}

/**
 * Changes a file: refuses when it is not what this run saw last, and keeps durably what was there and what will be
 * before it is touched. `make` gives the new content, the same for the same place; a repeated call that finds its change
 * made does not ask it.
 */
export type ChangeFile = (
  handle: PathHandle,
  make: (place: FilePlace) => Buffer,
) => Promise<SeenFile & { sha256: string }>

/** Who calls, and what stops the call. */
export interface CallContext {
  runId: string
  callId: string
  signal: AbortSignal
  /** The session's folder: relative paths begin here, and no path leads out of it. */
  folder: string
  /** Of everything that led to this call: what it begins carries it on. */
  label?: Label
  /** What no tool changes, or even sees, where it lies inside the folder. */
  protect: ProtectedPlaces
  /** Without one the call reaches nothing on the network. */
  network?: SafeFetch
  /** Without it the call changes no file. */
  change?: ChangeFile
}

/** A call as its tool is given it. */
export interface Call extends Omit<CallContext, 'network'> {
  /** The handle of a parameter that the tool declared as a path; one that was left out is the folder. */
  handle(parameter: string): PathHandle
  /** Fetches what a parameter names that the tool declared as a URL. */
  fetch(parameter: string): Promise<Fetched>
}

/** What a tool could carry words of strangers to: declared by it, and seen by whoever is asked. */
export const sinks = ['network', 'agents'] as const
export type Sink = (typeof sinks)[number]

/**
 * Something an agent can do besides talking. A transactional one writes through the transaction it is given, and nothing
 * else.
 */
export type Tool<T = unknown> = ToolSpec & {
  /** Refuses input that does not fit; the message goes to the model. */
  parse(input: unknown): { ok: true; value: T } | { ok: false; why: string }
  /** How long a call may take; ten minutes unless it says so. */
  deadlineMs?: Millis
  /** Where what it is given goes, if not only to the folder. */
  sink?: Sink
  /** Made when all other calls of its reply have ended: it is about what they began. */
  comesLast?: true
  /** Why somebody must be asked before this very call, whatever the owner's lists say. */
  asks?(input: T, call: CallContext): Promise<string | undefined>
  /** What a model should do after somebody said no; without it, not to try the same in another way. */
  afterNo?: string
} & (
    | {
        effect: Exclude<Effect, 'transactional'>
        /** Parameters that are paths: the runtime resolves them, and the tool gets handles. */
        paths?: readonly string[]
        /** Parameters that are URLs: the runtime fetches them, and nothing else for the tool. */
        urls?: readonly string[]
        /**
         * What a call would change, and what that rests on: shown to whoever is asked, and compared before it is made.
         * Changes nothing; throws what the call would be refused with.
         */
        preview?(input: T, call: Call): Promise<Preview>
        /** What became of the folder since a preview, one line each; own changes count only in files that the call names. */
        changedSince?(baseline: string, input: T, call: Call, own: OwnChanges): Promise<string[]>
        /** What somebody grants who says yes for more than this call; without it, exactly this call. */
        covers?(input: T, call: Call): Promise<Coverage>
        run(input: T, call: Call): Promise<ToolOutcome>
      }
    | {
        effect: 'transactional'
        /** Its rows are guarded by the locks of the run's session and of the one it works for: they are held first. */
        guarded?: true
        /** As above; it reads rows and changes nothing. */
        preview?(input: T, call: CallContext): Promise<Preview>
        write(tx: unknown, input: T, call: CallContext): Promise<ToolOutcome>
      }
  )
