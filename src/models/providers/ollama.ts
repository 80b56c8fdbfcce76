import type { Clock, Millis } from '../../domain/clock.ts'
import { fetchJson } from './json-over-http.ts'

export const defaultOllama = 'http://127.0.0.1:11434'

/** Ollama's default context window. */
const serverWindow = 4096
const queryTimeout: Millis = 3000
const createTimeout: Millis = 120_000

/** A model of an Ollama server. */
export interface OllamaModelInfo {
  name: string
  bytes: number
  /** Without tools it cannot act as an agent. */
  hasTools: boolean
  sees: boolean
  /** Current context window, and the max it supports. */
  windowNow: number
  windowMost: number
}

/** Finds the Ollama server at an address and its models; undefined when there is none. */
export async function findOllama(
  origin: string,
  clock: Clock,
): Promise<{ version: string; models: OllamaModelInfo[] } | undefined> {
  const about = (await fetchJson(`${origin}/api/version`, clock, { within: queryTimeout })) as
    | { version?: unknown }
    | undefined
  if (typeof about?.version !== 'string') return undefined
  const tags = (await fetchJson(`${origin}/api/tags`, clock, { within: queryTimeout })) as
    | { models?: unknown }
    | undefined
  const listed = (Array.isArray(tags?.models) ? tags.models : []) as { name?: unknown; size?: unknown }[]
  const models = await Promise.all(
    listed.map(async ({ name, size }) => ({
      ...(await showModel(origin, String(name), clock)),
      bytes: typeof size === 'number' ? size : 0,
    })),
  )
  return { version: about.version, models }
}

/**
 * Creates a copy of a model with a wider context window; both share their weights. Ollama's OpenAI-compatible API takes
 * no window with a request, so this is the only lasting way. Returns the new name, or undefined on failure.
 */
export async function widenWindow(
  origin: string,
  from: string,
  window: number,
  clock: Clock,
): Promise<string | undefined> {
  const name = `${from.replace(':', '-')}-${Math.round(window / 1024)}k`
  const body = { model: name, from, parameters: { num_ctx: window }, stream: false }
  const created = (await fetchJson(`${origin}/api/create`, clock, { within: createTimeout, body })) as
    | { status?: string }
    | undefined
  return created?.status === 'success' ? name : undefined
}

async function showModel(origin: string, name: string, clock: Clock): Promise<Omit<OllamaModelInfo, 'bytes'>> {
  const details = (await fetchJson(`${origin}/api/show`, clock, { within: queryTimeout, body: { model: name } })) as
    | { capabilities?: unknown; parameters?: unknown; model_info?: Record<string, unknown> }
    | undefined
  const capabilities: unknown[] = Array.isArray(details?.capabilities) ? details.capabilities : []
  const set = /^\s*num_ctx\s+(\d+)/m.exec(String(details?.parameters ?? ''))?.[1]
  const maxWindow = Object.entries(details?.model_info ?? {}).find(([key]) => key.endsWith('.context_length'))?.[1]
  return {
    name,
    hasTools: capabilities.includes('tools'),
    sees: capabilities.includes('vision'),
    windowNow: set === undefined ? serverWindow : Number(set),
    windowMost: typeof maxWindow === 'number' ? maxWindow : serverWindow,
  }
}
