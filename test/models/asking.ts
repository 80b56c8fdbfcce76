import { onTestFinished } from 'vitest'
import type { Clock, Millis } from '../../src/domain/clock.ts'
import { type Delta, ModelFailure, type ModelReply, type ModelRequest } from '../../src/domain/model.ts'
import type { ProviderKind } from '../../src/models/provider-package.ts'
import { anthropic } from '../../src/models/providers/anthropic.ts'
import { google } from '../../src/models/providers/google.ts'
import { openAi } from '../../src/models/providers/openai.ts'
import { openAiCompatible } from '../../src/models/providers/openai-compatible.ts'
import type { ProviderSettings } from '../../src/models/streamed-model.ts'
import { systemClock } from '../../src/system.ts'
import {
  type ManualClock,
  manualClock,
  type ProviderAnswer,
  type ProviderRule,
  startProvider,
  type TestProvider,
  type WireName,
} from '../../src/testing.ts'

/** Each kind of provider, and the format it speaks. */
export const kinds: [ProviderKind, WireName][] = [
  ['openai-compatible', 'chat'],
  ['anthropic', 'messages'],
  ['openai', 'responses'],
  ['google', 'gemini'],
]

const makers = { 'openai-compatible': openAiCompatible, anthropic, openai: openAi, google }
/** A name that makes each package believe in a model that thinks. */
export const thinkingModels = {
  'openai-compatible': 'test-model',
  anthropic: 'claude-sonnet-4-5',
  openai: 'gpt-5.2',
  google: 'gemini-2.5-flash',
}

/** A request with what a test does not care about filled in. */
export function aRequest(request: Partial<ModelRequest> = {}): ModelRequest {
  return {
    id: 'run1/1/1',
    system: 'Be brief.',
    messages: [{ role: 'user', content: 'hello' }],
    tools: [],
    maxOutputTokens: 500,
    signal: new AbortController().signal,
    ...request,
  }
}

export interface Asking {
  provider: TestProvider
  /** Asks once; what streams in meanwhile is in `deltas`. */
  ask(request?: Partial<ModelRequest>): Promise<ModelReply>
  /** As `ask`, for a call that must fail. */
  fail(request?: Partial<ModelRequest>): Promise<ModelFailure>
  deltas: Delta[]
  /** Resolves when the next delta comes. */
  nextDelta(): Promise<void>
}

/** A provider with real sockets and a model that asks it, for one test. */
export async function asking(
  answer: ProviderAnswer | ProviderRule,
  options: { kind?: ProviderKind; settings?: Partial<ProviderSettings>; clock?: Clock; key?: string } = {},
): Promise<Asking> {
  const { kind = 'openai-compatible', settings = {}, clock = systemClock, key } = options
  const provider = await startProvider({
    answer: typeof answer === 'function' ? answer : () => answer,
    clock,
    ...(key !== undefined && { key }),
  })
  onTestFinished(() => provider.close())
  const model = makers[kind](
    {
      name: 'main',
      model: 'test-model',
      baseURL: kind === 'google' ? provider.googleUrl : provider.url,
      window: 100_000,
      price: { input: 0, output: 0 },
      idleTimeout: 20_000,
      totalTimeout: 25_000,
      ...settings,
    },
    clock,
  )
  const deltas: Delta[] = []
  const waiting: (() => void)[] = []
  const ask = (request?: Partial<ModelRequest>) =>
    model.reply(aRequest(request), (delta) => {
      deltas.push(delta)
      for (const resolve of waiting.splice(0)) resolve()
    })
  return {
    provider,
    ask,
    fail: (request) => failure(ask(request)),
    deltas,
    nextDelta: () => new Promise((resolve) => waiting.push(resolve)),
  }
}

/** The failure that a call ends with; anything else is an error of the test. */
export async function failure(call: Promise<unknown>): Promise<ModelFailure> {
  const outcome = await call.catch((error: unknown) => error)
  if (outcome instanceof ModelFailure) return outcome
  throw new Error('the call did not end with a ModelFailure', { cause: outcome })
}

/** What a caller acts on. */
export function shape({ code, retry, retryAfter }: ModelFailure): { code: string; retry: string; retryAfter?: Millis } {
  return { code, retry, ...(retryAfter !== undefined && { retryAfter }) }
}

export interface WatchedClock extends ManualClock {
  /** Resolves once somebody has gone to sleep for exactly this long, counted from the last time it was asked. */
  sleepOf(duration: Millis): Promise<void>
}

/** A manual clock that tells when somebody sleeps, so that time is moved only when that has a meaning. */
export function watchedClock(): WatchedClock {
  const clock = manualClock()
  const sleeps: Millis[] = []
  let waiting: { duration: Millis; resolve: () => void }[] = []
  const match = () => {
    waiting = waiting.filter(({ duration, resolve }) => {
      const at = sleeps.indexOf(duration)
      if (at === -1) return true
      sleeps.splice(at, 1)
      resolve()
      return false
    })
  }
  return {
    ...clock,
    sleep(duration, signal) {
      const slept = clock.sleep(duration, signal)
      sleeps.push(duration)
      match()
      return slept
    },
    sleepOf: (duration) =>
      new Promise((resolve) => {
        waiting.push({ duration, resolve })
        match()
      }),
  }
}
