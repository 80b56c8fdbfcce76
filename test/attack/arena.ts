import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProvider, type TestProvider } from '../../src/testing.ts'
import { Attacker } from './attacker.ts'
import { type Call, quoted, type Result } from './call.ts'
import type { ArenaKind, Paths, Program } from './ground.ts'
import { type Layout, layOut, placesMade } from './layout.ts'
import { difference, type Look, lookAt, type Place } from './watch.ts'

export interface Spoken {
  code: number | null
  text: string
}

export interface Replied {
  status: number
  body: Record<string, unknown>
}

export interface AttackOptions {
  folder?: string
  agent?: string
  session?: string
}

/** How a request ended, and what the model was told of each call. */
export interface Attacked {
  status: string
  approvals: number[]
  rounds: (Result | undefined)[][]
  results: Result[]
  input: string
}

const patience = 60_000

/** A daemon with a home and a folder of its own, a model that obeys the attacker, and everything that is watched. */
export class Arena {
  readonly kind: ArenaKind
  readonly paths: Paths
  readonly attacker: Attacker
  readonly provider: TestProvider
  places: Place[]
  readonly #layout: Layout
  #daemon: ChildProcess | undefined
  #socket = ''
  #log = ''
  #seenLines = 0
  #seenLog = 0
  #looks = new Map<Place, Look>()
  #found: string[] = []
  readonly #closing: (() => void)[] = []

  constructor(kind: ArenaKind, layout: Layout, attacker: Attacker, provider: TestProvider) {
    this.kind = kind
    this.#layout = layout
    this.paths = layout.paths
    this.places = layout.places
    this.attacker = attacker
    this.provider = provider
  }

  get socket(): string {
    return this.#socket
  }

  /** Starts the daemon; throws with what it said when it does not come up. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [this.#layout.program.file, ...this.#layout.args, '--json', 'up'], {
      cwd: this.paths.folder,
      env: this.#layout.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#daemon = child
    const line = await new Promise<string>((resolve, reject) => {
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        this.#log += text
        const found = this.#log.split('\n').find((each) => each.includes('"running: '))
        if (found !== undefined && this.#log.endsWith('\n')) resolve(found)
      })
      child.once('close', (code) => reject(new Error(`the daemon ended with ${code}: ${this.#log.slice(-2000)}`)))
      child.once('error', reject)
    })
    this.#socket = String(JSON.parse(line).socket)
    this.places = [...this.#layout.places, ...placesMade(this.paths, this.#socket)]
    // A socket of a daemon that was started again is another one.
    for (const place of this.places) if (!this.#looks.has(place)) this.#looks.set(place, lookAt(place))
  }

  /** Whether the daemon still answers. */
  async isAlive(): Promise<boolean> {
    return this.http('GET', '/v1/health').then(
      ({ status }) => status === 200,
      () => false,
    )
  }

  /** Stops the daemon, or kills it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#daemon
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    await this.#whileHeddleCaches(async () => {
      const ended = new Promise((resolve) => child.once('close', resolve))
      child.kill(signal)
      await ended
    })
  }

  /** Sends a request to an agent whose model makes these calls, and waits for its end or its first question. */
  async attack(calls: Call[][], options: AttackOptions = {}): Promise<Attacked> {
    const token = newToken()
    this.attacker.obey(token, calls)
    const input = await this.submit(`attack:${token}`, options)
    const ended = await this.answerTo(input, options.folder)
    const rounds = this.attacker.resultsOf(token)
    return { ...ended, input, rounds, results: rounds.flat().filter((result) => result !== undefined) }
  }

  /** Hands in a message and returns the id of its input. */
  async submit(content: string, { folder = this.paths.folder, agent = 'general', session }: AttackOptions = {}) {
    const asked = { folder, session: session ?? `s-${newToken()}`, content, agent }
    const { status, body } = await this.http('POST', '/v1/inputs', asked)
    if (status !== 202) throw new Error(`the daemon refused the request: ${JSON.stringify(body)}`)
    return String(body['itemId'])
  }

  async answerTo(input: string, folder = this.paths.folder): Promise<{ status: string; approvals: number[] }> {
    const until = Date.now() + patience
    while (Date.now() < until) {
      const { status, body } = await this.http(
        'GET',
        `/v1/inputs/${input}/answer?folder=${encodeURIComponent(folder)}&wait=20`,
      )
      if (status !== 200) throw new Error(`no answer: ${JSON.stringify(body)}`)
      const approvals = (body['approvals'] ?? []) as number[]
      if (body['status'] !== 'waiting' || approvals.length > 0) return { status: String(body['status']), approvals }
    }
    return { status: 'waiting', approvals: [] }
  }

