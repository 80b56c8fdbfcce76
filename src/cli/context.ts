import { resolve } from 'node:path'
import type { Heddle } from '../api/heddle.ts'
import { assertConfigFile, configReader } from '../config/config.ts'
import type { Clock } from '../domain/clock.ts'
import { crashAt } from '../domain/crash-points.ts'
import { UsageError } from '../domain/errors.ts'
import type { Daemon } from '../gateway/client.ts'
import { localClient } from '../gateway/local-client.ts'
import { findSocket } from '../gateway/socket-place.ts'
import { folderFor } from '../home/folder.ts'
import { ensureHome, homePaths, resolveHome, userHomeOf } from '../home/home.ts'
import { secretReader } from '../home/secrets.ts'
import type { CommandContext } from './command.ts'
import type { CommandIo } from './io.ts'
import { printable } from './terminal/screen.ts'

const minColumns = 40
const defaultColumns = 80
const defaultRows = 24

/** Creates the context of a command. Nothing is opened or created before the command asks for it. */
export async function openContext(
  flags: { home?: string; config?: string; host?: string; token?: string; json?: boolean },
  env: NodeJS.ProcessEnv,
  io: CommandIo,
  main: (argv: string[], env: NodeJS.ProcessEnv, io: CommandIo) => Promise<number>,
): Promise<CommandContext & AsyncDisposable> {
  const userHome = userHomeOf(env)
  const pathOf = (file: string) => {
    if (file.trim() === '' || file.includes('\0'))
      throw new UsageError(`"${printable(file)}" is not a path`, 'give a file or a folder')
    return resolve(io.cwd, file)
  }
  const home = resolveHome({ env, userHome, cwd: io.cwd, ...(flags.home !== undefined && { flag: flags.home }) })
  const paths = homePaths(home)
  const secrets = secretReader(paths.secrets)
  const configFile = flags.config === undefined ? paths.config : pathOf(flags.config)
  // Checked for every command: one that reads no setting would accept a wrong path silently.
  if (flags.config !== undefined) await assertConfigFile(configFile)
  const token = tokenFrom(flags.token, env)
  const host = hostFrom(flags.host ?? (env['HEDDLE_HOST'] || undefined))
  const remote = host === undefined ? undefined : await remoteAt(host, tokenFor(host, token), io.clock)
  const crash = crashAt(env['HEDDLE_CRASH_AT'], () => process.kill(process.pid, 'SIGKILL'))
  const tell = (text: string) => void io.stderr.write(`${text}\n`)
  let told: string[] = []
  // An invalid configuration is ignored here, so that `config edit` and `doctor` still work.
  const readConfig = configReader(configFile, env, { userHome, secrets })
  const stored = await readConfig().catch(() => undefined)
  const settings = async (tell: (text: string) => void) => {
    const { created } = await ensureHome(home)
    if (created.includes(home)) tell(`created ${home} (private to you); nothing else was touched`)
    const config = await readConfig()
    return {
      paths: { ...paths, config: configFile },
      config,
      env,
      tell: (text: string) => void (told.includes(text) || tell(text)),
      context: { crash, clock: io.clock },
      paced: io.stdout.isTTY === true,
    }
  }
  let opened: Promise<Heddle> | undefined
  let found: Promise<Daemon | undefined> | undefined
  let stopped: AbortSignal | undefined
  const heddle: CommandContext['heddle'] = async (notify = tell) => {
    if (remote) throw notThere(remote.place)
    // Loaded lazily: with a daemon most commands do not need the engine.
    opened ??= settings(notify).then(async (found) => (await import('../app/app.ts')).openApp(found))
    return opened
  }
  const app: CommandContext['app'] = async () => {
    const local = await heddle()
    return localClient(local, local.as(await local.identify(token)))
  }
  const findKnownDaemon = async () => {
    if (remote) return remote
    // The client has every route, which few commands need where no daemon is.
    if (findSocket(paths.run) === undefined) return undefined
    const { findDaemon } = await import('../gateway/client.ts')
    const daemon = await findDaemon(paths.run, {
      clock: io.clock,
      ...(token !== undefined && { token }),
      onSilence: () => tell('the daemon does not answer, continuing without it'),
    })
    // The engine says this itself when it is opened.
    if (!daemon || !stored || opened) return daemon
    const { permissionErrors } = await import('../app/permission-names.ts')
    told = permissionErrors(stored)
    for (const text of told) tell(text)
    return daemon
  }
  const daemon: CommandContext['daemon'] = () => {
    found ??= findKnownDaemon()
    return found
  }
  return {
    home,
    configFile,
    // Folders of this machine mean nothing on another.
    folder: remote
      ? (remote.folder ?? '/')
      : await folderFor(io.cwd, {
          userHome,
          home,
          workspace: stored?.workspace ?? resolve(userHome, 'heddle-workspace'),
        }),
    screen: screenOf(env, io),
    json: flags.json === true,
    env,
    io,
    userHome,
    pathOf,
    clock: io.clock,
    crash,
    heddle,
    app,
    daemon,
    client: async () => (await daemon()) ?? app(),
    restore: async (file) => (await import('../app/app.ts')).restoreApp(await settings(tell), pathOf(file)),
    restoreFacts: async (file) => (await import('../app/app.ts')).restoreFacts(await settings(tell), pathOf(file)),
    get stopped() {
      stopped ??= stopSignal(io)
      return stopped
    },
    runCommand: (argv, ownIo) => {
      const { home, config, host, token } = flags
      const given = Object.entries({ home, config, host, token }).flatMap(([name, value]) =>
        value === undefined ? [] : [`--${name}=${value}`],
      )
      return main([...given, ...argv], env, ownIo)
    },
    tell,
    // Waits for the callback, not for `drain`: after an error, as of a closed terminal, no `drain` comes.
    write: (text) =>
      new Promise((resolve) => {
        if (io.stdout.write(text, () => resolve())) resolve()
      }),
    async [Symbol.asyncDispose]() {
      await (await opened?.catch(() => undefined))?.close()
    },
  }
}

