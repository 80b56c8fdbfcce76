import { once } from 'node:events'
import type { App } from '../../../api/app.ts'
import { type Config, loadConfig } from '../../../config/config.ts'
import { knownSecrets, redactor } from '../../../config/secrets.ts'
import { owner } from '../../../domain/access/principal.ts'
import type { Millis } from '../../../domain/clock.ts'
import { homePaths } from '../../../home/home.ts'
import { runtimeFolder } from '../../../home/socket-folder.ts'
import { version } from '../../../version.ts'
import type { CommandContext, Register } from '../../command.ts'
import type { DaemonLog } from '../../live/daemon-log.ts'
import { sourceStack } from '../../source-stack.ts'
import { signInUrl, webSettings } from './web-settings.ts'

const errorPause: Millis = 1000

export const registerUp: Register = (program, run) => {
  program
    .command('up')
    .helpGroup('SET UP')
    .description('run the daemon in the foreground, until Ctrl-C')
    .option('--port <number>', 'the port of the page (default: http.port, else 7433 or a free one near it)')
    .option('--no-http', 'only the private socket: no page, no other machines')
    .action(run(up))
}

/** Runs the engine of a home until the process is stopped, and serves the socket through which commands reach it. */
async function up(here: CommandContext, _: string[], options: Record<string, unknown>) {
  const { stopped } = here
  const config = await loadConfig(here.configFile, here.env, { userHome: here.userHome })
  const web = await webSettings(config, options)
  const { log, flush } = await logFor(here, config)
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
    const { serve } = await import('../../../gateway/server.ts')
    const health = { pid: process.pid, version, since: new Date(here.clock.now()).toISOString() }
    const { run: runFolder } = homePaths(here.home)
    const otherFolder = runtimeFolder(runFolder, here.env)
    const { resumed, quarantined, lost, unknownCalls } = work
    const recovered = { resumed, quarantined, lost, unknownCalls }
    const server = await serve(heddle, {
      runFolder,
      fallbackFolder: otherFolder,
      health,
      clock: here.clock,
      onError: logError,
      ...(web && {
        web: { ...web, home: { name: config.name, folder: here.home, workspace: config.workspace, recovered } },
      }),
    })
    log.tell(`running: ${resumed.length} runs resumed, ${quarantined.length} quarantined; Ctrl-C stops`, {
      version,
      home: here.home,
      socket: server.path,
      url: server.url,
      resumed,
      quarantined,
    })
    // A log, which others may read, holds no code.
    if (server.url !== null && here.io.stderr.isTTY === true && !here.json)
      log.tell(`page:  ${signInUrl(server.url, await app.createSignInLink())}    (works once, for ten minutes)`)
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
async function logFor(here: CommandContext, config: Config): Promise<{ log: DaemonLog; flush(): Promise<void> }> {
  const { stderr } = here.io
  const { flushStderr, jsonLog, plainLog, surviveLostReader } = await import('../../live/daemon-log.ts')
  const { keepLogSmall } = await import('../../live/log-file.ts')
  surviveLostReader(stderr)
  const hide = redactor(knownSecrets(config))
  const isTerminal = stderr.isTTY === true && !here.json
  const log = isTerminal
    ? plainLog(hide, stderr, { ...here.screen, color: !here.env['NO_COLOR'] }, here.clock.now)
    : jsonLog(hide, stderr, keepLogSmall(homePaths(here.home).upLog, stderr))
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
