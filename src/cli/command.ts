import type { Command } from 'commander'
import type { Heddle } from '../api/heddle.ts'
import type { Clock } from '../domain/clock.ts'
import type { CrashPoint } from '../domain/crash-points.ts'
import type { Client } from '../gateway/api.ts'
import type { Daemon } from '../gateway/client.ts'
import type { CommandIo } from './io.ts'
import type { Screen } from './terminal/screen.ts'

/** Context passed to every command: folder, screen, streams, and access to the engine. */
export interface CommandContext {
  home: string
  /** The folder whose sessions the command works on. */
  folder: string
  screen: Screen
  json: boolean
  env: NodeJS.ProcessEnv
  io: CommandIo
  /** The user's home folder, which `~` stands for. */
  userHome: string
  clock: Clock
  /** Opens the Heddle of this home on first use, and creates a missing home. Notices go to `tell`, default stderr. */
  heddle(tell?: (text: string) => void): Promise<Heddle>
  /** The engine in this process, with the caller's rights. */
  app(): Promise<Client>
  /** The daemon of this home, if it is up and answers. */
  daemon(): Promise<Daemon | undefined>
  /** The client to ask: the daemon if it is up, else the engine opened in this process. */
  client(): Promise<Client>
  /** The file given with --config, else the one in the home. */
  configFile: string
  /** Absolute path of a file that the user named relative to the working folder. */
  pathOf(file: string): string
  crash(point: CrashPoint): void
  /** Replaces the contents of the home's database with a backup. */
  restore(file: string): Promise<{
    bytes: number | null
    turns: number
    keptAside: string | null
    wayBack: string | null
    /** Tokens that were valid in the backup and are revoked now. */
    revokedTokens: number
  }>
  /** Describes what a restore would replace, and with what. */
  restoreFacts(
    file: string,
  ): Promise<{ place: string; bytes: number | null; createdAt: string | null; turns: number | null }>
  /** Aborts at the first Ctrl-C, SIGTERM or SIGHUP. A command that never reads it is killed by the signal. */
  readonly stopped: AbortSignal
  /** Runs another command line with the same home, configuration and token; returns its exit code. */
  runCommand(argv: string[], io: CommandIo): Promise<number>
  /** Writes progress and notices to stderr. */
  tell(text: string): void
  /** Writes output that is too long to be held in memory to stdout. */
  write(text: string): Promise<void>
}

/** Result of a command: one JSON document, and the same as text for people. */
export interface CommandResult {
  json: unknown
  text: string
  /** Exit code, default 0. */
  code?: number
  /** Runs after the output was printed. */
  after?(): Promise<void>
}

/** Turns a function that returns a result into a commander action; the runner prints it and sets the exit code. */
export type ActionRunner = (
  action: (
    here: CommandContext,
    args: string[],
    options: Record<string, unknown>,
  ) => Promise<CommandResult | undefined>,
) => (...parameters: unknown[]) => Promise<void>

/** Adds one or more commands to the program. */
export type Register = (program: Command, run: ActionRunner) => void

/** Heading of the commands that most people need rarely. */
export const rareGroup = 'MORE'
