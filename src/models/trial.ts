import type { Clock, Millis } from '../domain/clock.ts'
import { type Delta, type Model, ModelFailure, type ModelReply, type ModelRequest } from '../domain/model.ts'
import { textsOf, tokensIn } from './usage.ts'

/** One thing that a model must be able to do, and whether it did. */
export interface TrialCheck {
  name: 'text' | 'tool call' | 'stream' | 'window'
  ok: boolean
  detail: string
  remedy?: string
}

export interface Trial {
  checks: TrialCheck[]
  /** The model that really answered. */
  actual: string | null
  costUsd: number
  took: Millis
  /** How fast it wrote, where it wrote enough to tell. */
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
const enoughToTell = 8
const mostOutput = 4096
const fewTokens = 16

/**
 * Asks a model three small things: to say something, to call a tool, and to read a prompt of so many tokens. A failure
 * that concerns every question, such as a wrong key, ends it at once.
 */
export async function tryModel(
  model: Model,
  clock: Clock,
  { windowTokens, signal }: { windowTokens: number; signal: AbortSignal },
): Promise<Trial> {
  const trial: Trial = { checks: [], actual: null, costUsd: 0, took: 0, tokensPerSecond: null }
  const begun = clock.monotonic()
  let pieces = 0
  const put = asker(model, signal, ({ kind }) => {
    if (kind === 'text') pieces++
  })
  const ask: Ask = async (request) => {
    const reply = await put(request)
    trial.actual = reply.model
    trial.costUsd += reply.usage.costUsd
    return reply
  }
  const check = async (name: TrialCheck['name'], attempt: () => Promise<Omit<TrialCheck, 'name'>>) => {
    try {
      trial.checks.push({ name, ...(await attempt()) })
      return true
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error
      trial.costUsd += error.usage?.costUsd ?? 0
      trial.checks.push({ name, ok: false, detail: error.message, remedy: error.remedy })
      // What only the window's length brought about says nothing of the rest.
      return name === 'window'
    }
  }

  const begunText = clock.monotonic()
  const isAsked = await check('text', async () => {
    const { text, usage } = await ask({ messages: [user('Count from one to ten in words.')], tools: [] })
    const seconds = (clock.monotonic() - begunText) / 1000
    if (usage.outputTokens >= enoughToTell && seconds > 0)
      trial.tokensPerSecond = Math.round(usage.outputTokens / seconds)
    return { ok: text.trim() !== '', detail: text.trim() === '' ? 'it said nothing' : 'it answers' }
  })
  if (isAsked) {
    trial.checks.push({
      name: 'stream',
      ok: pieces > 0,
      detail: pieces > 1 ? `${pieces} pieces` : pieces === 1 ? 'all at once' : 'nothing came',
    })
    await check('tool call', () => tryCall(ask))
    await check('window', async () => ({ ok: true, detail: await readLong(ask, windowTokens) }))
  }
  trial.took = clock.monotonic() - begun
  return trial
}

/** Puts a question of the trial's to a model. */
export type Ask = (request: Pick<ModelRequest, 'messages' | 'tools'>) => Promise<ModelReply>

/** Has a model say one word, for as few tokens as that takes; a failure tells why it does not. */
export async function sayOneWord(model: Model, signal: AbortSignal): Promise<void> {
  const ask = asker(model, signal, () => undefined, fewTokens)
  await ask({ messages: [user('Answer with the single word: ok')], tools: [] })
}

export function asker(
  model: Model,
  signal: AbortSignal,
  onDelta: (delta: Delta) => void,
  most = Math.min(mostOutput, Math.floor(model.window / 4)),
): Ask {
  let asked = 0
  return (request) =>
    model.reply(
      {
        id: `trial/0/${++asked}`,
        system: 'You are being tested. Do exactly what is asked.',
        ...request,
        // Some think before every answer, however small.
        maxOutputTokens: most,
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

/** Has a model read so many tokens and tells of it. A reply to a cut prompt is a failure, so that what it tells was read. */
export async function readLong(ask: Ask, tokens: number): Promise<string> {
  const line = (n: number) => `Line ${n}: the heddle guides each thread along its own path through the cloth.\n`
  let text = ''
  for (let n = 1; text.length < tokens * 4; n++) text += line(n)
  const messages = [user(`${text}\nAnswer with the single word: read`)]
  const { usage } = await ask({ messages, tools: [] })
  const sent = tokensIn(textsOf({ system: '', messages }))
  return `sent about ${figure(sent)} tokens, it read ${figure(usage.inputTokens)}`
}

function user(content: string) {
  return { role: 'user' as const, content }
}

function figure(count: number): string {
  return count.toLocaleString('en')
}