async function remoteAt(host: string, token: string, clock: Clock) {
  return (await import('../gateway/client.ts')).remoteDaemon(host, token, clock)
}

/** The address of another machine's daemon; undefined for the one of this home. */
function hostFrom(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null
  if (url && url.href === `${url.origin}/` && url.username === '') return url.origin
  throw new UsageError(`"${text}" is not the address of a heddle`, 'write --host https://heddle.example.org:7433')
}

function tokenFor(host: string, token: string | undefined): string {
  if (token !== undefined) return token
  throw new UsageError(
    `${host} needs a token`,
    'make one there with heddle tokens create --owner, and set HEDDLE_TOKEN to it',
    'no_token',
  )
}

function notThere(host: string): UsageError {
  return new UsageError(`this is not possible on ${host}`, 'run it on that machine, without --host', 'not_remote')
}

/** The token of the caller; undefined for the owner. */
function tokenFrom(flag: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  const token = flag ?? (env['HEDDLE_TOKEN'] || undefined)
  if (token === undefined || /^[\x21-\x7e]{1,500}$/.test(token)) return token
  const name = flag === undefined ? 'HEDDLE_TOKEN' : '--token'
  throw new UsageError(
    `the value of ${name} is not a token`,
    'copy it whole, without spaces; without one you are the owner',
  )
}

function screenOf(env: NodeJS.ProcessEnv, { stdout }: CommandIo): CommandContext['screen'] {
  const isTerminal = stdout.isTTY === true
  return {
    // Read each time: the window may be resized.
    get columns() {
      return isTerminal ? Math.max(minColumns, stdout.columns || defaultColumns) : defaultColumns
    },
    get rows() {
      return stdout.rows || defaultRows
    },
    isTerminal: isTerminal && env['TERM'] !== 'dumb',
    color: isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
  }
}

/**
 * Aborts at the first Ctrl-C, SIGTERM or SIGHUP (a closed terminal). A second Ctrl-C ends the process at once; a second
 * SIGTERM or SIGHUP does not, since programs have SIGKILL for that.
 */
function stopSignal({ signals, exit }: CommandIo): AbortSignal {
  const stop = new AbortController()
  let interrupts = 0
  signals.on('SIGINT', () => {
    if (++interrupts > 1) exit(130)
    stop.abort()
  })
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) signals.on(signal, () => stop.abort())
  return stop.signal
}
