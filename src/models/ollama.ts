import type { Clock, Millis } from '../domain/clock.ts'
import { askJson } from './json-over-http.ts'

export const usualOllama = 'http://127.0.0.1:11434'

/** What Ollama takes when nobody sets another. */
const serverWindow = 4096
const quick: Millis = 3000
const slow: Millis = 120_000

/** A model that an Ollama server has. */
export interface OllamaFound {
  name: string
  bytes: number
  /** Without tools it cannot act as an agent. */
  hasTools: boolean
  sees: boolean
  /** The window it answers with now, and the longest it supports. */
  windowNow: number
  windowMost: number
}

/** The Ollama server at an address, with its models; undefined when there is none. */
export async function findOllama(
  origin: string,
  clock: Clock,
): Promise<{ version: string; models: OllamaFound[] } | undefined> {
  const about = (await askJson(`${origin}/api/version`, clock, { within: quick })) as { version?: unknown } | undefined
  if (typeof about?.version !== 'string') return undefined
  const tags = (await askJson(`${origin}/api/tags`, clock, { within: quick })) as { models?: unknown } | undefined
  const listed = (Array.isArray(tags?.models) ? tags.models : []) as { name?: unknown; size?: unknown }[]
  const models = await Promise.all(
    listed.map(async ({ name, size }) => ({
      ...(await look(origin, String(name), clock)),
      bytes: typeof size === 'number' ? size : 0,
    })),
  )
  return { version: about.version, models }
}

/**
 * Makes a model with a wider window out of one that is there; both share their weights. Ollama's OpenAI-compatible
 * address takes no window with a request, so that this is the only way that lasts. Tells its name, or nothing.
 */
export async function widenWindow(
  origin: string,
  from: string,
  window: number,
  clock: Clock,
): Promise<string | undefined> {
  const name = `${from.replace(':', '-')}-${Math.round(window / 1024)}k`
  const body = { model: name, from, parameters: { num_ctx: window }, stream: false }
  const made = (await askJson(`${origin}/api/create`, clock, { within: slow, body })) as { status?: string } | undefined
  return made?.status === 'success' ? name : undefined
}

async function look(origin: string, name: string, clock: Clock): Promise<Omit<OllamaFound, 'bytes'>> {
  const shown = (await askJson(`${origin}/api/show`, clock, { within: quick, body: { model: name } })) as
    | { capabilities?: unknown; parameters?: unknown; model_info?: Record<string, unknown> }
    | undefined
  const capabilities: unknown[] = Array.isArray(shown?.capabilities) ? shown.capabilities : []
  const set = /^\s*num_ctx\s+(\d+)/m.exec(String(shown?.parameters ?? ''))?.[1]
  const most = Object.entries(shown?.model_info ?? {}).find(([key]) => key.endsWith('.context_length'))?.[1]
  return {
    name,
    hasTools: capabilities.includes('tools'),
    sees: capabilities.includes('vision'),
    windowNow: set === undefined ? serverWindow : Number(set),
    windowMost: typeof most === 'number' ? most : serverWindow,
  }
}
