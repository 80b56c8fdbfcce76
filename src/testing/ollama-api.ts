/** A model of an Ollama-like server. */
export interface OllamaModel {
  name: string
  /** Capabilities besides completion: `tools`, `vision`, `thinking`. */
  capabilities?: string[]
  /** Max context window. */
  contextLength?: number
  /** Configured context window; default: the server's. */
  numCtx?: number
  bytes?: number
}

/** The part of Ollama's API that finding its models needs; undefined for other requests. */
export function ollamaAnswer(models: OllamaModel[], method: string, path: string, body: unknown): unknown {
  const modelName = ((body ?? {}) as { model?: unknown }).model
  switch (`${method} ${path}`) {
    case 'GET /api/version':
      return { version: '0.31.0' }
    case 'GET /api/tags':
      return { models: models.map(({ name, bytes = 0 }) => ({ name, model: name, size: bytes })) }
    case 'POST /api/show': {
      const found = models.find(({ name }) => name === modelName)
      return found && showAnswer(found)
    }
    case 'POST /api/create': {
      const { from, parameters } = body as { from?: string; parameters?: { num_ctx?: number } }
      const base = models.find(({ name }) => name === from)
      if (!base) return undefined
      const numCtx = parameters?.num_ctx
      models.push({ ...base, name: String(modelName), ...(numCtx !== undefined && { numCtx }) })
      return { status: 'success' }
    }
    default:
      return undefined
  }
}

function showAnswer({ capabilities = [], contextLength = 4096, numCtx }: OllamaModel): object {
  return {
    parameters: numCtx === undefined ? '' : `num_ctx                        ${numCtx}`,
    capabilities: ['completion', ...capabilities],
    model_info: { 'general.architecture': 'test', 'test.context_length': contextLength },
  }
}