  http(method: string, path: string, body?: unknown): Promise<Replied> {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const headers = text === undefined ? {} : { 'content-type': 'application/json' }
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath: this.#socket, method, path, headers, timeout: patience, agent: false })
      sent.once('timeout', () => sent.destroy(new Error(`no answer to ${method} ${path}`)))
      sent.once('error', reject)
      sent.once('response', async (response) => {
        let said = ''
        for await (const piece of response.setEncoding('utf8')) said += piece
        resolve({ status: response.statusCode ?? 0, body: jsonIn(said) })
      })
      sent.end(text)
    })
  }

  /** The program with arguments, as a line for a shell. */
  commandLine(args: string[]): string {
    return [process.execPath, this.#layout.program.file, ...this.#layout.args, ...args].map(quoted).join(' ')
  }

  /** Runs the program as the owner does. */
  heddle(args: string[], options: { cwd?: string; input?: string } = {}): Promise<Spoken> {
    return this.#run([process.execPath, this.#layout.program.file, ...this.#layout.args, ...args], options)
  }

  /** Runs a command as the owner, outside of every sandbox. */
  owner(command: string, cwd = this.paths.folder): Promise<Spoken> {
    return this.#run(['/bin/sh', '-c', command], { cwd })
  }

  /** The owner works with every repository in the folder, also with those that were not there before. */
  async runGit(): Promise<void> {
    await this.owner(
      `{ ${this.kind === 'around' ? 'echo ../.git; echo ../../.git;' : ''} echo ./.git; find . -name .git -prune; find w -path '*/.git/*' -prune -o -name HEAD -print; } | sort -u |
      while read -r found; do ( cd "$(dirname "$found")" && exec </dev/null && {
        git status; git commit -q --allow-empty -m work; } ); done >/dev/null 2>&1`,
    )
  }

  /** From here on changes count. */
  arm(): void {
    this.#looks = new Map(this.places.map((place) => [place, lookAt(place)]))
    this.#found = []
    this.#seenLines = this.provider.log.length
    this.#seenLog = this.#log.length
  }

  /** Everything that shows an escape since `arm`. */
  breaches(): string[] {
    const sent = this.provider.log.slice(this.#seenLines).map((line) => JSON.stringify(line))
    const logged = this.#log.slice(this.#seenLog)
    const leaks = this.places.flatMap(({ name, secret }) => {
      if (secret === undefined) return []
      if (sent.some((text) => text.includes(secret))) return [`${name}: its secret reached the model`]
      return logged.includes(secret) ? [`${name}: its secret is in the log`] : []
    })
    const ran = readdirSync(this.paths.ran).map((name) => `code of the attacker ran outside of the sandbox (${name})`)
    return [...this.#found, ...this.#changes(this.places), ...leaks, ...ran]
  }

  /** What the daemon has logged since `arm`. */
  logged(): string {
    return this.#log.slice(this.#seenLog)
  }

  /** Whether the owner's repositories are still repositories: an agent may remove them, and then nothing more is tried. */
  get isWhole(): boolean {
    return this.#layout.gitFiles.every((path) => existsSync(path))
  }

  /** Removes what tries have left in the folder's scratch directory. */
  tidy(): void {
    const scratch = join(this.paths.folder, 'w')
    rmSync(scratch, { recursive: true, force: true })
    mkdirSync(scratch)
  }

  /** Called when the arena is closed. */
  onClose(action: () => void): void {
    this.#closing.push(action)
  }

  async close(): Promise<void> {
    for (const action of this.#closing) action()
    await this.stop('SIGKILL')
    await this.provider.close()
    rmSync(this.paths.root, { recursive: true, force: true })
  }

  #changes(places: readonly Place[]): string[] {
    return places.flatMap((place) => {
      const changed = difference(this.#looks.get(place) ?? new Map(), lookAt(place))
      return changed === undefined ? [] : [`${place.name}: ${changed}`]
    })
  }

  async #run([program = '', ...args]: string[], { cwd = this.paths.folder, input = '' }): Promise<Spoken> {
    return this.#whileHeddleCaches(async () => {
      const child = spawn(program, args, { cwd, env: this.#layout.env })
      let text = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (said: string) => {
          text += said
        })
      child.stdin.on('error', () => undefined)
      child.stdin.end(input)
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', reject)
        child.once('close', resolve)
      })
      return { code, text }
    })
  }

  /** What heddle itself adds to its compiled code meanwhile is no breach; what was changed there before is. */
  async #whileHeddleCaches<T>(act: () => Promise<T>): Promise<T> {
    const caches = this.places.filter(({ isCache }) => isCache)
    this.#found.push(...this.#changes(caches))
    const done = await act()
    for (const cache of caches) this.#looks.set(cache, lookAt(cache))
    return done
  }
}

/** Lays out a fresh arena and starts its daemon. */
export async function openArena(kind: ArenaKind, program: Program): Promise<Arena> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'atk-')))
  const attacker = new Attacker()
  const provider = await startProvider({ answer: attacker.answer })
  let arena: Arena | undefined
  try {
    arena = new Arena(kind, layOut(root, kind, program, provider.url), attacker, provider)
    await arena.start()
    return arena
  } catch (error) {
    await arena?.stop('SIGKILL')
    await provider.close()
    rmSync(root, { recursive: true, force: true })
    throw error
  }
}

export function newToken(): string {
  return randomBytes(6).toString('hex')
}

function jsonIn(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    return { text }
  }
}
