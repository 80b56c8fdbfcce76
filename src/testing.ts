import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { App } from './api/app.ts'
import type { Heddle } from './api/heddle.ts'
import { openApp } from './app/app.ts'
import { loadConfig } from './config/config.ts'
import { owner } from './domain/access/principal.ts'
import type { Clock, Millis, Random } from './domain/clock.ts'
import type { Model } from './domain/model.ts'
import type { Tool } from './domain/tools/tool.ts'
import { ensureHome, homePaths } from './home/home.ts'
import { type ScriptedModel, scriptedModel } from './models/scripted.ts'
import { type MediocreOptions, mediocreRule } from './testing/mediocre-rule.ts'
import { providerRequestOf, toScriptedReply } from './testing/model-conversions.ts'

export {
  type Delta,
  type Model,
  ModelFailure,
  type ModelMessage,
  type ModelReply,
  type ModelRequest,
  type Price,
  type RequestedCall,
  type ToolSpec,
} from './domain/model.ts'
export { type Gate, gate } from './models/gate.ts'
export { type Script, type ScriptedModel, type ScriptedReply, scriptedModel } from './models/scripted.ts'
export type { EmbeddingsFaults, EmbeddingsRequest, TestEmbeddings } from './testing/embeddings-api.ts'
export { type MediocreName, type MediocreOptions, mediocreNames, mediocreRule } from './testing/mediocre-rule.ts'
export type { OllamaModel } from './testing/ollama-api.ts'
export type { ProviderLogLine } from './testing/provider-log.ts'
export {
  answerPlainly,
  callTools,
  failThenAnswer,
  findScript,
  followRules,
  type ProviderRule,
  type WrittenRule,
} from './testing/provider-scripts.ts'
export { type ProviderOptions, startProvider, type TestProvider } from './testing/provider-server.ts'
export type {
  ProviderAnswer,
  ProviderFaults,
  ProviderRequest,
  TokenCounts,
  WireMessage,
  WireName,
} from './testing/provider-wire.ts'

/** A whole Heddle in a temporary home, on SQLite, and the owner's App, for tests of programs that use one. */
export interface TestApp extends Heddle, App {
  home: string
  /** Closes it and removes its home. */
  remove(): Promise<void>
}

export interface TestAppOptions {
  /** A manual clock decides what time it is. */
  clock?: Clock
  random?: Random
  /** The first is what answers unless another is asked for. */
  models?: Model[]
  tools?: Tool[]
  /** The default agent; `general` if omitted. */
  agent?: string
  /** Whether narratives are written after a session comes to rest, which costs one more model call. */
  narratives?: boolean
}

/** Opens a heddle that shares nothing with any other. */
export async function openTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const home = join(mkdtempSync(join(tmpdir(), 'heddle-app-')), 'home')
  await ensureHome(home)
  const paths = homePaths(home)
  const { models = [], tools = [], agent = 'general', narratives = false, ...context } = options
  const usual = await loadConfig(paths.config, {})
  const config = {
    ...usual,
    agent: { ...usual.agent, default: `@${agent}` },
    memory: { ...usual.memory, narratives },
  }
  const heddle = await openApp({ paths, config, env: {}, models, tools, context })
  return {
    ...heddle,
    ...heddle.as(owner),
    home,
    async remove() {
      await heddle.close()
      rmSync(join(home, '..'), { recursive: true, force: true })
    },
  }
}

/** A mediocre model, or all of them, without a provider: see `mediocreRule`. */
export function mediocreModel(options: MediocreOptions & Partial<Pick<Model, 'window' | 'price'>> = {}): ScriptedModel {
  const { who, seed, ...settings } = options
  const answer = mediocreRule({ ...(who && { who }), ...(seed !== undefined && { seed }) })
  return scriptedModel((request) => toScriptedReply(answer(providerRequestOf(request))), {
    name: who ?? 'mediocre',
    ...settings,
  })
}

/** A clock that a test advances. */
export interface ManualClock extends Clock {
  /** Moves time on and ends the sleeps that are due, in order. */
  advance(duration: Millis): Promise<void>
}

/** A clock for tests: `sleep` ends when `advance` passes its moment. */
export function manualClock(start: Millis = Date.UTC(2026, 0, 1)): ManualClock {
  let now = start
  let sleepers: { until: Millis; wake: () => void }[] = []
  return {
    now: () => now,
    monotonic: () => now - start,
    sleep: (duration, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const sleeper = { until: now + duration, wake: resolve }
        sleepers.push(sleeper)
        signal?.addEventListener('abort', () => {
          sleepers = sleepers.filter((other) => other !== sleeper)
          resolve()
        })
      }),
    async advance(duration) {
      now += duration
      const due = sleepers.filter(({ until }) => until <= now).sort((a, b) => a.until - b.until)
      sleepers = sleepers.filter(({ until }) => until > now)
      for (const { wake } of due) wake()
    },
  }
}

/** The same bytes for the same seed, so that a failing test can be seen again. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) & 0xff
  }
  return { bytes: (count) => Uint8Array.from({ length: count }, next) }
}
