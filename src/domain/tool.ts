import type { Fetched, SafeFetch } from './fetch.ts'
import type { Label } from './label.ts'
import type { ToolSpec } from './model.ts'
import type { FilePlace, PathHandle } from './path-handle.ts'
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
  /** Files whose content the model knows after this call. Kept with the call, never shown. */
  seen?: SeenFile[]
}

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
  /** Folders that no tool gets into even where they lie inside, such as the home with its keys. */
  without: readonly string[]
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

/**
 * Something an agent can do besides talking. A transactional one writes through the transaction it is given, and nothing
 * else.
 */
export type Tool<T = unknown> = ToolSpec & {
  /** Refuses input that does not fit; the message goes to the model. */
  parse(input: unknown): { ok: true; value: T } | { ok: false; why: string }
} & (
    | {
        effect: Exclude<Effect, 'transactional'>
        /** Parameters that are paths: the runtime resolves them, and the tool gets handles. */
        paths?: readonly string[]
        /** Parameters that are URLs: the runtime fetches them, and nothing else for the tool. */
        urls?: readonly string[]
        run(input: T, call: Call): Promise<ToolOutcome>
        /**
         * What the call would change, for people to read before it does, and what that rests on. Changes nothing; throws
         * what the call would be refused with.
         */
        preview?(input: T, call: Call): Promise<{ change: string; frozen: unknown }>
      }
    | { effect: 'transactional'; write(tx: unknown, input: T, call: CallContext): Promise<ToolOutcome> }
  )
