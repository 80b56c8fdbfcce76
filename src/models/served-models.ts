import type { Clock } from '../domain/clock.ts'
import type { Price } from '../domain/model.ts'
import { askJson } from './json-over-http.ts'

/** A model that a compatible server says it has. Some tell its window, and few its price. */
export interface ServedModel {
  id: string
  window?: number
  price?: Price
}

/** What `GET <baseURL>/models` tells; empty when it tells nothing. */
export async function servedModels(baseURL: string, key: string | undefined, clock: Clock): Promise<ServedModel[]> {
  const options = { within: 10_000, ...(key !== undefined && { key }) }
  const told = (await askJson(`${baseURL.replace(/\/+$/, '')}/models`, clock, options)) as
    | { data?: unknown }
    | undefined
  return (Array.isArray(told?.data) ? told.data : []).flatMap((row: Record<string, unknown> | null) => {
    if (typeof row?.['id'] !== 'string') return []
    const window = row['max_model_len'] ?? row['context_length']
    const price = priceIn(row['pricing'])
    return [{ id: row['id'], ...(typeof window === 'number' && { window }), ...(price && { price }) }]
  })
}

/** Told in USD a token, as text. */
function priceIn(pricing: unknown): Price | undefined {
  const { prompt, completion } = (pricing ?? {}) as { prompt?: unknown; completion?: unknown }
  if (prompt === undefined || completion === undefined) return undefined
  const [input, output] = [Number(prompt) * 1_000_000, Number(completion) * 1_000_000]
  return input >= 0 && output >= 0 ? { input: round(input), output: round(output) } : undefined
}

function round(amount: number): number {
  return Number(amount.toPrecision(6))
}
