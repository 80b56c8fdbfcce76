import type { NamedEmbedder, NamedModel } from './config/config.ts'
import type { Clock, Millis } from './domain/clock.ts'
import type { Embedder } from './domain/embedder.ts'
import type { Model, Price } from './domain/model.ts'
import { anthropic } from './models/anthropic.ts'
import { google } from './models/google.ts'
import { httpEmbedder } from './models/http-embedder.ts'
import { carefulPrice, knownModel, vendorAddresses } from './models/known-models.ts'
import { isLoopback } from './models/loopback.ts'
import { openAi } from './models/openai.ts'
import { openAiCompatible } from './models/openai-compatible.ts'
import type { ProviderSettings } from './models/streamed-model.ts'
import { asker, readLong, sayOneWord, type Trial, tryModel } from './models/trial.ts'

const usualWindow = 32_768
const usualIdle: Millis = 120_000
const usualTotal: Millis = 600_000

const providers = { anthropic, openai: openAi, google, 'openai-compatible': openAiCompatible }

/** Where a figure comes from: the owner, our table, the machine's own server, or caution because nobody knows. */
export type Origin = 'yours' | 'listed' | 'free' | 'assumed'

/** What is known of a configured model before it is asked anything. */
export interface ModelFacts {
  baseURL: string
  window: number
  windowFrom: Origin
  price: Price
  priceFrom: Origin
  sees: boolean
  readsPdf: boolean
  thinks: boolean | undefined
  /** On this machine, so that asking it costs nothing and leaves it nowhere. */
  isLocal: boolean
}

export function modelFacts({ provider, model, baseURL, contextWindow, price, sees }: NamedModel): ModelFacts {
  const isVendor = provider !== 'openai-compatible'
  const known = isVendor ? knownModel(provider, model) : undefined
  const address = baseURL ?? (isVendor ? vendorAddresses[provider] : '')
  const isLocal = isLoopback(address)
  const seen = sees ?? known?.sees ?? isVendor
  const priceFrom = price ? 'yours' : known ? 'listed' : isLocal ? 'free' : 'assumed'
  return {
    baseURL: address,
    window: contextWindow ?? known?.window ?? usualWindow,
    windowFrom: contextWindow !== undefined ? 'yours' : known ? 'listed' : 'assumed',
    price: price ?? known?.price ?? (isLocal ? { input: 0, output: 0 } : carefulPrice),
    priceFrom,
    sees: seen,
    readsPdf: seen && isVendor,
    thinks: known?.thinks,
    isLocal,
  }
}

/** The model that the owner's lines describe. Its key is looked at now; its package is loaded when it is first asked. */
export function makeModel(name: string, named: NamedModel, clock: Clock): Model {
  const { baseURL, window, price, sees, readsPdf, thinks } = modelFacts(named)
  const apiKey = named.apiKey?.reveal()
  const settings: ProviderSettings = {
    name,
    model: named.model,
    baseURL,
    ...(apiKey !== undefined && { apiKey }),
    window,
    price,
    sees,
    readsPdf,
    ...(thinks !== undefined && { thinks }),
    ...(named.thinking && { thinking: named.thinking }),
    idleTimeout: millis(named.timeout?.idle) ?? usualIdle,
    totalTimeout: millis(named.timeout?.total) ?? usualTotal,
  }
  return providers[named.provider](settings, clock)
}

/** Who tells what memories mean, as the owner's lines describe it. Without its key everything else works. */
export function makeEmbedder({ baseURL, model, apiKey: key }: NamedEmbedder, clock: Clock): Embedder {
  const embedder = httpEmbedder({ baseURL, model, ...(key?.isThere && { apiKey: key.reveal() }) }, clock)
  if (!key || key.isThere) return embedder
  return {
    ...embedder,
    async embed() {
      key.reveal()
      return []
    },
  }
}

function millis(seconds: number | undefined): Millis | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}

/** As much as shows that a local server cuts prompts, and as little as is cheap where one pays. */
const localTrial = 9000
const paidTrial = 2500
/** Room for the answer, and for a tokenizer that makes more of it than we think. */
const trialPart = 0.7

/** Tries a configured model out: text, stream, tool call, window. */
export function tryNamed(name: string, named: NamedModel, clock: Clock, signal: AbortSignal): Promise<Trial> {
  return tryModel(makeModel(name, named, clock), clock, { windowTokens: trialTokens(named), signal })
}

/** Only whether it answers at all, for a few tokens; throws why not. */
export function tryAnswer(name: string, named: NamedModel, clock: Clock, signal: AbortSignal): Promise<void> {
  return sayOneWord(makeModel(name, named, clock), signal)
}

/** Only whether it reads what it is sent; says how much that was, or throws why not. */
export function tryWindow(name: string, named: NamedModel, clock: Clock, signal: AbortSignal): Promise<string> {
  return readLong(
    asker(makeModel(name, named, clock), signal, () => undefined),
    trialTokens(named),
  )
}

function trialTokens(named: NamedModel): number {
  const { window, isLocal } = modelFacts(named)
  const most = named.provider === 'openai-compatible' || isLocal ? localTrial : paidTrial
  return Math.min(most, window * trialPart)
}

export { listedModels, tableDate, vendorDefaults } from './models/known-models.ts'
export { findOllama, type OllamaFound, usualOllama, widenWindow } from './models/ollama.ts'
export { describeRehearsal, rehearsalPieces } from './models/rehearsal/rehearsal.ts'
export { type ServedModel, servedModels } from './models/served-models.ts'
export type { Trial, TrialCheck } from './models/trial.ts'
