import type { Command } from 'commander'
import type { App } from '../domain/app.ts'
import type { Clock } from '../domain/clock.ts'
import type { CrashPoint } from '../domain/crash-points.ts'
import type { Door } from '../gateway/api.ts'
import type { Daemon } from '../gateway/client.ts'
import type { CommandIo } from './io.ts'
import type { Screen } from './screen.ts'

/** What every command is given: who asked, where they stand, and how to reach the rest. */
export interface Here {
  home: string
  /** The folder whose sessions are meant. */
  folder: string
  screen: Screen
  json: boolean
  env: NodeJS.ProcessEnv
  io: CommandIo
  /** The user's home folder, which `~` stands for. */
  userHome: string
  clock: Clock
  /** Opens the heddle of this home on first use, making the home if there is none. Notices go to `tell`, or to ours. */
  app(tell?: (text: string) => void): Promise<App>
  /** The daemon of this home, if it is up and answers. */
  daemon(): Promise<Daemon | undefined>
  /** The daemon, else the heddle opened here: whoever answers first what is asked. */
  door(): Promise<Door>
  /** The file that was named with --config, else the home's. */
  configFile: string
  /** The whole path of a file that the user named from their working folder. */
  pathOf(file: string): string
  crash(point: CrashPoint): void
  /** Puts a backup in the place of what the home holds. */
  restore(file: string): Promise<{ bytes: number; turns: number; keptAside: string | null; wayBack: string | null }>
  /** What that would replace, and with what. */
  restoreFacts(
    file: string,
  ): Promise<{ place: string; bytes: number | null; createdAt: string | null; turns: number | null }>
  /** Aborts at the first Ctrl-C; a command that does not ask for it simply ends then. */
  readonly stopped: AbortSignal
  /** For progress and notices: goes to stderr. */
  tell(text: string): void
  /** For what the command is asked to produce, when it is too long to be held at once. */
  write(text: string): Promise<void>
}

/** What a command answers: one JSON document, or the same for people. */
export interface Answer {
  json: unknown
  text: string
  /** Exit code, 0 unless something asked for is not so. */
  code?: number
  /** What is still to be done once the answer stands on the screen. */
  after?(): Promise<void>
}

/** Makes a commander action out of a function that answers; the runner prints and sets the exit code. */
export type Run = (
  action: (here: Here, args: string[], options: Record<string, unknown>) => Promise<Answer | undefined>,
) => (...parameters: unknown[]) => Promise<void>

/** Adds one or more commands to the program. */
export type Register = (program: Command, run: Run) => void

/** Heading of the commands that most people need rarely. */
export const rareGroup = 'MORE'
