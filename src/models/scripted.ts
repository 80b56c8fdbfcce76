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
import { priced, textsOf, tokensIn } from './usage.ts'

/** What a scripted model does with one request. */
export interface ScriptedReply {
  text?: string
  /** The text as it streams, instead of `text`; at a gate it waits. */
  pieces?: (string | Gate)[]
  thinking?: string
  /** An id that is left out is made from the number of the request. */
  calls?: { id?: string; name: string; input?: unknown }[]
  /** Without it `calls` or `stop`, as the reply has calls or not. */
  finish?: ModelReply['finish']
  /** Figures that differ from the count of a quarter of the characters. */
  usage?: Partial<Usage>
  model?: string
  metadata?: unknown
  /** Waited at before anything is said. */
  gate?: Gate
  /** Thrown at the end, instead of a reply. */
  fail?: ModelFailure
}

/** Replies in order, or a function of the request and its number, which starts at 1. */
export type Script = readonly ScriptedReply[] | ((request: ModelRequest, n: number) => ScriptedReply)

export interface ScriptedModel extends Model {
  /** Every request it was given, as it was at that moment. */
  readonly requests: readonly ModelRequest[]
}

/** A model that says what a script says: for tests, without a network, and without ever sleeping. */
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
      const scripted = typeof script === 'function' ? script(request, n) : (script[n - 1] ?? beyond(n))
      await scripted.gate?.pass(request.signal)
      if (scripted.thinking) onDelta({ kind: 'thinking', text: scripted.thinking })
      const text = await stream(scripted, request.signal, onDelta)
      request.signal.throwIfAborted()
      if (scripted.fail) throw scripted.fail

      const calls = (scripted.calls ?? []).map((call, i) => ({ id: `call-${n}-${i + 1}`, input: {}, ...call }))
      const finish = scripted.finish ?? (calls.length > 0 ? 'calls' : 'stop')
      return {
        text,
        // As with every model, the calls of a reply that was stopped are not handed on.
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
  { text, pieces = text ? [text] : [] }: ScriptedReply,
  signal: AbortSignal,
  onDelta: (delta: Delta) => void,
): Promise<string> {
  let said = ''
  for (const piece of pieces) {
    if (typeof piece !== 'string') {
      await piece.pass(signal)
      continue
    }
    said += piece
    onDelta({ kind: 'text', text: piece })
  }
  return said
}

function usageOf(
  request: ModelRequest,
  text: string,
  calls: RequestedCall[],
  price: Price,
  given: Partial<Usage> = {},
): Usage {
  const inputTokens = tokensIn([...textsOf(request), request.tools.length > 0 ? JSON.stringify(request.tools) : ''])
  const outputTokens = tokensIn([text, ...calls.flatMap((call) => [call.name, JSON.stringify(call.input) ?? ''])])
  return { ...priced({ inputTokens, outputTokens, cachedTokens: 0, ...given }, price), ...given }
}

function copyOf({ signal, ...request }: ModelRequest): ModelRequest {
  return { ...structuredClone(request), signal }
}

function beyond(n: number): never {
  throw new ModelFailure('script_ended', `The script has no reply number ${n}.`, 'give scriptedModel one more reply', {
    retry: 'never',
  })
}
