import { once } from 'node:events'
import { resolve } from 'node:path'
import { loadConfig } from '../config/config.ts'
import type { App } from '../domain/app.ts'
import { crashAt } from '../domain/crash-points.ts'
import { type Daemon, findDaemon } from '../gateway/client.ts'
import { localDoor } from '../gateway/local-door.ts'
import { folderFor } from '../home/folder.ts'
import { ensureHome, homePaths, resolveHome, userHomeOf } from '../home/home.ts'
import { secretReader } from '../home/secrets.ts'
import { systemClock } from '../system.ts'
import type { Here } from './cli.ts'
import type { CommandIo, Signals } from './io.ts'

const narrowest = 40
const usual = 80
const usualRows = 24

/** Finds out who asks and where they stand. Nothing is opened or made before a command asks for it. */
export async function standHere(
  flags: { home?: string; config?: string; json?: boolean },
  env: NodeJS.ProcessEnv,
  io: CommandIo,
): Promise<Here & AsyncDisposable> {
  const userHome = userHomeOf(env)
  const pathOf = (file: string) => resolve(io.cwd, file)
  const home = resolveHome({ env, userHome, cwd: io.cwd, ...(flags.home !== undefined && { flag: flags.home }) })
  const paths = homePaths(home)
  const secrets = secretReader(paths.secrets)
  const configFile = flags.config === undefined ? paths.config : pathOf(flags.config)
  const crash = crashAt(env['HEDDLE_CRASH_AT'], () => process.kill(process.pid, 'SIGKILL'))
  const tell = (text: string) => void io.stderr.write(`${text}\n`)
  const settings = async (tell: (text: string) => void) => {
    const { created } = await ensureHome(home)
    if (created.includes(home)) tell(`made ${home} (private to you); nothing else was touched`)
    const config = await loadConfig(configFile, env, { userHome, secrets, mustExist: flags.config !== undefined })
    return {
      paths: { ...paths, config: configFile },
      config,
      env,
      tell,
      context: { crash },
      paced: io.stdout.isTTY === true,
    }
  }
  let opened: Promise<App> | undefined
  let found: Promise<Daemon | undefined> | undefined
  const app: Here['app'] = (told = tell) => {
    // With a daemon most commands need none of the rooms themselves.
    opened ??= settings(told).then(async (found) => (await import('../app.ts')).openApp(found))
    return opened
  }
  const daemon: Here['daemon'] = () => {
    found ??= findDaemon(paths.run, systemClock, () => tell('the daemon does not answer, going on without it'))
    return found
  }
  return {
    home,
    configFile,
    folder: await folderOf({ home, configFile, env, userHome, io }),
    screen: screenOf(env, io),
    json: flags.json === true,
    env,
    io,
    userHome,
    pathOf,
    clock: systemClock,
    crash,
    app,
    daemon,
    door: async () => (await daemon()) ?? localDoor(await app()),
    restore: async (file) => (await import('../app.ts')).restoreApp(await settings(tell), pathOf(file)),
    restoreFacts: async (file) => (await import('../app.ts')).restoreFacts(await settings(tell), pathOf(file)),
    get stopped() {
      return firstInterrupt(io.signals)
    },
    tell,
    write: async (text) => {
      if (!io.stdout.write(text)) await once(io.stdout, 'drain')
    },
    async [Symbol.asyncDispose]() {
      await (await opened?.catch(() => undefined))?.close()
    },
  }
}

/** A configuration that cannot be read must not keep `config edit` or `doctor` from mending it. */
async function folderOf({
  home,
  configFile,
  env,
  userHome,
  io,
}: Pick<Here, 'home' | 'configFile' | 'env' | 'userHome' | 'io'>): Promise<string> {
  const config = await loadConfig(configFile, env, { userHome }).catch(() => undefined)
  return folderFor(io.cwd, {
    userHome,
    home,
    workspace: config?.workspace ?? resolve(userHome, 'heddle-workspace'),
  })
}

function screenOf(env: NodeJS.ProcessEnv, { stdout }: CommandIo): Here['screen'] {
  const isTerminal = stdout.isTTY === true
  return {
    // Asked for each time: a person may make the window larger.
    get columns() {
      return isTerminal ? Math.max(narrowest, stdout.columns || usual) : usual
    },
    get rows() {
      return stdout.rows || usualRows
    },
    isTerminal: isTerminal && env['TERM'] !== 'dumb',
    color: isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
  }
}

function firstInterrupt(signals: Signals): AbortSignal {
  const stop = new AbortController()
  signals.once('SIGINT', () => stop.abort())
  signals.once('SIGTERM', () => stop.abort())
  return stop.signal
}
