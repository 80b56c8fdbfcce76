import { readFileSync, watch } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AppSettings } from '../../src/app/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { type CrashPoint, crashAt } from '../../src/domain/crash-points.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { systemClock, systemRandom } from '../../src/system.ts'
import { input, say } from '../contract/speech.ts'
import { type OwnerApp, openOwnerApp } from '../setup/owner-app.ts'
import { untilSo } from '../setup/until.ts'
import { approveAll } from './approve-all.ts'
import { hostOf } from './host.ts'
import { houseOf } from './house.ts'
import { anyPlace } from './places.ts'
import type { Passes, Said } from './said.ts'
import { type Person, type ScenarioName, scenarioNamed } from './scenarios.ts'
import { loggedTools } from './tools.ts'
import { isWriteLocked } from './write-lock.ts'

/** What a process is to do with a home, and where it finds the rest of the world. */
export interface Act {
  /** Whom others know it as. */
  name: string
  scenario: ScenarioName
  /** The parts of the scenario that it plays; none for one that only works. */
  plays: ('first' | 'second' | 'again')[]
  /** What the processes before it said. */
  heard: Said[]
  /** Works for one session only, as a home allows any number of processes to. */
  isBound: boolean
  /** Goes on working until it is told that the others are done. */
  lingers: boolean
  leaseSeconds: number
  /** `point#n`: stops there or, inside a write of SQLite, at the next point after it, until somebody lets it go on. */
  stopAt?: string
  /** A tool that keeps the event loop from turning does so until this file is there. */
  stallUntil?: string
  home: string
  database: string
  providerUrl: string
  providerLog: string
  toolLog: string
}

const asked = input<Act>()
const scenario = scenarioNamed(asked.scenario)
const folder = scenario.hasFolder ? join(dirname(asked.home), 'work') : '/crash'
const session = 'main'
const unheard = ['commit_unknown', 'database_unreachable', 'database_busy']
const passes: Passes = {}
/** After so long without a heartbeat a process gives its runs back, and others may take them. */
const riskAfter = asked.leaseSeconds * 800
let lastBeat = Number.POSITIVE_INFINITY
// Whoever started us takes us along when it goes.
process.on('disconnect', () => process.exit(1))
const othersAreDone = new Promise((resolve) => process.once('message', resolve))
const firstIsPlayed = Promise.withResolvers<void>()
if (scenario.before) await scenario.before(houseOf({ open, folder, settings: await settings(), tell: speak }))
const app = await open()
const work = await app.work(asked.isBound ? { folder, session } : undefined)
speak({ ready: true })
const me: Person = {
  ask,
  sees,
  cancel,
  schedule,
  approveAll: () => approveAll({ app, quiet, insist }),
  undoAll,
  findByMeaning,
  ...hostOf({ app, folder, heard: asked.heard, speak, insist }),
}
await Promise.all(
  asked.plays.map(async (part) => {
    await scenario[part]?.(me)
    if (part === 'first') firstIsPlayed.resolve()
  }),
)
if (asked.lingers) await othersAreDone
await quiet()
speak({ quiet: true })
await work.stop()
await app.close()
speak({ passes })
process.exit(0)

async function open(): Promise<OwnerApp> {
  return openOwnerApp(await settings())
}

async function settings() {
  await ensureHome(asked.home)
  const paths = homePaths(asked.home)
  const usual = await loadConfig(paths.config, {})
  const config = scenario.config?.(usual) ?? usual
  const { perRequest } = config.budgets
  const die = () => process.kill(process.pid, 'SIGKILL')
  const setting = process.env['HEDDLE_CRASH_AT']
  const dieAt = crashAt(setting, die)
  let placesLeft = setting?.startsWith(`${anyPlace}#`) ? Number(setting.split('#')[1]) : 0
  let shallStop = false
  const stopAt = crashAt(asked.stopAt, () => {
    shallStop = true
  })
  return {
    paths,
    env: {},
    config: {
      ...config,
      database: asked.database,
      models: {
        loopback: {
          provider: 'openai-compatible',
          model: 'loopback',
          baseURL: asked.providerUrl,
          price: { input: 1, output: 2 },
          ...(scenario.window !== undefined && { contextWindow: scenario.window }),
        },
      },
      agent: { ...config.agent, model: 'loopback', default: scenario.agent ?? '@general' },
      budgets: { ...config.budgets, perRequest: { ...perRequest, tokens: scenario.budget ?? perRequest.tokens } },
      engine: { ...config.engine, leaseSeconds: asked.leaseSeconds },
      memory: {
        ...config.memory,
        narratives: false,
        ...(scenario.hasEmbedder && { embedder: { baseURL: asked.providerUrl, model: 'embedder' } }),
      },
    },
    tools: loggedTools(asked.toolLog, () => speak({ stalling: true }), asked.stallUntil),
    tell: (told: string) => told.startsWith('trouble') && speak({ trouble: told }),
    context: {
      clock: systemClock,
      random: systemRandom,
      crash(point: CrashPoint) {
        passes[point] = (passes[point] ?? 0) + 1
        if (point === 'owner.after_commit') tellOfSilence()
        dieAt(point)
        if (!point.startsWith('owner.') && --placesLeft === 0) die()
        stopAt(point)
        if (!shallStop || (asked.database === 'sqlite' && isWriteLocked(asked.home))) return
        shallStop = false
        speak({ stopping: true })
        process.kill(process.pid, 'SIGSTOP')
      },
    },
  } satisfies AppSettings
}

