import type { NamedEmbedder, NamedModel } from '../config/config.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import type { Embedder } from '../domain/embedder.ts'
import type { Model, Price } from '../domain/model.ts'
import type { InFlightCall } from '../engine/model/in-flight-call.ts'
import { httpEmbedder } from '../models/embedder/http-embedder.ts'
import { isLoopback } from '../models/loopback.ts'
import { anthropic } from '../models/providers/anthropic.ts'
import { google } from '../models/providers/google.ts'
import { assumedPrice, knownModel, vendorAddresses } from '../models/providers/known-models.ts'
import { openAi } from '../models/providers/openai.ts'
import { openAiCompatible } from '../models/providers/openai-compatible.ts'
import { checkContextWindow, createAsk, sayOneWord, type Trial, tryModel } from '../models/providers/trial.ts'
import type { ProviderSettings } from '../models/streamed-model.ts'
import { observeCalls } from './trial-usage.ts'

const defaultWindow = 32_768
const defaultIdle: Millis = 120_000
const defaultTotal: Millis = 600_000

const providerClients = { anthropic, openai: openAi, google, 'openai-compatible': openAiCompatible }

/** Source of a figure: the configuration, our table, a local server, or a cautious assumption. */
export type Origin = 'yours' | 'listed' | 'free' | 'assumed'

/** Facts about a configured model that are known before the first request. */
interface ModelFacts {
  baseURL: string
  window: number
  windowFrom: Origin
  price: Price
  priceFrom: Origin
  sees: boolean
  readsPdf: boolean
  thinks: boolean | undefined
  /** Runs on this machine: free and private. */
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
    window: contextWindow ?? known?.window ?? defaultWindow,
    windowFrom: contextWindow !== undefined ? 'yours' : known ? 'listed' : 'assumed',
    price: price ?? known?.price ?? (isLocal ? { input: 0, output: 0 } : assumedPrice),
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
    idleTimeout: millis(named.timeout?.idle) ?? defaultIdle,
    totalTimeout: millis(named.timeout?.total) ?? defaultTotal,
  }
  return providerClients[named.provider](settings, clock)
}

/** The configured embedder. Without its key everything else works. */
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

/** Prompt size of the context check, in tokens: enough to detect truncation, still cheap. */
const localTrial = 9000
const paidTrial = 2500
/** Part of the window that is used: a margin for the answer and for other tokenizers. */
const trialPart = 0.7

interface TrialContext {
  clock: Clock
  signal: AbortSignal
  /** Called after each model call of the trial. */
  onCall(call: InFlightCall): void
}

/** Tries a configured model out: text, stream, tool call, window. */
export function testNamedModel(name: string, named: NamedModel, context: TrialContext): Promise<Trial> {
  const { clock, signal } = context
  return tryModel(modelOnTrial(name, named, context), clock, { windowTokens: trialTokens(named), signal })
}

/** Only whether it answers at all, for a few tokens; throws why not. */
export function testModelAnswer(name: string, named: NamedModel, context: TrialContext): Promise<void> {
  return sayOneWord(modelOnTrial(name, named, context), context.signal)
}

/** Only whether it reads what it is sent; says how much that was, or throws why not. */
export function testModelWindow(name: string, named: NamedModel, context: TrialContext): Promise<string> {
  return checkContextWindow(
    createAsk(modelOnTrial(name, named, context), context.signal, () => undefined),
    trialTokens(named),
  )
}

function modelOnTrial(name: string, named: NamedModel, { clock, onCall }: TrialContext): Model {
  return observeCalls(makeModel(name, named, clock), onCall)
}

function trialTokens(named: NamedModel): number {
  const { window, isLocal } = modelFacts(named)
  const limit = named.provider === 'openai-compatible' || isLocal ? localTrial : paidTrial
  return Math.min(limit, window * trialPart)
}

export { listedModels, tableDate, vendorDefaults } from '../models/providers/known-models.ts'
export { defaultOllama, findOllama, type OllamaModelInfo, widenWindow } from '../models/providers/ollama.ts'
export { type ServedModel, type ServedModels, servedModels } from '../models/providers/served-models.ts'
export type { Trial, TrialCheck } from '../models/providers/trial.ts'
export { describeRehearsal, rehearsalPieces } from '../rehearsal/rehearsal.ts'
export { recordTrial } from './trial-usage.ts'
