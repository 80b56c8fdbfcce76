import { once } from 'node:events'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { loadConfig } from '../config/config.ts'
import type { App } from '../domain/app.ts'
import { crashAt } from '../domain/crash-points.ts'
import { type Daemon, findDaemon } from '../gateway/client.ts'
import { localDoor } from '../gateway/local-door.ts'
import { folderFor } from '../home/folder.ts'
import { ensureHome, homePaths, resolveHome } from '../home/home.ts'
import { secretReader } from '../home/secrets.ts'
import { systemClock } from '../system.ts'
import type { Here } from './cli.ts'

const narrowest = 40
const usual = 80
const usualRows = 24

/** Finds out who asks and where they stand. Nothing is opened or made before a command asks for it. */
export async function standHere(
  flags: { home?: string; config?: string; json?: boolean },
  env: NodeJS.ProcessEnv,
): Promise<Here & AsyncDisposable> {
  const userHome = homedir()
  const home = resolveHome({ env, userHome, ...(flags.home !== undefined && { flag: flags.home }) })
  const paths = homePaths(home)
  const secrets = secretReader(paths.secrets)
  const configFile = flags.config === undefined ? paths.config : resolve(flags.config)
  const crash = crashAt(env['HEDDLE_CRASH_AT'], () => process.kill(process.pid, 'SIGKILL'))
  const tell = (text: string) => void process.stderr.write(`${text}\n`)
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
      paced: process.stdout.isTTY === true,
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
    folder: await folderOf(home, configFile, env, userHome),
    screen: screenOf(env),
    json: flags.json === true,
    env,
    clock: systemClock,
    crash,
    app,
    daemon,
    door: async () => (await daemon()) ?? localDoor(await app()),
    restore: async (file) => (await import('../app.ts')).restoreApp(await settings(tell), resolve(file)),
    restoreFacts: async (file) => (await import('../app.ts')).restoreFacts(await settings(tell), resolve(file)),
    get stopped() {
      return firstInterrupt()
    },
    tell,
    write: async (text) => {
      if (!process.stdout.write(text)) await once(process.stdout, 'drain')
    },
    async [Symbol.asyncDispose]() {
      await (await opened?.catch(() => undefined))?.close()
    },
  }
}

/** A configuration that cannot be read must not keep `config edit` or `doctor` from mending it. */
async function folderOf(home: string, configFile: string, env: NodeJS.ProcessEnv, userHome: string): Promise<string> {
  const config = await loadConfig(configFile, env, { userHome }).catch(() => undefined)
  return folderFor(process.cwd(), {
    userHome,
    home,
    workspace: config?.workspace ?? resolve(userHome, 'heddle-workspace'),
  })
}

function screenOf(env: NodeJS.ProcessEnv): Here['screen'] {
  const { stdout } = process
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

function firstInterrupt(): AbortSignal {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  return stop.signal
}
