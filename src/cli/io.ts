import type { Readable, Writable } from 'node:stream'
import type { Clock } from '../domain/clock.ts'

/** Streams, folder, signals and time of a command: those of the process, or those of a caller in the same process. */
export interface CommandIo {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  /** The working folder: relative paths start here. */
  readonly cwd: string
  /** Kind of stdin. A terminal, `/dev/null` and a closed input are `none`: they hold no part of a question. */
  inputKind(): 'stream' | 'socket' | 'none'
  /** SIGINT, SIGTERM and SIGHUP, each delivered once, for one command until it ends. */
  readonly signals: Signals
  readonly clock: Clock
  /** Ctrl-Z: stops the job; `onResume` is called when it goes on. */
  suspend(onResume: () => void): void
  /** Ends the process at once, with `code` or the exit code that was set. */
  exit(code?: number): void
}

type Input = Readable & { isTTY?: boolean; setRawMode?(mode: boolean): unknown }
export type Output = Writable & { isTTY?: boolean; columns?: number; rows?: number; fd?: number }

interface Signals {
  on(signal: NodeJS.Signals, listener: () => void): Signals
}
