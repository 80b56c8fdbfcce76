import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, mkdtempSync, realpathSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { compileCache } from './node.ts'
import { ensurePackages, findProgram } from './packages.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Administers the test server: tests make and drop databases of their own through it. */
    postgresUrl: string
    /** How the schemas of this test run begin. */
    schemaPrefix: string
  }
}

/** Gives every test a PostgreSQL: the one named by HEDDLE_TEST_POSTGRES, else a private one for this run. */
export default async function providePostgres(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['HEDDLE_TEST_POSTGRES']
  process.env['NODE_COMPILE_CACHE'] ??= compileCache
  ensurePackages([...(given === undefined ? (['postgresql'] as const) : []), 'strace', 'bubblewrap'])
  const schemaPrefix = `t_${randomBytes(4).toString('hex')}_`
  project.provide('schemaPrefix', schemaPrefix)
  if (given !== undefined) {
    project.provide('postgresUrl', given)
    return () => dropSchemas(given, schemaPrefix)
  }
  const server = await startPostgres(project.getProvidedContext().databaseFolder)
  project.provide('postgresUrl', server.url)
  return server.stop
}

/** Leaves nothing of the run on a server that stays. */
async function dropSchemas(url: string, prefix: string): Promise<void> {
  const server = new pg.Client(url)
  await server.connect()
  const { rows } = await server.query('SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)', [prefix])
  for (const { nspname } of rows) await server.query(`DROP SCHEMA ${nspname} CASCADE`)
  await server.end()
}

// One process owns the server's whole life. Its input is both the list of ports to try and the sign of life of the
// test run: however the run ends, Ctrl-C and kill -9 included, the input closes, the server stops and its files go.
const keeper = `
bin=$1 dir=$2 settings=$3; shift 3
trap '"$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1; rm -rf "$dir"' EXIT
trap '' INT HUP TERM
answer() { "$@" >>"$dir/log" 2>&1 && echo yes || { cat "$dir/log" >&2; echo no; }; }
answer "$bin/initdb" -D "$dir/data" "$@"
while read -r port; do
  answer "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -o "-p $port $settings" -w start
done
`

const settings = ['-c listen_addresses=127.0.0.1', '-c max_connections=200'].join(' ')
// The server's files never outlive the run, so nothing is gained by forcing them to disk, except to measure that.
const onDisk = { durable: '', fast: ' -c fsync=off -c full_page_writes=off' }

/** How long the path of a socket may be on Linux. */
const maxSocketPath = 107

/** Starts a private server, which ends with this process at the latest. */
export async function startPostgres(
  parent = tmpdir(),
  durability: keyof typeof onDisk = 'fast',
): Promise<{ url: string; stop: () => Promise<void> }> {
  // A link on the PATH may lead to initdb alone; its sister programs are where it really is.
  const bin = dirname(realpathSync(findProgram('initdb') ?? ''))
  const user = serverUser()
  const directory = mkdtempSync(join(parent, 'heddle-postgres-'))
  if (user) chownSync(directory, user.uid, user.gid)
  const access = ['--username=postgres', '--auth=trust', '--no-sync']
  // Over a socket in the file system, a statement takes two thirds of the processor time that it takes over TCP.
  const hasSocket = Buffer.byteLength(join(directory, '.s.PGSQL.65535')) <= maxSocketPath
  const words = `${settings}${onDisk[durability]} -c unix_socket_directories=${hasSocket ? directory : ''}`
  const child = spawn('/bin/sh', ['-c', keeper, '-', bin, directory, words, ...access, ...textOptions(bin)], {
    ...user,
    cwd: directory,
    // A group of its own: Ctrl-C shall reach it as a closed input, not in the middle of its work.
    detached: true,
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const saysYes = async () => (await answers.next()).value === 'yes'

  const isInitialised = await saysYes()
  // A port that was free when we looked may be taken by the time the server asks for it.
  for (let attempt = 0; isInitialised && attempt < 5; attempt++) {
    const port = await freePort()
    child.stdin.write(`${port}\n`)
    const host = hasSocket ? encodeURIComponent(directory) : '127.0.0.1'
    if (await saysYes()) return { url: `postgres://postgres@${host}:${port}/postgres`, stop: () => closed(child) }
  }
  await closed(child)
  throw new Error(`PostgreSQL for the tests did not start:\n${complaints}`)
}

async function closed(child: ChildProcessWithoutNullStreams): Promise<void> {
  const exit = once(child, 'exit')
  child.stdin.end()
  await exit
}

/** PostgreSQL refuses to run as root; Debian's package brings a user for it. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

// Servers in use sort text by language rather than by byte: an ORDER BY that relies on bytes must fail here, not there.
function textOptions(bin: string): string[] {
  const help = execFileSync(join(bin, 'initdb'), ['--help'], { encoding: 'utf8' })
  const byLanguage = help.includes('--icu-locale') ? ['--locale-provider=icu', '--icu-locale=en'] : []
  return ['--encoding=UTF8', '--locale=C', ...byLanguage]
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address and a port')
  return address.port
}
