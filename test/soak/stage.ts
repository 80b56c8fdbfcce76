import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { mediocreRule, startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type Spoken, type Started, type TestHeddle } from '../cli/heddle.ts'
import type { Databases } from '../crash/databases.ts'
import type { Chance } from '../engine/simulator-schedule.ts'
import { compileCache } from '../setup/node.ts'
import type { SoakRow } from './rows.ts'

/** Agents at work at a time, over all daemons. */
export const mostAgents = 4
/** Seconds after which a killed process is known to be dead where no lock tells it; enough for a busy machine. */
const leaseSeconds = 3
/** A reply comes in pieces after a while, so that a kill finds calls at every stage. */
const [shortestThought, longestThought] = [20, 160]
const pieces = { pieceBytes: 600, pause: 10 }
const env = { NODE_COMPILE_CACHE: compileCache, SOAK_KEY: 'loopback' }

/** Where one plan is carried out: a provider with its log, a database, and real daemons that can be killed. */
export interface Stage {
  row: SoakRow
  directory: string
  provider: TestProvider
  providerLog: string
  database: string
  homes: string[]
  /** Runs a command as a person would, in the folder of the plan, and gives the document it prints. */
  json<T>(...args: string[]): Promise<T>
  /** Starts a command that stays. */
  start(...args: string[]): Started
  /** Starts the daemons that are not up, and resolves when they are at work. */
  startDaemons(): Promise<void>
  /** Ends one of the daemons, and resolves when it is gone. */
  endDaemon(which: number, signal: NodeJS.Signals): Promise<void>
  /** Leaves nothing behind; can be asked for again. */
  remove(): Promise<void>
}

export async function openStage(
  row: SoakRow,
  { databases, server, seed, chance }: { databases: Databases; server: string; seed: number; chance: Chance },
): Promise<Stage> {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-soak-'))
  const providerLog = join(directory, 'provider.jsonl')
  writeFileSync(providerLog, '')
  const answer = mediocreRule({ seed })
  const provider = await startProvider({
    log: providerLog,
    answer: async (request) => {
      await pause(shortestThought + chance(longestThought - shortestThought))
      return { ...answer(request), faults: pieces }
    },
  })
  const database = await databases.make(row.database === 'sqlite' ? 'sqlite' : server)
  const heddles: TestHeddle[] = Array.from({ length: row.daemons }, () => newHeddle({ agent: null }))
  const [first] = heddles as [TestHeddle]
  for (const heddle of heddles) {
    await heddle.run('init')
    writeFileSync(join(heddle.home, 'heddle.yaml'), settings(row, provider.url, database.url))
  }
  const daemons: (Started | undefined)[] = heddles.map(() => undefined)
  const others: Started[] = []
  const commands = new Set<Promise<Spoken>>()
  let removing: Promise<void> | undefined
  // Whoever is interrupted must leave no daemon behind that was just about to be started, and no home that a command made.
  const mustBeThere = () => {
    if (removing) throw new Error('the stage is gone')
  }
  const begin = (heddle: TestHeddle, ...args: string[]): Started => {
    mustBeThere()
    return heddle.startWith({ env, cwd: first.folder }, ...args)
  }
  const run = (args: string[]): Promise<Spoken> => {
    mustBeThere()
    const command = first.runWith({ env }, ...args).finally(() => commands.delete(command))
    commands.add(command)
    return command
  }

  const remove = async () => {
    for (const started of [...daemons, ...others]) started?.stop('SIGKILL')
    await Promise.all([...daemons, ...others].map((started) => started?.ended))
    await Promise.allSettled(commands)
    await provider.close()
    await database.drop()
    for (const heddle of heddles) heddle.remove()
    rmSync(directory, { recursive: true, force: true })
  }

  return {
    row,
    directory,
    provider,
    providerLog,
    database: database.url,
    homes: heddles.map(({ home }) => home),
    async json(...args) {
      for (;;) {
        const spoken = await run([...args, '--json'])
        if (spoken.code === 0) return JSON.parse(spoken.out)
        // It was killed over this very question; whoever asks again asks the next one, or the database.
        if (!spoken.out.includes('"code":"daemon_gone"')) fail(args, spoken)
      }
    },
    start(...args) {
      const started = begin(first, ...args)
      others.push(started)
      return started
    },
    async startDaemons() {
      await Promise.all(
        heddles.map(async (heddle, at) => {
          if (daemons[at]) return
          const daemon = begin(heddle, 'up')
          daemons[at] = daemon
          const ended = await Promise.race([daemon.says('running:'), daemon.ended])
          if (ended) fail(['up'], ended)
        }),
      )
    },
    async endDaemon(which, signal) {
      const daemon = daemons[which]
      daemons[which] = undefined
      daemon?.stop(signal)
      await daemon?.ended
    },
    remove() {
      removing ??= remove()
      return removing
    },
  }
}

function settings({ provider }: SoakRow, baseURL: string, database: string): string {
  const price = { input: 1, output: 2 }
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable is written this way.
  const model = { provider, model: 'tiny', baseURL, apiKey: '${SOAK_KEY}', contextWindow: 200_000, price }
  const most = { usd: 1000, tokens: 100_000_000, steps: 10_000 }
  return JSON.stringify({
    database,
    models: { main: model },
    agents: { maxConcurrent: mostAgents },
    engine: { leaseSeconds },
    memory: { narratives: false },
    budgets: { perRequest: most, perDay: { usd: most.usd } },
  })
}

function fail(args: string[], { code, signal, out, err }: Spoken): never {
  throw new Error(`heddle ${args.join(' ')} ended with ${signal ?? code}: ${out}${err.slice(-2000)}`)
}
