import type { Readable, Writable } from 'node:stream'

/** What a command reads, writes and listens to: those of the process, or streams of a caller in the same process. */
export interface CommandIo {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  /** The working folder: relative paths start here. */
  readonly cwd: string
  /** What stdin is. A terminal, `/dev/null` and a closed input hold nothing that belongs to a question. */
  inputKind(): 'stream' | 'socket' | 'none'
  /** SIGINT and SIGTERM. */
  readonly signals: Signals
  /** Ctrl-Z: stops the job; `onResume` is called when it goes on. */
  suspend(onResume: () => void): void
  /** Ends the process at once, whatever is under way; without a code, with the one that was set. */
  exit(code?: number): void
}

export type Input = Readable & { isTTY?: boolean; setRawMode?(mode: boolean): unknown }
export type Output = Writable & { isTTY?: boolean; columns?: number; rows?: number }

export interface Signals {
  on(signal: NodeJS.Signals, listener: () => void): Signals
  once(signal: NodeJS.Signals, listener: () => void): Signals
  off(signal: NodeJS.Signals, listener: () => void): Signals
}
