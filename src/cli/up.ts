import { once } from 'node:events'
import { loadConfig } from '../config/config.ts'
import { hiding, knownSecrets } from '../config/secrets.ts'
import type { App } from '../domain/app.ts'
import { homePaths } from '../home/home.ts'
import { runtimeFolder } from '../home/socket-folder.ts'
import { version } from '../version.ts'
import type { Here, Register } from './cli.ts'
import type { DaemonLog } from './daemon-log.ts'

const pauseAfterTrouble = 1000

export const registerUp: Register = (program, run) => {
  program
    .command('up')
    .helpGroup('SET UP')
    .description('run what is queued, in the foreground, until Ctrl-C')
    .action(run(up))
}

/** The engine of a home for as long as this process lives, and the socket through which commands reach it. */
async function up(here: Here) {
  const { stopped } = here
  const { log, flush } = await logFor(here)
  const trouble = (error: unknown) =>
    log.tell(`trouble: ${error instanceof Error ? error.message : error}`, { stack: stackOf(error) }, 'error')
  const app = await here.app((text) => log.tell(text))
  const cursor = await app.cursor()
  const work = await app.work()
  const done = new AbortController()
  const following = followInto(log, app, cursor, here, done.signal, trouble)
  try {
    // Loaded here, so that no other command waits for it.
    const { serve } = await import('../gateway/server.ts')
    const health = { pid: process.pid, version, since: new Date(here.clock.now()).toISOString() }
    const { run: runFolder } = homePaths(here.home)
    const otherFolder = runtimeFolder(runFolder, here.env)
    const server = await serve(app, { runFolder, otherFolder, health, clock: here.clock, onTrouble: trouble })
    const { resumed, quarantined } = work
    log.tell(`at work: ${resumed.length} runs resumed, ${quarantined.length} quarantined; Ctrl-C stops`, {
      version,
      home: here.home,
      socket: server.path,
      resumed,
      quarantined,
    })
    if (!stopped.aborted) await once(stopped, 'abort')
    log.tell('stopping: what is under way goes back to the queue')
    await server.stop()
  } finally {
    await work.stop()
    done.abort()
    await following
    log.tell('stopped')
    await flush()
  }
  return { json: { ok: true }, text: 'stopped; what was under way is queued again' }
}

/** JSON for whoever collects logs, lines for a person who looks on. */
async function logFor(here: Here): Promise<{ log: DaemonLog; flush(): Promise<void> }> {
  const { stderr } = here.io
  const { flushStderr, jsonLog, plainLog, surviveLostReader } = await import('./daemon-log.ts')
  surviveLostReader(stderr)
  const hide = hiding(knownSecrets(await loadConfig(here.configFile, here.env, { userHome: here.userHome })))
  const isSeen = stderr.isTTY === true && !here.json
  const log = isSeen
    ? plainLog(hide, stderr, { ...here.screen, color: !here.env['NO_COLOR'] }, here.clock.now)
    : jsonLog(hide, stderr)
  return { log, flush: () => flushStderr(here.io, here.clock) }
}

/** Logs every event of the home, each once. Rows that cannot be reached for a while are told of, and read on later. */
async function followInto(
  log: DaemonLog,
  app: App,
  from: string | null,
  { clock }: Here,
  signal: AbortSignal,
  trouble: (error: unknown) => void,
): Promise<void> {
  let after = from ?? undefined
  while (!signal.aborted) {
    try {
      for await (const event of app.follow({ ...(after !== undefined && { after }), signal })) {
        after = event.cursor
        log.event(event)
      }
    } catch (error) {
      trouble(error)
      await clock.sleep(pauseAfterTrouble, signal)
    }
  }
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined
}
