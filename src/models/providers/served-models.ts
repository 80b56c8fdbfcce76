import type { Clock } from '../../domain/clock.ts'
import type { Price } from '../../domain/model.ts'
import { fetchJsonOrReason } from './json-over-http.ts'

/** A model that a compatible server lists. Some servers report its window, few its price. */
export interface ServedModel {
  id: string
  window?: number
  price?: Price
}

/** Models that a server lists, or the reason why there are none. */
export interface ServedModels {
  models: ServedModel[]
  why?: string
}

/** Fetches the model list from `GET <baseURL>/models`. */
export async function servedModels(baseURL: string, key: string | undefined, clock: Clock): Promise<ServedModels> {
  const options = { within: 10_000, ...(key !== undefined && { key }) }
  const answer = await fetchJsonOrReason(`${baseURL.replace(/\/+$/, '')}/models`, clock, options)
  if ('why' in answer) return { models: [], why: answer.why }
  const list = answer.json as { data?: unknown } | null
  const models = (Array.isArray(list?.data) ? list.data : []).flatMap((row: Record<string, unknown> | null) => {
    if (typeof row?.['id'] !== 'string') return []
    const window = row['max_model_len'] ?? row['context_length']
    const price = priceIn(row['pricing'])
    return [{ id: row['id'], ...(typeof window === 'number' && { window }), ...(price && { price }) }]
  })
  return models.length > 0 ? { models } : { models, why: 'the list is empty' }
}

/** Parses prices given as text in USD per token. */
function priceIn(pricing: unknown): Price | undefined {
  const { prompt, completion } = (pricing ?? {}) as { prompt?: unknown; completion?: unknown }
  if (prompt === undefined || completion === undefined) return undefined
  const [input, output] = [Number(prompt) * 1_000_000, Number(completion) * 1_000_000]
  return input >= 0 && output >= 0 ? { input: round(input), output: round(output) } : undefined
}

function round(amount: number): number {
  return Number(amount.toPrecision(6))
}
