import { once } from 'node:events'
import type { App } from '../../api/app.ts'
import { loadConfig } from '../../config/config.ts'
import { knownSecrets, redactor } from '../../config/secrets.ts'
import { owner } from '../../domain/access/principal.ts'
import type { Millis } from '../../domain/clock.ts'
import { homePaths } from '../../home/home.ts'
import { runtimeFolder } from '../../home/socket-folder.ts'
import { version } from '../../version.ts'
import type { CommandContext, Register } from '../command.ts'
import type { DaemonLog } from '../live/daemon-log.ts'
import { sourceStack } from '../source-stack.ts'

const errorPause: Millis = 1000

export const registerUp: Register = (program, run) => {
  program
    .command('up')
    .helpGroup('SET UP')
    .description('run the daemon in the foreground: works off the queue until Ctrl-C')
    .action(run(up))
}

/** Runs the engine of a home until the process is stopped, and serves the socket through which commands reach it. */
async function up(here: CommandContext) {
  const { stopped } = here
  const { log, flush } = await logFor(here)
  const logError = (error: unknown) =>
    log.tell(`error:  ${error instanceof Error ? error.message : error}`, { stack: stackOf(error) }, 'error')
  const heddle = await here.heddle((text) => log.tell(text))
  const app = heddle.as(owner)
  const cursor = await app.cursor()
  const work = await heddle.work()
  const done = new AbortController()
  const following = followInto(log, app, cursor, here, done.signal, logError)
  try {
    // Loaded lazily: no other command needs it.
    const { serve } = await import('../../gateway/server.ts')
    const health = { pid: process.pid, version, since: new Date(here.clock.now()).toISOString() }
    const { run: runFolder } = homePaths(here.home)
    const otherFolder = runtimeFolder(runFolder, here.env)
    const server = await serve(heddle, {
      runFolder,
      fallbackFolder: otherFolder,
      health,
      clock: here.clock,
      onError: logError,
    })
    const { resumed, quarantined } = work
    log.tell(`running: ${resumed.length} runs resumed, ${quarantined.length} quarantined; Ctrl-C stops`, {
      version,
      home: here.home,
      socket: server.path,
      resumed,
      quarantined,
    })
    if (!stopped.aborted) await once(stopped, 'abort')
    log.tell('stopping: unfinished work goes back to the queue')
    await server.stop()
  } finally {
    await work.stop()
    done.abort()
    await following
    log.tell('stopped')
    await flush()
  }
  return { json: { ok: true }, text: 'stopped; unfinished work is queued again' }
}

/** The log: plain lines on a terminal, JSON otherwise. */
async function logFor(here: CommandContext): Promise<{ log: DaemonLog; flush(): Promise<void> }> {
  const { stderr } = here.io
  const { flushStderr, jsonLog, plainLog, surviveLostReader } = await import('../live/daemon-log.ts')
  surviveLostReader(stderr)
  const hide = redactor(knownSecrets(await loadConfig(here.configFile, here.env, { userHome: here.userHome })))
  const isTerminal = stderr.isTTY === true && !here.json
  const log = isTerminal
    ? plainLog(hide, stderr, { ...here.screen, color: !here.env['NO_COLOR'] }, here.clock.now)
    : jsonLog(hide, stderr)
  return { log, flush: () => flushStderr(here.io, here.clock) }
}

/** Logs every event of the home once. A database error is logged, and reading resumes after a pause. */
async function followInto(
  log: DaemonLog,
  app: App,
  from: string | null,
  { clock }: CommandContext,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  let after = from ?? undefined
  while (!signal.aborted) {
    try {
      for await (const event of app.follow({ ...(after !== undefined && { after }), signal })) {
        after = event.cursor
        log.event(event)
      }
    } catch (error) {
      onError(error)
      await clock.sleep(errorPause, signal)
    }
  }
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? sourceStack(error) : undefined
}
