import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { openApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import type { App } from '../../src/domain/app.ts'
import { type CrashPoint, crashAt } from '../../src/domain/crash-points.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { systemClock, systemRandom } from '../../src/system.ts'
import { input, say } from '../contract/speech.ts'
import { type Scenario, shortTimeout } from './scenarios.ts'
import { loggedTools } from './tools.ts'

/** What a process is to do with a home, and where it finds the rest of the world. */
export interface Act {
  act: Scenario | 'recover'
  home: string
  database: string
  providerUrl: string
  providerLog: string
  toolLog: string
}

/** What it says: everything but `passes` is a promise that must hold, whatever happens to it next. */
export type Said =
  | { accepted: string; content: string }
  | { cancelled: string; state: string }
  | { trouble: string }
  | { quiet: true }
  | { passes: Passes }
export type Passes = Partial<Record<CrashPoint, number>>

const asked = input<Act>()
const folder = '/crash'
const session = 'main'
const passes: Passes = {}
const app = await open()
const work = await app.work()
if (asked.act !== 'recover') await perform(asked.act)
while ((await app.runs()).length > 0) await sleep(5)
speak({ quiet: true })
await work.stop()
await app.close()
speak({ passes })
process.exit(0)

async function open(): Promise<App> {
  await ensureHome(asked.home)
  const paths = homePaths(asked.home)
  const config = await loadConfig(paths.config, {})
  const dieAt = crashAt(process.env['HEDDLE_CRASH_AT'], () => process.kill(process.pid, 'SIGKILL'))
  return openApp({
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
        },
      },
      agent: { ...config.agent, model: 'loopback' },
      // PostgreSQL knows a dead owner by its silence alone: the shortest lease that a sweep a second keeps up.
      engine: { ...config.engine, leaseSeconds: 2 },
    },
    tools: loggedTools(asked.toolLog),
    tell: (told) => told.startsWith('trouble') && speak({ trouble: told }),
    context: {
      clock: systemClock,
      random: systemRandom,
      crash(point) {
        passes[point] = (passes[point] ?? 0) + 1
        dieAt(point)
      },
    },
  })
}

async function perform(scenario: Scenario): Promise<void> {
  if (scenario === 'plain') await ask('plain question')
  if (scenario === 'tools') await ask('tools question')
  if (scenario === 'retries') await ask('stumble question')
  if (scenario === 'timeout') await ask('hang question', { timeoutSeconds: shortTimeout })
  if (scenario === 'two') {
    await ask('first question')
    await received('first question')
    await ask('second question')
  }
  if (scenario === 'steer') {
    await ask('errand question')
    await received('errand question')
    const steer = { kind: 'steer' }
    await ask('rather do this', steer)
  }
  if (scenario === 'cancel') {
    const runId = await ask('endless question')
    await received('endless question')
    const { id, state } = await app.cancel(`run:${runId}`, 'it takes too long')
    speak({ cancelled: id, state })
  }
}

async function ask(content: string, more: object = {}): Promise<string | null> {
  const { itemId, runId } = await app.submit(folder, { session, content, ...more })
  speak({ accepted: itemId, content })
  return runId
}

/** Resolves when the provider has been asked this: its log is the only sign that does not depend on the engine. */
async function received(content: string): Promise<void> {
  const isThere = () => readFileSync(asked.providerLog, 'utf8').includes(`"lastUserText":"${content}"`)
  while (!isThere()) await sleep(2)
}

function speak(said: Said): void {
  say(said)
}
