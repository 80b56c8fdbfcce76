import type { Clock, Millis } from '../../domain/clock.ts'
import { type Delta, type Model, ModelFailure, type ModelReply, type ModelRequest } from '../../domain/model.ts'
import { groupDigits } from '../../domain/text/group-digits.ts'
import type { Usage } from '../../domain/turn.ts'
import { estimateTokensOf, textsOf } from '../stream/usage.ts'

/** Result of one check of a model. */
export interface TrialCheck {
  name: 'text' | 'tool call' | 'stream' | 'window'
  ok: boolean
  detail: string
  remedy?: string
}

export interface Trial {
  checks: TrialCheck[]
  /** Model that the provider reports. */
  actual: string | null
  costUsd: number
  /** Whether part of the cost is estimated. */
  isEstimate: boolean
  took: Millis
  /** Output speed; null if the output was too short to measure. */
  tokensPerSecond: number | null
}

const note = {
  name: 'note',
  description: 'Writes down one word.',
  inputSchema: {
    type: 'object',
    properties: { word: { type: 'string', description: 'the word' } },
    required: ['word'],
    additionalProperties: false,
  },
}
const minTokensForSpeed = 8
const maxTrialTokens = 4096
const fewTokens = 16

/**
 * Tests a model: it must answer, call a tool, and read a prompt of `windowTokens`. A failure that affects every request,
 * such as a wrong key, ends the trial.
 */
export async function tryModel(
  model: Model,
  clock: Clock,
  { windowTokens, signal }: { windowTokens: number; signal: AbortSignal },
): Promise<Trial> {
  const trial: Trial = { checks: [], actual: null, costUsd: 0, isEstimate: false, took: 0, tokensPerSecond: null }
  const started = clock.monotonic()
  let pieces = 0
  const send = createAsk(model, signal, ({ kind }) => {
    if (kind === 'text') pieces++
  })
  const addCost = ({ costUsd, isEstimate, isPriceAssumed }: Usage) => {
    trial.costUsd += costUsd
    trial.isEstimate ||= (isEstimate ?? isPriceAssumed) === true
  }
  const ask: Ask = async (request) => {
    const reply = await send(request)
    trial.actual = reply.model
    addCost(reply.usage)
    return reply
  }
  const check = async (name: TrialCheck['name'], attempt: () => Promise<Omit<TrialCheck, 'name'>>) => {
    try {
      trial.checks.push({ name, ...(await attempt()) })
      return true
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error
      if (error.usage) addCost(error.usage)
      trial.checks.push({ name, ok: false, detail: error.message, remedy: error.remedy })
      // A failed window check says nothing about the others.
      return name === 'window'
    }
  }

  const textStarted = clock.monotonic()
  const isAnswering = await check('text', async () => {
    const { text, usage } = await ask({ messages: [user('Count from one to ten in words.')], tools: [] })
    const seconds = (clock.monotonic() - textStarted) / 1000
    if (usage.outputTokens >= minTokensForSpeed && seconds > 0)
      trial.tokensPerSecond = Math.round(usage.outputTokens / seconds)
    return { ok: text.trim() !== '', detail: text.trim() === '' ? 'the answer is empty' : 'it answers' }
  })
  if (isAnswering) {
    trial.checks.push({
      name: 'stream',
      ok: pieces > 0,
      detail: pieces > 1 ? `${pieces} pieces` : pieces === 1 ? 'all at once' : 'nothing came',
    })
    await check('tool call', () => tryCall(ask))
    await check('window', async () => ({ ok: true, detail: await checkContextWindow(ask, windowTokens) }))
  }
  trial.took = clock.monotonic() - started
  return trial
}

/** Sends a request of the trial to a model. */
type Ask = (request: Pick<ModelRequest, 'messages' | 'tools'>) => Promise<ModelReply>

/** Checks that a model answers, with as few tokens as possible; throws its failure. */
export async function sayOneWord(model: Model, signal: AbortSignal): Promise<void> {
  const ask = createAsk(model, signal, () => undefined, fewTokens)
  await ask({ messages: [user('Answer with the single word: ok')], tools: [] })
}

export function createAsk(
  model: Model,
  signal: AbortSignal,
  onDelta: (delta: Delta) => void,
  maxTokens = Math.min(maxTrialTokens, Math.floor(model.window / 4)),
): Ask {
  let count = 0
  return (request) =>
    model.reply(
      {
        id: `trial/0/${++count}`,
        system: 'You are being tested. Do exactly what is asked.',
        ...request,
        // Some models think before every answer.
        maxOutputTokens: maxTokens,
        thinking: { level: 'off' },
        signal,
      },
      onDelta,
    )
}

async function tryCall(ask: Ask): Promise<Omit<TrialCheck, 'name'>> {
  const { calls } = await ask({ messages: [user('Call the tool `note` with the word heddle.')], tools: [note] })
  const [call] = calls
  if (!call)
    return { ok: false, detail: 'it called no tool, so it cannot act as an agent', remedy: 'use another model' }
  const { word } = (call.input ?? {}) as { word?: unknown }
  const isRight = call.name === note.name && typeof word === 'string'
  return isRight
    ? { ok: true, detail: `it called ${note.name}` }
    : { ok: false, detail: 'it called a tool wrongly', remedy: 'use another model' }
}

/** Sends a prompt of so many tokens and describes the result. A truncated prompt is a failure of the model call. */
export async function checkContextWindow(ask: Ask, tokens: number): Promise<string> {
  const line = (n: number) => `Line ${n}: the heddle guides each thread along its own path through the cloth.\n`
  let text = ''
  for (let n = 1; text.length < tokens * 4; n++) text += line(n)
  const messages = [user(`${text}\nAnswer with the single word: read`)]
  const { usage } = await ask({ messages, tools: [] })
  const sent = estimateTokensOf(textsOf({ system: '', messages }))
  return `context check: ${figure(sent)} tokens sent, ${figure(usage.inputTokens)} counted`
}

function user(content: string) {
  return { role: 'user' as const, content }
}

function figure(count: number): string {
  return groupDigits(count)
}