async function ask(content: string, wishes: object = {}): Promise<void> {
  const question = { session, content, dedupeKey: content, ...wishes }
  const { itemId } = await insist(() => app.submit(folder, question))
  speak({ accepted: itemId, content })
}

/** A server hangs up on a process that sleeps inside a transaction; it does not know what came of it, and asks again. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof HeddleError && unheard.includes(error.code))) throw error
      speak({ trouble: error.message })
    }
  }
}

/** As people do who do not know whether it was saved: they look. */
async function schedule(name: string, message: string): Promise<void> {
  const isThere = async () => (await app.jobs()).some((job) => job.name === name)
  // On a busy machine the moment may be over before it is looked at: it is refused then.
  const add = (at: string) =>
    app.addJob(folder, { name, message, at, deliver: [`session:${session}`] }).catch((error) => {
      if (!(error instanceof HeddleError && error.code === 'bad_schedule')) throw error
    })
  while (!(await insist(isThere))) await insist(() => add(new Date(systemClock.now() + 500).toISOString()))
  speak({ scheduled: name })
}

async function undoAll(): Promise<void> {
  for (const { id } of (await insist(() => app.runs({ all: true }))).rows)
    if ((await insist(() => app.undo(`run:${id}`))).restored.length > 0) break
  speak({ kept: 'undone', name: 'note.txt' })
}

async function findByMeaning(content: string): Promise<void> {
  const isFound = async () => {
    const { memories } = await app.searchMemories(content, { limit: 1 })
    return memories[0]?.meaning !== undefined
  }
  await untilSo(() => insist(isFound))
  speak({ kept: 'vector', name: content })
}

/** The provider's log is the only sign that does not depend on the engine. */
async function sees(content: string): Promise<boolean> {
  const isThere = () => log().includes(`"lastUserText":"${content}"`)
  const seen = Promise.withResolvers<boolean>()
  const watcher = watch(asked.providerLog, () => isThere() && seen.resolve(true))
  if (isThere()) seen.resolve(true)
  // Two questions may have been asked as one.
  const isOver = Promise.race([othersAreDone, firstIsPlayed.promise]).then(quiet)
  isOver.then(() => seen.resolve(isThere()), seen.reject)
  return seen.promise.finally(() => watcher.close())
}

async function cancel(reason: string): Promise<void> {
  const last = (await insist(() => app.runs({ all: true }))).rows.findLast((run) => run.session === session)
  if (!last) return
  const { id, state } = await insist(() => app.cancel(`run:${last.id}`, reason))
  const asked = log().split('"kind":"received"').length - 1
  speak({ cancelled: id, state, at: systemClock.now(), asked })
}

/**
 * Resolves when nothing is left to do but by people. It looks instead of following events: those of a whole server are
 * held back while anybody sleeps inside a transaction, and in other lanes somebody does.
 */
async function quiet(): Promise<void> {
  const isAtRest = async () => (await app.runs()).rows.every(({ waitingFor = 'retry' }) => waitingFor !== 'retry')
  // The end of a run may leave a message, which begins a run: what is looked at before and after it tells.
  const isQuiet = async () =>
    (await app.jobs()).every(({ nextAt }) => nextAt === null) &&
    (await isAtRest()) &&
    (await app.outbox()).every(({ state }) => state !== 'queued' && state !== 'sending') &&
    (await isAtRest())
  await untilSo(() => insist(isQuiet))
}

/** A busy machine may keep a process from its heartbeat, which is as good a reason for another claim as a death. */
function tellOfSilence(): void {
  const now = systemClock.monotonic()
  if (now - lastBeat > riskAfter) speak({ silentMs: Math.round(now - lastBeat) })
  lastBeat = now
}

function log(): string {
  return readFileSync(asked.providerLog, 'utf8')
}

function speak(said: Said): void {
  say(said)
}
