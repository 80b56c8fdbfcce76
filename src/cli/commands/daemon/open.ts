import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isInWorkFolder } from '../../../app/agents.ts'
import { loadConfig } from '../../../config/config.ts'
import type { Millis } from '../../../domain/clock.ts'
import { HeddleError } from '../../../domain/errors.ts'
import { type Daemon, findDaemon } from '../../../gateway/client.ts'
import { heddleProgram } from '../../../home/heddle-program.ts'
import { ensureHome, homePaths } from '../../../home/home.ts'
import { programOnPath } from '../../../home/program-on-path.ts'
import type { CommandContext, Register } from '../../command.ts'
import { signInUrl } from './web-settings.ts'

const startTimeout: Millis = 30_000
const lookEvery: Millis = 100
/** Programs that open an address in the browser of the user. */
const openers = ['xdg-open', 'open']

export const registerOpen: Register = (program, run) => {
  program
    .command('open')
    .helpGroup('SET UP')
    .description('open the page in your browser, signed in; starts the daemon if it is not up')
    .option('--print', 'print the link instead; it works once, for ten minutes')
    .option('--user <id>', 'a link for this user instead of you')
    .action(run(open))
}

async function open(here: CommandContext, _: string[], { print, user }: Record<string, unknown>) {
  const daemon = (await here.daemon()) ?? (await startDaemon(here))
  const { url } = daemon.health
  if (url === null) throw noPage('the daemon serves no page')
  const link = await daemon.createSignInLink(user === undefined ? null : String(user))
  const address = signInUrl(url, link, user === undefined ? here.folder : undefined)
  const json = { ok: true, url: address, user: link.user, expiresAt: link.expiresAt }
  if (print === true || here.json || user !== undefined) return { json, text: address }
  const isOpen = await openBrowser(here, address)
  return { json, text: isOpen ? `opened ${url} in your browser    --print shows the link` : address }
}

function noPage(message: string): HeddleError {
  return new HeddleError('no_page', message, 'set http.enabled: true in heddle.yaml, and restart: heddle up')
}

/** Starts a daemon that outlives this command, and waits until it answers. */
async function startDaemon(here: CommandContext): Promise<Daemon> {
  const { http } = await loadConfig(here.configFile, here.env, { userHome: here.userHome })
  if (!http.enabled) throw noPage('this home has no page: http.enabled is false')
  await ensureHome(here.home)
  const { run, upLog: file } = homePaths(here.home)
  rmSync(file, { force: true })
  const log = openSync(file, 'a', 0o600)
  const child = spawn(process.execPath, [heddleProgram, '--home', here.home, '--config', here.configFile, 'up'], {
    cwd: here.home,
    env: here.env,
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  here.tell(`starting the daemon; stop it with: heddle down; its log is ${file}`)
  const gone = new AbortController()
  child.once('error', () => gone.abort())
  child.once('exit', () => gone.abort())
  const deadline = here.clock.monotonic() + startTimeout
  while (!gone.signal.aborted && here.clock.monotonic() < deadline) {
    const daemon = await findDaemon(run, { clock: here.clock })
    if (daemon) {
      child.unref()
      return daemon
    }
    await here.clock.sleep(lookEvery, gone.signal)
  }
  throw new HeddleError('daemon_not_up', 'the daemon did not start', `its log says why: ${file}`)
}

/**
 * Opens a browser by a private file that leads to the address: arguments of a program can be read by every user of the
 * machine, and this address signs in the first who opens it.
 */
async function openBrowser({ home, env, clock, screen }: CommandContext, address: string): Promise<boolean> {
  if (!screen.isTerminal) return false
  const file = join(homePaths(home).run, 'open.html')
  const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${address}"><a href="${address}">heddle</a>\n`
  await writeFile(file, page, { mode: 0o600 })
  for (const name of openers) {
    const found = programOnPath(name, env['PATH'] ?? '', isInWorkFolder(home, clock))
    if (
      'program' in found &&
      (await exitsCleanly(spawn(found.program, [pathToFileURL(file).href], { env, stdio: 'ignore' })))
    )
      return true
  }
  return false
}

async function exitsCleanly(child: ChildProcess): Promise<boolean> {
  return once(child, 'exit').then(
    ([code]) => code === 0,
    () => false,
  )
}
