import {
  type Delta,
  type Model,
  ModelFailure,
  type ModelReply,
  type ModelRequest,
  type Price,
  type RequestedCall,
} from '../domain/model.ts'
import type { Usage } from '../domain/turn.ts'
import type { Gate } from './gate.ts'
import { estimateTokensOf, textsOf, withCost } from './stream/usage.ts'

/** Scripted reply to one request. */
export interface ScriptedReply {
  text?: string
  /** Streamed pieces instead of `text`; waits at each gate. */
  pieces?: (string | Gate)[]
  thinking?: string
  /** Default id: from the number of the request. */
  calls?: { id?: string; name: string; input?: unknown }[]
  /** Default: `calls` if there are calls, else `stop`. */
  finish?: ModelReply['finish']
  /** Overrides of the default, a quarter of the characters. */
  usage?: Partial<Usage>
  model?: string
  metadata?: unknown
  /** Gate before the reply starts. */
  gate?: Gate
  /** Thrown at the end, instead of a reply. */
  fail?: ModelFailure
}

/** Replies in order, or a function of the request and its number, which starts at 1. */
export type Script = readonly ScriptedReply[] | ((request: ModelRequest, n: number) => ScriptedReply)

export interface ScriptedModel extends Model {
  /** Copies of all requests. */
  readonly requests: readonly ModelRequest[]
}

/** A model that replies from a script: for tests, without network and without delays. */
export function scriptedModel(
  script: Script,
  settings: Partial<Pick<Model, 'name' | 'window' | 'price' | 'sees' | 'readsPdf'>> = {},
): ScriptedModel {
  const { name = 'scripted', window = 200_000, price = { input: 0, output: 0 }, ...more } = settings
  const requests: ModelRequest[] = []
  return {
    name,
    window,
    price,
    ...more,
    requests,
    async reply(request, onDelta) {
      request.signal.throwIfAborted()
      const n = requests.push(copyOf(request))
      const scripted = typeof script === 'function' ? script(request, n) : (script[n - 1] ?? scriptEnded(n))
      await scripted.gate?.pass(request.signal)
      if (scripted.thinking) onDelta({ kind: 'thinking', text: scripted.thinking })
      const text = await stream(scripted, request.signal, onDelta)
      request.signal.throwIfAborted()
      if (scripted.fail) throw scripted.fail

      const calls = (scripted.calls ?? []).map((call, i) => ({ id: `call-${n}-${i + 1}`, input: {}, ...call }))
      const finish = scripted.finish ?? (calls.length > 0 ? 'calls' : 'stop')
      return {
        text,
        // As with every model, the calls of a truncated reply are dropped.
        calls: finish === 'calls' ? calls : [],
        finish,
        usage: usageOf(request, text, calls, price, scripted.usage),
        model: scripted.model ?? name,
        ...('metadata' in scripted && { metadata: scripted.metadata }),
      }
    },
  }
}

async function stream(
  { text: whole, pieces = whole ? [whole] : [] }: ScriptedReply,
  signal: AbortSignal,
  onDelta: (delta: Delta) => void,
): Promise<string> {
  let text = ''
  for (const piece of pieces) {
    if (typeof piece !== 'string') {
      await piece.pass(signal)
      continue
    }
    text += piece
    onDelta({ kind: 'text', text: piece })
  }
  return text
}

function usageOf(
  request: ModelRequest,
  text: string,
  calls: RequestedCall[],
  price: Price,
  overrides: Partial<Usage> = {},
): Usage {
  const inputTokens = estimateTokensOf([
    ...textsOf(request),
    request.tools.length > 0 ? JSON.stringify(request.tools) : '',
  ])
  const outputTokens = estimateTokensOf([
    text,
    ...calls.flatMap((call) => [call.name, JSON.stringify(call.input) ?? '']),
  ])
  return { ...withCost({ inputTokens, outputTokens, cachedTokens: 0, ...overrides }, price), ...overrides }
}

function copyOf({ signal, ...request }: ModelRequest): ModelRequest {
  return { ...structuredClone(request), signal }
}

function scriptEnded(n: number): never {
  throw new ModelFailure('script_ended', `the script has no reply number ${n}`, 'give scriptedModel one more reply', {
    retry: 'never',
  })
}
