import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

// Debian keeps the server's programs off the PATH, one directory for each major version.
const serverDirectories = ['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin']

/** The system packages that tests may ask for, each with a program that shows it is there. */
const programOf = {
  postgresql: 'initdb',
  strace: 'strace',
  bubblewrap: 'bwrap',
  prometheus: 'promtool',
  chromium: 'chromium',
  'chromium-headless-shell': 'chromium-headless-shell',
} as const
export type SystemPackage = keyof typeof programOf

/** Where a program is, preferring the PATH, then the newest PostgreSQL. */
export function findProgram(name: string): string | undefined {
  const newestFirst = globSync(serverDirectories).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), ...newestFirst]
  return directories.map((directory) => join(directory, name)).find((path) => existsSync(path))
}

/** Installs what is missing where that is possible without a question; otherwise throws one line that says what to do. */
export function ensurePackages(packages: readonly SystemPackage[]): void {
  const missing = packages.filter((name) => findProgram(programOf[name]) === undefined)
  if (missing.length === 0) return
  const command = `apt-get install -y ${missing.join(' ')}`
  if (!canInstall()) {
    throw advice(`The tests need ${missing.join(' and ')}: install with your package manager (Debian: sudo ${command})`)
  }
  console.error(`The tests need ${missing.join(' and ')}: installing with ${command}`)
  if (!aptInstall(missing).ok) {
    aptGet(['update'])
    const second = aptInstall(missing)
    if (!second.ok) throw advice(`${command} failed: ${second.lastLine}`)
  }
}

/** Installs what only makes the tests quicker, where that is possible without a question; without it they run too. */
export function installIfOffered(name: SystemPackage): void {
  if (findProgram(programOf[name]) !== undefined || !canInstall()) return
  console.error(`The tests are quicker with ${name}: installing it`)
  aptInstall([name])
}

function canInstall(): boolean {
  return process.getuid?.() === 0 && findProgram('apt-get') !== undefined
}

/** An error without a stack: the one line is all that helps, and a stack would bury it. */
function advice(line: string): Error {
  const error = new Error(line)
  error.stack = `Error: ${line}`
  return error
}

function aptInstall(packages: readonly string[]) {
  return aptGet(['install', '-y', '--no-install-recommends', ...packages])
}

function aptGet(args: readonly string[]) {
  const patience = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::http::Timeout=30']
  const { status, stdout, stderr } = spawnSync('apt-get', [...patience, ...args], {
    encoding: 'utf8',
    // RUNLEVEL keeps Debian from starting a database server of its own on the standard port.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  })
  return { ok: status === 0, lastLine: `${stdout}\n${stderr}`.trim().split('\n').at(-1) ?? '' }
}
