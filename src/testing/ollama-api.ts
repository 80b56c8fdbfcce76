/** A model that an Ollama-like server has. */
export interface OllamaModel {
  name: string
  /** What it can do besides completing text: `tools`, `vision`, `thinking`. */
  capabilities?: string[]
  /** The longest window it supports. */
  contextLength?: number
  /** The window it is set to; without it the server's own. */
  numCtx?: number
  bytes?: number
}

/** As much of Ollama's own API as finding its models needs. Undefined for what it does not know. */
export function ollamaAnswer(models: OllamaModel[], method: string, path: string, body: unknown): unknown {
  const named = ((body ?? {}) as { model?: unknown }).model
  switch (`${method} ${path}`) {
    case 'GET /api/version':
      return { version: '0.31.0' }
    case 'GET /api/tags':
      return { models: models.map(({ name, bytes = 0 }) => ({ name, model: name, size: bytes })) }
    case 'POST /api/show': {
      const found = models.find(({ name }) => name === named)
      return found && shown(found)
    }
    case 'POST /api/create': {
      const { from, parameters } = body as { from?: string; parameters?: { num_ctx?: number } }
      const base = models.find(({ name }) => name === from)
      if (!base) return undefined
      const numCtx = parameters?.num_ctx
      models.push({ ...base, name: String(named), ...(numCtx !== undefined && { numCtx }) })
      return { status: 'success' }
    }
    default:
      return undefined
  }
}

function shown({ capabilities = [], contextLength = 4096, numCtx }: OllamaModel): object {
  return {
    parameters: numCtx === undefined ? '' : `num_ctx                        ${numCtx}`,
    capabilities: ['completion', ...capabilities],
    model_info: { 'general.architecture': 'test', 'test.context_length': contextLength },
  }
}
