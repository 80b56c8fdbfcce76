import { type Price, withoutDate } from '../../domain/model.ts'
import type { ProviderKind } from '../provider-package.ts'

/** Published facts about a model. */
interface KnownModel {
  /** Ends where the provider starts to charge more. */
  window: number
  price: Price
  sees: boolean
  thinks: boolean
}

/** Date of the last comparison with the providers' published data. */
export const tableDate = '2026-11-15'

type Vendor = Exclude<ProviderKind, 'openai-compatible'>

/** Default API addresses of the vendors. */
export const vendorAddresses: Record<Vendor, string> = {
  anthropic: 'https://api.anthropic.com/v1',
  openai: 'https://api.openai.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
}

/** Models that `models add` proposes. */
export const vendorDefaults: Record<Vendor, string> = {
  anthropic: 'claude-sonnet-5-5',
  openai: 'gpt-6.1-sol',
  google: 'gemini-4-argon',
}

const million = 1_000_000

/** Window, then USD per million tokens: input, output, read from a cache, written to one. */
type Row = [window: number, input: number, output: number, cacheRead: number, cacheWrite?: number]

const rows: Record<Vendor, Record<string, Row>> = {
  anthropic: {
    'claude-fable-5-1': [million, 10, 50, 0.25, 12.5],
    'claude-fable-5': [million, 10, 50, 1, 12.5],
    'claude-opus-5-5': [million, 4, 20, 0.2, 5],
    'claude-opus-5': [million, 5, 25, 0.5, 6.25],
    'claude-opus-4-8': [million, 5, 25, 0.5, 6.25],
    'claude-opus-4-7': [million, 5, 25, 0.5, 6.25],
    'claude-opus-4-6': [200_000, 5, 25, 0.5, 6.25],
    'claude-opus-4-5': [200_000, 5, 25, 0.5, 6.25],
    'claude-opus-4-1': [200_000, 15, 75, 1.5, 18.75],
    'claude-sonnet-5-5': [million, 2, 10, 0.2, 2.5],
    'claude-sonnet-5': [million, 2, 10, 0.2, 2.5],
    'claude-sonnet-4-6': [200_000, 3, 15, 0.3, 3.75],
    'claude-sonnet-4-5': [200_000, 3, 15, 0.3, 3.75],
    'claude-haiku-5-5': [100_000, 0.1, 0.5, 0.01, 0.125],
    'claude-haiku-4-5': [200_000, 1, 5, 0.1, 1.25],
  },
  openai: {
    'gpt-6-astra': [272_000, 10, 50, 1, 12.5],
    'gpt-6.1-sol': [272_000, 2, 10, 0.2, 2.5],
    'gpt-6-sol': [272_000, 2, 10, 0.2, 2.5],
    'gpt-6-luna': [272_000, 0.1, 0.5, 0.01, 0.125],
    'gpt-5.6-sol': [272_000, 5, 30, 0.5, 6.25],
    'gpt-5.6-terra': [272_000, 2, 12, 0.2, 2.5],
    'gpt-5.6-luna': [272_000, 0.2, 1.2, 0.02, 0.25],
    'gpt-5.5': [272_000, 5, 30, 0.5],
    'gpt-5.4': [272_000, 2.5, 15, 0.25],
    'gpt-5.4-mini': [272_000, 0.75, 4.5, 0.075],
    'gpt-5.4-nano': [272_000, 0.2, 1.25, 0.02],
    'gpt-5.2': [272_000, 1.75, 14, 0.175],
    'gpt-5.1': [272_000, 1.25, 10, 0.125],
    'gpt-5': [272_000, 1.25, 10, 0.125],
    'gpt-5-mini': [272_000, 0.25, 2, 0.025],
    'gpt-5-nano': [272_000, 0.05, 0.4, 0.005],
    'gpt-4.1': [1_047_576, 2, 8, 0.5],
    'gpt-4.1-mini': [1_047_576, 0.4, 1.6, 0.1],
    'gpt-4o': [128_000, 2.5, 10, 1.25],
    'gpt-4o-mini': [128_000, 0.15, 0.6, 0.075],
  },
  google: {
    // Price from December 2026 on; half of it until then.
    'gemini-4-argon': [1_048_576, 4, 20, 0.2],
    // Announced until the end of 2026.
    'gemini-3.8-flash': [million, 0.75, 3.75, 0.075],
    'gemini-3.1-pro-preview': [200_000, 2, 12, 0.2],
    'gemini-3-flash-preview': [1_048_576, 0.5, 3, 0.05],
    'gemini-2.5-pro': [200_000, 1.25, 10, 0.125],
    'gemini-2.5-flash': [1_048_576, 0.3, 2.5, 0.03],
    'gemini-2.5-flash-lite': [1_048_576, 0.1, 0.4, 0.01],
  },
}

/** Models that cannot think. */
const nonThinking = new Set(['gpt-4.1', 'gpt-4.1-mini', 'gpt-4o', 'gpt-4o-mini'])

/** Finds a listed model by its name, with or without a date; undefined if it is not listed. */
export function knownModel(vendor: Vendor, model: string): KnownModel | undefined {
  const listed = rows[vendor]
  const name = [model, withoutDate(model)].find((each) => Object.hasOwn(listed, each))
  const row = name === undefined ? undefined : listed[name]
  if (!name || !row) return undefined
  const [window, input, output, cacheRead, cacheWrite] = row
  const price = { input, output, cacheRead, ...(cacheWrite !== undefined && { cacheWrite }) }
  return { window, price, sees: true, thinks: !nonThinking.has(name) }
}

/** Names of a vendor's listed models, in table order. */
export function listedModels(vendor: Vendor): string[] {
  return Object.keys(rows[vendor])
}

/**
 * Assumed price of a model of unknown price: higher than commonly used models, so that budgets stop too early rather
 * than never.
 */
export const assumedPrice: Price = { input: 10, output: 50, isAssumed: true }
